//! What the closed services refuse.

use serde_json::Value;

/// Why the request would be refused, if it would.
pub(super) fn refusal(body: &Value) -> Option<String> {
    let Some(messages) = body.get("messages").and_then(Value::as_array) else {
        return Some("'messages' must be a list".to_owned());
    };
    if body
        .get("model")
        .and_then(Value::as_str)
        .is_none_or(str::is_empty)
    {
        return Some("'model' must be a name".to_owned());
    }
    if body
        .get("tools")
        .and_then(Value::as_array)
        .is_some_and(Vec::is_empty)
    {
        return Some("'tools' must not be an empty list".to_owned());
    }
    let mut open: Vec<String> = Vec::new();
    let mut before = "";
    for (at, message) in messages.iter().enumerate() {
        let role = message
            .get("role")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let wrong = |what: &str| Some(format!("messages[{at}] ({role}): {what}"));
        if role != "tool" && !open.is_empty() {
            return wrong(&format!("the calls {open:?} were not answered"));
        }
        match role {
            "system" if at > 0 => return wrong("a system message comes first or not at all"),
            "user" if before == "user" => return wrong("two user messages in a row"),
            "user" => {
                if let Some(what) = content_refusal(message) {
                    return wrong(&what);
                }
            }
            "assistant" if before == "assistant" => {
                return wrong("two assistant messages in a row");
            }
            "assistant" if at == 0 || before == "system" => {
                return wrong("the first message must be a user's");
            }
            "assistant" => match calls(message) {
                Ok(ids) if ids.is_empty() => {
                    if let Some(what) = content_refusal(message) {
                        return wrong(&what);
                    }
                }
                Ok(ids) => open = ids,
                Err(what) => return wrong(&what),
            },
            "tool" => {
                let id = message
                    .get("tool_call_id")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let Some(found) = open.iter().position(|call| call == id) else {
                    return wrong(&format!("'{id}' answers no open call"));
                };
                open.remove(found);
                if message.get("content").and_then(Value::as_str).is_none() {
                    return wrong("the content must be text");
                }
            }
            "system" => {}
            _ => return wrong("unknown role"),
        }
        before = role;
    }
    (!open.is_empty()).then(|| format!("the calls {open:?} were not answered"))
}

fn content_refusal(message: &Value) -> Option<String> {
    match message.get("content") {
        Some(Value::String(text)) if text.is_empty() => Some("the content is empty".to_owned()),
        Some(Value::String(_)) => None,
        Some(Value::Array(parts)) if parts.is_empty() => Some("the content is empty".to_owned()),
        Some(Value::Array(parts)) => {
            parts
                .iter()
                .find_map(|part| match part.get("type").and_then(Value::as_str) {
                    Some("text")
                        if part
                            .get("text")
                            .and_then(Value::as_str)
                            .is_some_and(|text| !text.is_empty()) =>
                    {
                        None
                    }
                    Some("image_url")
                        if part
                            .pointer("/image_url/url")
                            .and_then(Value::as_str)
                            .is_some() =>
                    {
                        None
                    }
                    _ => Some(format!("a part is malformed: {part}")),
                })
        }
        _ => Some("there is no content".to_owned()),
    }
}

fn calls(message: &Value) -> Result<Vec<String>, String> {
    let Some(calls) = message.get("tool_calls") else {
        return Ok(Vec::new());
    };
    let calls = calls
        .as_array()
        .filter(|calls| !calls.is_empty())
        .ok_or("'tool_calls' must be a list with something in it")?;
    let mut ids = Vec::new();
    for call in calls {
        let id = call
            .get("id")
            .and_then(Value::as_str)
            .filter(|id| !id.is_empty())
            .ok_or("a call has no id")?;
        if ids.iter().any(|known| known == id) {
            return Err(format!("two calls have the id '{id}'"));
        }
        call.pointer("/function/name")
            .and_then(Value::as_str)
            .filter(|name| !name.is_empty())
            .ok_or("a call has no name")?;
        let arguments = call
            .pointer("/function/arguments")
            .and_then(Value::as_str)
            .ok_or("arguments must be a text")?;
        let parsed: Value = serde_json::from_str(arguments)
            .map_err(|error| format!("arguments are no JSON: {error}"))?;
        if !parsed.is_object() {
            return Err("arguments must be an object".to_owned());
        }
        ids.push(id.to_owned());
    }
    Ok(ids)
}
