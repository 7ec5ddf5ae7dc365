//! A request as JSON.

use model::{Request, ToolSpec};
use serde_json::{Value, json};

use super::messages::messages;
use crate::manner::{Manner, Thinking};

/// How hard a reasoning model may think, whatever the owner says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// As the owner likes, or the provider where the owner says nothing.
    Unsaid,
    /// Not at all. Some models take tools over this protocol only so.
    None,
}

/// The body of a streaming request of `route` (`PROVIDER/MODEL`). Temperature and limits are left to the provider: several models refuse them.
#[must_use]
pub fn encode(
    request: &Request,
    route: &str,
    model: &str,
    effort: Effort,
    manner: Manner,
) -> Value {
    let mut body = json!({
        "model": model,
        "messages": messages(request, route, manner.eyes),
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if let Some(fields) = body.as_object_mut() {
        if !request.tools.is_empty() {
            fields.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
        }
        let effort = match effort {
            Effort::None => Some("none"),
            Effort::Unsaid => manner.wish().map(Thinking::name),
        };
        if let Some(effort) = effort {
            fields.insert("reasoning_effort".to_owned(), effort.into());
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
