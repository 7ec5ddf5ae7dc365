//! A request's words, whatever the protocol.

use serde_json::Value;

use super::Wire;

/// What somebody said: `system`, `user`, `assistant` or `tool`.
pub(super) struct Said {
    pub(super) role: String,
    pub(super) text: String,
}

/// The conversation in order, the system's words first.
pub(super) fn said(wire: Wire, body: &Value) -> Vec<Said> {
    let system = match wire {
        Wire::Chat | Wire::Ollama => None,
        Wire::Messages => body.get("system"),
        Wire::Responses => body.get("instructions"),
        Wire::Gemini => body.pointer("/systemInstruction/parts"),
    };
    let mut all: Vec<Said> = Vec::new();
    all.extend(system.map(|words| one("system", words)));
    match body.get(wire.messages()) {
        Some(Value::String(words)) => all.push(one("user", &Value::from(words.as_str()))),
        Some(Value::Array(messages)) => {
            for message in messages {
                message_of(wire, message, &mut all);
            }
        }
        _ => {}
    }
    all
}

fn message_of(wire: Wire, message: &Value, all: &mut Vec<Said>) {
    let role = message.get("role").and_then(Value::as_str);
    let role = role.unwrap_or_default();
    let content = message.get("content").unwrap_or(&Value::Null);
    match wire {
        Wire::Chat | Wire::Ollama => all.push(one(role, content)),
        Wire::Responses => match message.get("type").and_then(Value::as_str) {
            Some("function_call_output") => {
                all.push(one("tool", message.get("output").unwrap_or(&Value::Null)));
            }
            Some("message") | None => all.push(one(role, content)),
            Some(_) => {}
        },
        Wire::Messages => {
            let results = content.as_array().into_iter().flatten();
            let results = results
                .filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_result"));
            let before = all.len();
            all.extend(
                results.map(|block| one("tool", block.get("content").unwrap_or(&Value::Null))),
            );
            own_words(role, content, before, all);
        }
        Wire::Gemini => {
            let parts = message.get("parts").unwrap_or(&Value::Null);
            let results = parts.as_array().into_iter().flatten();
            let results = results.filter_map(|part| part.pointer("/functionResponse/response"));
            let before = all.len();
            all.extend(results.map(|said| {
                let said = said.get("output").or_else(|| said.get("error"));
                one("tool", said.unwrap_or(&Value::Null))
            }));
            let role = if role == "model" { "assistant" } else { role };
            own_words(role, parts, before, all);
        }
    }
}

/// A message that is all results says nothing itself.
fn own_words(role: &str, parts: &Value, before: usize, all: &mut Vec<Said>) {
    let own = one(role, parts);
    if all.len() == before || !own.text.is_empty() {
        all.push(own);
    }
}

fn one(role: &str, words: &Value) -> Said {
    let text = match words {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part.get("text").and_then(Value::as_str))
                .collect();
            texts.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    };
    Said {
        role: role.to_owned(),
        text,
    }
}
