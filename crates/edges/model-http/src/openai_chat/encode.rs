//! A request as JSON.

use model::{Request, ToolSpec};
use serde_json::{Value, json};

use super::messages::messages;

/// How hard a reasoning model may think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// As the provider likes: nothing is sent.
    Unsaid,
    /// Not at all. Some models take tools over this protocol only so.
    None,
}

/// The body of a streaming request of `route` (`PROVIDER/MODEL`). Temperature and limits are left to the provider: several models refuse them.
#[must_use]
pub fn encode(request: &Request, route: &str, model: &str, effort: Effort) -> Value {
    let mut body = json!({
        "model": model,
        "messages": messages(request, route),
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if let Some(fields) = body.as_object_mut() {
        if !request.tools.is_empty() {
            fields.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
        }
        if effort == Effort::None {
            fields.insert("reasoning_effort".to_owned(), "none".into());
        }
    }
    body
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": { "name": spec.name, "description": spec.description, "parameters": spec.parameters },
    })
}
