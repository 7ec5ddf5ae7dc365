//! Responses: a list of items; calls have their outputs before anybody speaks again, and a thought comes back before what came of it.

use serde_json::Value;

use super::{
    Held, Pairs, arguments, at, data_url, list, model, only, perhaps, plain, says_something, text,
    tool,
};
use crate::model_server::speak::sealed;

const FIELDS: &[&str] = &[
    "model",
    "input",
    "instructions",
    "stream",
    "store",
    "include",
    "reasoning",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_output_tokens",
    "temperature",
    "top_p",
    "metadata",
    "text",
    "truncation",
    "user",
];

pub(super) fn rules(body: &Value) -> Held {
    let items = match body.get("input") {
        Some(Value::String(words)) => {
            says_something(words)?;
            &[]
        }
        _ => list(body, "input")?,
    };
    only(body, FIELDS)?;
    model(body)?;
    if let Some(words) = body.get("instructions").filter(|words| !words.is_null()) {
        says_something(words.as_str().unwrap_or_default())?;
    }
    let mut known = Vec::new();
    for (number, one) in perhaps(body, "tools")?.iter().enumerate() {
        let held = only(
            one,
            &["type", "name", "description", "parameters", "strict"],
        )
        .and_then(|()| match text(one, "type") {
            "function" => Ok(()),
            other => Err(format!("a tool of the type '{other}'")),
        })
        .and_then(|()| tool(text(one, "name"), one.get("parameters"), &mut known));
        at("tools", number, held)?;
    }
    let mut talk = Talk::default();
    for (number, item) in items.iter().enumerate() {
        at("input", number, talk.item(item))?;
    }
    talk.pairs.settled()?;
    talk.followed()
}

#[derive(Default)]
struct Talk {
    pairs: Pairs,
    /// The thought before this item.
    thought: Option<String>,
}

impl Talk {
    fn followed(&self) -> Held {
        match &self.thought {
            Some(id) => Err(format!("the thought '{id}' is without what came of it")),
            None => Ok(()),
        }
    }

    fn item(&mut self, item: &Value) -> Held {
        let (kind, role) = (text(item, "type"), text(item, "role"));
        if !matches!(kind, "function_call" | "reasoning") && role != "assistant" {
            self.followed()?;
        }
        self.thought = None;
        match kind {
            "message" | "" => {
                only(item, &["type", "role", "content", "id", "status"])?;
                self.pairs.settled()?;
                message(role, item)
            }
            "reasoning" => {
                only(
                    item,
                    &[
                        "type",
                        "id",
                        "summary",
                        "encrypted_content",
                        "content",
                        "status",
                    ],
                )?;
                let (id, summary) = (text(item, "id"), item.get("summary"));
                let sealed = sealed(id, summary.unwrap_or(&Value::Null));
                if text(item, "encrypted_content") != sealed {
                    return Err("a thought is not as it was sealed".to_owned());
                }
                self.thought = Some(id.to_owned());
                Ok(())
            }
            "function_call" => {
                only(
                    item,
                    &["type", "id", "call_id", "name", "arguments", "status"],
                )?;
                let id = text(item, "call_id");
                if id.is_empty() || id.len() > 64 {
                    return Err(format!("'{id}' is no id: up to 64 characters"));
                }
                plain(text(item, "name"), 64)?;
                arguments(text(item, "arguments"))?;
                self.pairs.call(id)
            }
            "function_call_output" => {
                only(item, &["type", "id", "call_id", "output", "status"])?;
                self.pairs.result(text(item, "call_id"))?;
                says_something(text(item, "output"))
            }
            other => Err(format!("an item of the type '{other}'")),
        }
    }
}

fn message(role: &str, item: &Value) -> Held {
    let theirs = role == "assistant";
    if !matches!(role, "user" | "assistant" | "system" | "developer") {
        return Err(format!("the role '{role}' is unknown"));
    }
    if let Some(Value::String(words)) = item.get("content") {
        return says_something(words);
    }
    for part in list(item, "content")? {
        match text(part, "type") {
            "input_text" if !theirs => says_something(text(part, "text"))?,
            "output_text" | "refusal" if theirs => {}
            "input_image" if !theirs => data_url(text(part, "image_url"))?,
            other => return Err(format!("a part '{other}' of {role}")),
        }
    }
    Ok(())
}
