//! Messages: roles take turns, results come first and all at once, thoughts come back as they were signed.

use serde_json::Value;

use super::{
    Held, Pairs, at, base64, list, model, only, perhaps, plain, says_something, text, tool,
};
use crate::model_server::speak::seal;

const FIELDS: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "system",
    "stream",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "metadata",
    "service_tier",
];
/// Most marks of what the provider shall keep.
const MARKS: usize = 4;
const KINDS: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(super) fn rules(body: &Value) -> Held {
    let messages = list(body, "messages")?;
    only(body, FIELDS)?;
    model(body)?;
    let most = body.get("max_tokens").and_then(Value::as_u64).unwrap_or(0);
    if most == 0 {
        return Err("'max_tokens' must be a number above 0".to_owned());
    }
    thinking(body, most)?;
    match body.get("system") {
        None => {}
        Some(Value::String(words)) => says_something(words)?,
        Some(_) => {
            for block in list(body, "system")? {
                only(block, &["type", "text", "cache_control"])?;
                says_something(text(block, "text"))?;
            }
        }
    }
    let marks = body.to_string().matches("\"cache_control\":{").count();
    if marks > MARKS {
        return Err(format!("{marks} blocks have 'cache_control', {MARKS} may"));
    }
    let mut known = Vec::new();
    for (number, one) in perhaps(body, "tools")?.iter().enumerate() {
        let held = only(
            one,
            &[
                "name",
                "description",
                "input_schema",
                "cache_control",
                "type",
                "strict",
            ],
        )
        .and_then(|()| tool(text(one, "name"), one.get("input_schema"), &mut known));
        at("tools", number, held)?;
    }
    let mut talk = Talk {
        thinks: body
            .pointer("/thinking/type")
            .is_some_and(|kind| kind != "disabled"),
        ..Talk::default()
    };
    for (number, one) in messages.iter().enumerate() {
        at("messages", number, talk.message(one))?;
    }
    talk.pairs.settled()?;
    if talk.last == "user" {
        Ok(())
    } else {
        Err("the last message must be a user's".to_owned())
    }
}

fn thinking(body: &Value, most: u64) -> Held {
    let Some(budget) = body.pointer("/thinking/budget_tokens") else {
        return Ok(());
    };
    match budget.as_u64() {
        Some(budget) if budget >= 1_024 && budget < most => Ok(()),
        _ => Err("'budget_tokens' must be 1024 or more and less than 'max_tokens'".to_owned()),
    }
}

#[derive(Default)]
struct Talk {
    pairs: Pairs,
    last: String,
    /// Thinking was asked for: with it a step that calls begins with its thought, if it had one.
    thinks: bool,
}

impl Talk {
    fn message(&mut self, message: &Value) -> Held {
        only(message, &["role", "content"])?;
        let role = text(message, "role");
        match role {
            "user" | "assistant" if role == self.last => {
                return Err(format!("two {role} messages in a row"));
            }
            "assistant" if self.last.is_empty() => {
                return Err("the first message must be a user's".to_owned());
            }
            "user" | "assistant" => {}
            _ => return Err(format!("the role '{role}' is unknown")),
        }
        role.clone_into(&mut self.last);
        if let Some(Value::String(words)) = message.get("content") {
            self.pairs.settled()?;
            return says_something(words);
        }
        let mut before = "";
        for block in list(message, "content")? {
            let kind = text(block, "type");
            match (role, kind) {
                ("user", "tool_result") => self.result(block, before)?,
                ("user", _) => {
                    // Results come first, and all of them.
                    self.pairs.settled()?;
                    words_or_picture(block)?;
                }
                ("assistant", "text") => words_or_picture(block)?,
                ("assistant", "tool_use") => self.call(block)?,
                ("assistant", "thinking" | "redacted_thinking") => {
                    if self.thinks && before == "tool_use" {
                        return Err("a thought comes before its call".to_owned());
                    }
                    thought(block)?;
                }
                (_, other) => return Err(format!("a block '{other}' of {role}")),
            }
            before = kind;
        }
        if role == "user" {
            self.pairs.settled()?;
        }
        Ok(())
    }

    fn call(&mut self, block: &Value) -> Held {
        only(block, &["type", "id", "name", "input", "cache_control"])?;
        plain(text(block, "id"), 256)?;
        plain(text(block, "name"), 128)?;
        if !block.get("input").is_some_and(Value::is_object) {
            return Err("'input' must be an object".to_owned());
        }
        self.pairs.call(text(block, "id"))
    }

    fn result(&mut self, block: &Value, before: &str) -> Held {
        only(
            block,
            &[
                "type",
                "tool_use_id",
                "content",
                "is_error",
                "cache_control",
            ],
        )?;
        if !matches!(before, "" | "tool_result") {
            return Err("results come before anything else".to_owned());
        }
        self.pairs.result(text(block, "tool_use_id"))?;
        match block.get("content") {
            Some(Value::String(words)) => says_something(words),
            Some(Value::Array(parts)) => parts.iter().try_for_each(words_or_picture),
            _ => Err("a result has no content".to_owned()),
        }
    }
}

fn words_or_picture(block: &Value) -> Held {
    match text(block, "type") {
        "text" => {
            only(block, &["type", "text", "cache_control", "citations"])?;
            says_something(text(block, "text"))
        }
        "image" => {
            only(block, &["type", "source", "cache_control"])?;
            let source = block.get("source").unwrap_or(&Value::Null);
            only(source, &["type", "media_type", "data"])?;
            if !KINDS.contains(&text(source, "media_type")) {
                return Err(format!(
                    "a picture of the kind '{}'",
                    text(source, "media_type")
                ));
            }
            base64(text(source, "data"))
        }
        other => Err(format!("a block '{other}'")),
    }
}

fn thought(block: &Value) -> Held {
    if text(block, "type") == "redacted_thinking" {
        return Ok(());
    }
    only(block, &["type", "thinking", "signature"])?;
    if text(block, "signature") == seal(text(block, "thinking")) {
        Ok(())
    } else {
        Err("a thought is not as it was signed".to_owned())
    }
}
