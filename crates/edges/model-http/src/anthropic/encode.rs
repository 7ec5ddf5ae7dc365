//! A request as JSON.
//!
//! Tools, system and messages are one prefix to the provider's cache. Four marks are allowed: the last tool, the system, and the last
//! two messages of people, so that a turn reads what the one before wrote.

use model::{Content, ReplayBlock, Request, ToolSpec};
use serde_json::{Map, Value, json};

use crate::answer::object;
use crate::manner::{Form, Manner, Thinking};
use crate::pictures::{self, Bounds};
use crate::transcript::{self, Call, Entry};

/// Marks on messages; two more are on tools and system.
const MARKED_MESSAGES: usize = 2;
/// The vendor's documentation, 2026: 5 MB of one picture, counted in base64; 8,000 pixels, and 2,000 where there are more than 20; 100 of
/// them with the smaller window; 32 MB of a whole request, of which this leaves a fourth for words.
const PICTURES: Bounds = Bounds {
    kinds: pictures::USUAL,
    largest: 5 << 20,
    side: 8_000,
    most: 100,
    together: 24 << 20,
    crowd: Some((20, 2_000)),
};
/// Fewest tokens that may be set aside for thinking (the vendor's documentation).
const LEAST_THINKING: u32 = 1_024;

/// The body of a streaming request of `route` (`PROVIDER/MODEL`). `max_tokens` has no default at the provider.
#[must_use]
pub fn encode(
    request: &Request,
    route: &str,
    model: &str,
    max_tokens: u32,
    manner: Manner,
) -> Value {
    let mut body = object([
        ("model", model.into()),
        ("max_tokens", max_tokens.into()),
        ("stream", true.into()),
        ("messages", messages(request, route, manner).into()),
    ]);
    if let Some(text) = transcript::system(request) {
        let mut block = json!({ "type": "text", "text": text });
        mark(&mut block);
        body.insert("system".to_owned(), json!([block]));
    }
    think(&mut body, max_tokens, manner);
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    if let Some(last) = tools.last_mut() {
        mark(last);
        body.insert("tools".to_owned(), tools.into());
    }
    body.into()
}

/// Models since 2026 think as they see fit within an effort; those before take a number of tokens, which the answer's bound holds as well.
fn think(body: &mut Map<String, Value>, max_tokens: u32, manner: Manner) {
    let Some(wish) = manner.wish() else { return };
    if manner.form == Form::Older {
        let tokens = match wish {
            Thinking::None => return,
            Thinking::Low => 4_096,
            Thinking::Medium => 12_288,
            Thinking::High => 24_576,
        };
        // What is left is for the answer.
        let budget = tokens.min(max_tokens / 4 * 3);
        if budget >= LEAST_THINKING {
            let thinking = json!({ "type": "enabled", "budget_tokens": budget });
            body.insert("thinking".to_owned(), thinking);
        }
        return;
    }
    if wish == Thinking::None {
        body.insert("thinking".to_owned(), json!({ "type": "disabled" }));
        return;
    }
    body.insert("thinking".to_owned(), json!({ "type": "adaptive" }));
    body.insert("output_config".to_owned(), json!({ "effort": wish.name() }));
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
fn messages(request: &Request, route: &str, manner: Manner) -> Vec<Value> {
    let mut said: Vec<Said> = Vec::new();
    for entry in transcript::entries_until_a_person(request, route, &PICTURES, manner.eyes) {
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
        Content::Image { mime, base64 } => json!({
            "type": "image",
            "source": { "type": "base64", "media_type": mime, "data": base64 },
        }),
    }
}
