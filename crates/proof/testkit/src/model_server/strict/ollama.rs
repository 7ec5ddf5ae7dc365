//! Ollama's own chat. The server itself takes nearly everything and lets the model stumble; these are the rules of the templates that
//! models come with.

use serde_json::Value;

use super::{Held, at, base64, list, model, only, perhaps, plain, says_something, text, tool};

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "stream",
    "tools",
    "think",
    "options",
    "format",
    "keep_alive",
    "truncate",
    "shift",
    "logprobs",
    "top_logprobs",
];

pub(super) fn rules(body: &Value) -> Held {
    let messages = list(body, "messages")?;
    only(body, FIELDS)?;
    model(body)?;
    if body
        .pointer("/options/num_ctx")
        .and_then(Value::as_u64)
        .is_none()
    {
        return Err("without 'num_ctx' the beginning is forgotten in silence".to_owned());
    }
    let mut known = Vec::new();
    // Its own client sends an empty list where there are none.
    let tools = body.get("tools").and_then(Value::as_array);
    for (number, one) in tools.into_iter().flatten().enumerate() {
        let function = one.get("function").unwrap_or(&Value::Null);
        let held = only(one, &["type", "function"]).and_then(|()| {
            tool(
                text(function, "name"),
                function.get("parameters"),
                &mut known,
            )
        });
        at("tools", number, held)?;
    }
    let mut talk = Talk::default();
    for (number, one) in messages.iter().enumerate() {
        at("messages", number, talk.message(number, one))?;
    }
    talk.settled()
}

#[derive(Default)]
struct Talk {
    /// Names of calls without results, in order: there are no ids.
    waiting: Vec<String>,
    last: String,
}

impl Talk {
    fn settled(&self) -> Held {
        if self.waiting.is_empty() {
            Ok(())
        } else {
            Err(format!("the calls {:?} were not answered", self.waiting))
        }
    }

    fn message(&mut self, number: usize, message: &Value) -> Held {
        only(
            message,
            &[
                "role",
                "content",
                "images",
                "tool_calls",
                "tool_name",
                "thinking",
            ],
        )?;
        let role = text(message, "role");
        let Some(words) = message.get("content").and_then(Value::as_str) else {
            return Err("the content must be text".to_owned());
        };
        if role != "tool" {
            self.settled()?;
        }
        if matches!(role, "user" | "assistant") && role == self.last {
            return Err(format!("two {role} messages in a row"));
        }
        match role {
            "system" if number > 0 => return Err("the system comes first".to_owned()),
            "system" => says_something(words)?,
            "user" => {
                let images = perhaps(message, "images")?;
                for image in images {
                    base64(image.as_str().unwrap_or_default())?;
                }
                if images.is_empty() {
                    says_something(words)?;
                }
            }
            "assistant" if matches!(self.last.as_str(), "" | "system") => {
                return Err("the first message must be a user's".to_owned());
            }
            "assistant" => {
                let calls = perhaps(message, "tool_calls")?;
                for call in calls {
                    let function = call.get("function").unwrap_or(&Value::Null);
                    plain(text(function, "name"), 64)?;
                    if !function.get("arguments").is_some_and(Value::is_object) {
                        return Err("arguments must be an object".to_owned());
                    }
                    self.waiting.push(text(function, "name").to_owned());
                }
                if calls.is_empty() {
                    says_something(words)?;
                }
            }
            "tool" => {
                let name = text(message, "tool_name");
                if self.waiting.first().map(String::as_str) != Some(name) {
                    return Err(format!("the result of '{name}' answers no open call"));
                }
                self.waiting.remove(0);
                says_something(words)?;
            }
            other => return Err(format!("the role '{other}' is unknown")),
        }
        role.clone_into(&mut self.last);
        Ok(())
    }
}
