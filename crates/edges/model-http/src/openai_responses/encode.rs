//! A request as JSON.

use model::{Content, ReplayBlock, Request, ToolSpec};
use serde_json::{Value, json};

use crate::answer::object;
use crate::manner::Manner;
use crate::pictures::{self, Bounds};
use crate::transcript::{self, Call, Entry};

/// The vendor takes 50 MB and 500 pictures of a request (its documentation, 2025).
const PICTURES: Bounds = Bounds {
    kinds: pictures::USUAL,
    largest: 20 << 20,
    side: u32::MAX,
    most: 100,
    together: 40 << 20,
    crowd: None,
};

/// Whether reasoning is asked for, sealed, so that it can be sent back with the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sealed {
    /// Asked for.
    Wanted,
    /// Not asked for: models that don't reason refuse the request.
    Unwanted,
}

/// The body of a streaming request of `route` (`PROVIDER/MODEL`). Temperature and limits are left to the provider.
#[must_use]
pub fn encode(
    request: &Request,
    route: &str,
    model: &str,
    sealed: Sealed,
    manner: Manner,
) -> Value {
    let input: Vec<Value> = transcript::entries(request, route, &PICTURES, manner.eyes)
        .into_iter()
        .flat_map(items)
        .collect();
    let mut body = object([
        ("model", model.into()),
        ("input", input.into()),
        ("stream", true.into()),
        ("store", false.into()),
    ]);
    if let Some(text) = transcript::system(request) {
        body.insert("instructions".to_owned(), text.into());
    }
    if sealed == Sealed::Wanted {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    if let Some(wish) = manner.wish() {
        body.insert("reasoning".to_owned(), json!({ "effort": wish.name() }));
    }
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
    }
    body.into()
}

/// Strict schemas must name every field as required; ours, and those of others' tools, don't.
fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "strict": false,
    })
}

fn items(entry: Entry) -> Vec<Value> {
    match entry {
        Entry::User(content) => {
            let parts: Vec<Value> = content.into_iter().map(part).collect();
            vec![json!({ "type": "message", "role": "user", "content": parts })]
        }
        Entry::Assistant {
            text,
            calls,
            replay,
        } => answered(&text, calls, &replay),
        Entry::Result { id, content, .. } => {
            vec![json!({ "type": "function_call_output", "call_id": id, "output": content })]
        }
    }
}

fn answered(text: &str, calls: Vec<Call>, replay: &[ReplayBlock]) -> Vec<Value> {
    let wanted = |at: Option<usize>| {
        replay
            .iter()
            .filter(move |block| block.call == at)
            .map(|block| block.data.clone())
    };
    let mut items: Vec<Value> = wanted(None).collect();
    if !text.trim().is_empty() {
        items.push(json!({ "type": "message", "role": "assistant", "content": text }));
    }
    for (at, call) in calls.into_iter().enumerate() {
        items.extend(wanted(Some(at)));
        let arguments = Value::Object(call.arguments).to_string();
        items.push(
            json!({ "type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments }),
        );
    }
    items
}

fn part(content: Content) -> Value {
    match content {
        Content::Text { text } => json!({ "type": "input_text", "text": text }),
        Content::Image { mime, base64 } => {
            json!({ "type": "input_image", "image_url": format!("data:{mime};base64,{base64}") })
        }
    }
}
