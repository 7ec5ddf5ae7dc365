//! A request as JSON.

use model::{Content, Request, ToolSpec};
use serde_json::{Value, json};

use crate::answer::object;
use crate::manner::{Form, Manner, Thinking};
use crate::pictures::{self, Bounds};
use crate::transcript::{self, Call, Entry};

/// Local models scale pictures down themselves; this only bounds the request.
const PICTURES: Bounds = Bounds {
    kinds: pictures::USUAL,
    largest: 20 << 20,
    side: u32::MAX,
    most: 50,
    together: 40 << 20,
    crowd: None,
};

/// The body of a streaming request of `route` (`PROVIDER/MODEL`). `context` is the window in tokens: without it the server takes a small
/// one and silently forgets the beginning. A conversation that is too long is to be refused, not cut.
#[must_use]
pub fn encode(request: &Request, route: &str, model: &str, context: u32, manner: Manner) -> Value {
    let system =
        transcript::system(request).map(|system| json!({ "role": "system", "content": system }));
    let entries = transcript::entries(request, route, &PICTURES, manner.eyes);
    let messages: Vec<Value> = system
        .into_iter()
        .chain(entries.into_iter().map(message))
        .collect();
    let mut body = object([
        ("model", model.into()),
        ("messages", messages.into()),
        ("stream", true.into()),
        ("truncate", false.into()),
        ("shift", false.into()),
        ("options", json!({ "num_ctx": context })),
    ]);
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
    }
    if let Some(wish) = manner.wish() {
        body.insert("think".to_owned(), think(wish, manner.form));
    }
    body.into()
}

/// Levels since 2025; most models know only yes and no, and older servers take nothing else.
fn think(wish: Thinking, form: Form) -> Value {
    match (wish, form) {
        (Thinking::None, _) => false.into(),
        (_, Form::Older) => true.into(),
        (_, Form::Newer | Form::Unsaid) => wish.name().into(),
    }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": { "name": spec.name, "description": spec.description, "parameters": spec.parameters },
    })
}

fn message(entry: Entry) -> Value {
    match entry {
        Entry::User(content) => user(content),
        Entry::Assistant { text, calls, .. } if calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        Entry::Assistant { text, calls, .. } => {
            let calls: Vec<Value> = calls.into_iter().map(call).collect();
            json!({ "role": "assistant", "content": text, "tool_calls": calls })
        }
        Entry::Result { name, content, .. } => {
            json!({ "role": "tool", "tool_name": name, "content": content })
        }
    }
}

fn call(call: Call) -> Value {
    json!({ "function": { "name": call.name, "arguments": call.arguments } })
}

fn user(content: Vec<Content>) -> Value {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for part in content {
        match part {
            Content::Text { text } => texts.push(text),
            Content::Image { base64, .. } => images.push(base64),
        }
    }
    let mut message = object([
        ("role", "user".into()),
        ("content", texts.join("\n\n").into()),
    ]);
    if !images.is_empty() {
        message.insert("images".to_owned(), images.into());
    }
    message.into()
}
