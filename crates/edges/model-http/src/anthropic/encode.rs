//! A request as JSON.
//!
//! Tools, system and messages are one prefix to the provider's cache. Four marks are allowed: the last tool, the system, and the last
//! two messages of people, so that a turn reads what the one before wrote.

use model::{Content, ReplayBlock, Request, ToolSpec};
use serde_json::{Value, json};

use crate::answer::object;
use crate::pictures;
use crate::transcript::{self, Call, Entry};

/// Marks on messages; two more are on tools and system.
const MARKED_MESSAGES: usize = 2;
/// Largest picture (the vendor's documentation: 5 MB, counted in base64).
const LARGEST_PICTURE: usize = 5 << 20;

/// The body of a streaming request of `route` (`PROVIDER/MODEL`). `max_tokens` has no default at the provider.
#[must_use]
pub fn encode(request: &Request, route: &str, model: &str, max_tokens: u32) -> Value {
    let mut body = object([
        ("model", model.into()),
        ("max_tokens", max_tokens.into()),
        ("stream", true.into()),
        ("messages", messages(request, route).into()),
    ]);
    if let Some(text) = transcript::system(request) {
        let mut block = json!({ "type": "text", "text": text });
        mark(&mut block);
        body.insert("system".to_owned(), json!([block]));
    }
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    if let Some(last) = tools.last_mut() {
        mark(last);
        body.insert("tools".to_owned(), tools.into());
    }
    body.into()
}

fn tool(spec: &ToolSpec) -> Value {
    json!({ "name": spec.name, "description": spec.description, "input_schema": spec.parameters })
}

fn mark(block: &mut Value) {
    if let Some(fields) = block.as_object_mut() {
        fields.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
}

struct Said {
    role: &'static str,
    content: Vec<Value>,
}

/// Results are a person's words to this provider, and two messages of one role in a row are refused.
fn messages(request: &Request, route: &str) -> Vec<Value> {
    let mut said: Vec<Said> = Vec::new();
    for entry in transcript::entries_until_a_person(request, route) {
        let (role, mut content) = match entry {
            Entry::User(content) => ("user", content.into_iter().map(part).collect()),
            Entry::Assistant {
                text,
                calls,
                replay,
            } => ("assistant", answered(&text, calls, &replay)),
            Entry::Result {
                id,
                content,
                failed,
                ..
            } => ("user", vec![result(&id, &content, failed)]),
        };
        match said.last_mut() {
            Some(last) if last.role == role => last.content.append(&mut content),
            Some(_) | None => said.push(Said { role, content }),
        }
    }
    let people = said.iter_mut().rev().filter(|one| one.role == "user");
    people
        .take(MARKED_MESSAGES)
        .filter_map(|one| one.content.last_mut())
        .for_each(mark);
    said.into_iter()
        .map(|one| json!({ "role": one.role, "content": one.content }))
        .collect()
}

fn answered(text: &str, calls: Vec<Call>, replay: &[ReplayBlock]) -> Vec<Value> {
    let wanted = |at: Option<usize>| {
        replay
            .iter()
            .filter(move |block| block.call == at)
            .map(|block| block.data.clone())
    };
    let mut content: Vec<Value> = wanted(None).collect();
    if !text.trim().is_empty() {
        content.push(json!({ "type": "text", "text": text.trim_end() }));
    }
    for (at, call) in calls.into_iter().enumerate() {
        content.extend(wanted(Some(at)));
        content.push(
            json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments }),
        );
    }
    content
}

fn result(id: &str, content: &str, failed: bool) -> Value {
    let content = if content.trim().is_empty() {
        transcript::EMPTY_RESULT
    } else {
        content
    };
    let mut result = object([
        ("type", "tool_result".into()),
        ("tool_use_id", id.into()),
        ("content", content.into()),
    ]);
    if failed {
        result.insert("is_error".to_owned(), true.into());
    }
    result.into()
}

fn part(content: Content) -> Value {
    match content {
        Content::Text { text } => json!({ "type": "text", "text": text }),
        Content::Image { mime, base64 } => match pictures::refused(&mime, &base64, LARGEST_PICTURE)
        {
            Some(why) => json!({ "type": "text", "text": why }),
            None => json!({
                "type": "image",
                "source": { "type": "base64", "media_type": mime, "data": base64 },
            }),
        },
    }
}
