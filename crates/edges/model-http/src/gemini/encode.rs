//! A request as JSON.

use model::{Content, ReplayBlock, Request, ToolSpec};
use serde_json::{Value, json};

use super::schema;
use crate::answer::object;
use crate::manner::{Form, Manner, Thinking};
use crate::pictures::{Bounds, Kind};
use crate::transcript::{self, Call, Entry};

/// The whole request may have 20 MB (the vendor's documentation); this leaves room for words. No GIF is taken.
const PICTURES: Bounds = Bounds {
    kinds: &[Kind::Png, Kind::Jpeg, Kind::Webp],
    largest: 14 << 20,
    side: u32::MAX,
    most: 100,
    together: 14 << 20,
    crowd: None,
};
/// Documented as the signature of calls that another model made.
const NOT_OURS: &str = "skip_thought_signature_validator";

/// What a call goes with whose signature we don't have: it was another model's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsigned {
    /// Nothing; older models take that.
    Plain,
    /// The documented stand-in; newer models want it on the first call of a step.
    Excused,
}

/// The body of a streaming request of `route` (`PROVIDER/MODEL`); the model stands in the address. Temperature and limits are left to the
/// provider.
#[must_use]
pub fn encode(request: &Request, route: &str, unsigned: Unsigned, manner: Manner) -> Value {
    let mut body = object([(
        "contents",
        contents(request, route, unsigned, manner).into(),
    )]);
    if let Some(text) = transcript::system(request) {
        body.insert(
            "systemInstruction".to_owned(),
            json!({ "parts": [{ "text": text }] }),
        );
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool).collect();
        body.insert(
            "tools".to_owned(),
            json!([{ "functionDeclarations": tools }]),
        );
    }
    if let Some(wish) = manner.wish() {
        let thinking = json!({ "thinkingConfig": think(wish, manner.form) });
        body.insert("generationConfig".to_owned(), thinking);
    }
    body.into()
}

/// Levels since Gemini 3, a number of tokens before (the vendor's documentation, 2026).
fn think(wish: Thinking, form: Form) -> Value {
    if form == Form::Older {
        let tokens = match wish {
            Thinking::None => 0,
            Thinking::Low => 1_024,
            Thinking::Medium => 8_192,
            Thinking::High => 24_576,
        };
        return json!({ "thinkingBudget": tokens });
    }
    let level = match wish {
        Thinking::None => "minimal",
        Thinking::Low | Thinking::Medium | Thinking::High => wish.name(),
    };
    json!({ "thinkingLevel": level })
}

fn tool(spec: &ToolSpec) -> Value {
    let mut tool = object([
        ("name", spec.name.as_str().into()),
        ("description", spec.description.as_str().into()),
    ]);
    let properties = spec.parameters.get("properties").and_then(Value::as_object);
    // An object without properties is refused; no parameters at all are not.
    if properties.is_some_and(|properties| !properties.is_empty()) {
        tool.insert(
            "parametersJsonSchema".to_owned(),
            schema::accepted(&spec.parameters),
        );
    }
    tool.into()
}

struct Said {
    role: &'static str,
    parts: Vec<Value>,
}

/// The results of one step, in the order of its calls: the provider pairs them so.
#[derive(Default)]
struct Step {
    order: Vec<(String, Option<String>)>,
}

impl Step {
    fn of(calls: &[Call], replay: &[ReplayBlock]) -> Self {
        let theirs = |at: usize| Some(kept(replay, at, "id")?.to_owned());
        let calls = calls.iter().enumerate();
        Self {
            order: calls
                .map(|(at, call)| (call.id.clone(), theirs(at)))
                .collect(),
        }
    }

    fn place(&self, id: &str) -> usize {
        let place = self.order.iter().position(|(known, _)| known == id);
        place.unwrap_or(self.order.len())
    }

    fn theirs(&self, id: &str) -> Option<&str> {
        self.order.get(self.place(id))?.1.as_deref()
    }
}

fn contents(request: &Request, route: &str, unsigned: Unsigned, manner: Manner) -> Vec<Value> {
    let mut said: Vec<Said> = Vec::new();
    let mut step = Step::default();
    let mut results: Vec<(usize, Value)> = Vec::new();
    for entry in transcript::entries_until_a_person(request, route, &PICTURES, manner.eyes) {
        match entry {
            Entry::Result {
                id,
                name,
                content,
                failed,
            } => {
                let result = response(step.theirs(&id), &name, content, failed);
                results.push((step.place(&id), result));
            }
            Entry::User(content) => {
                put(&mut said, "user", in_order(&mut results));
                put(&mut said, "user", content.into_iter().map(part).collect());
            }
            Entry::Assistant {
                text,
                calls,
                replay,
            } => {
                put(&mut said, "user", in_order(&mut results));
                step = Step::of(&calls, &replay);
                put(&mut said, "model", answered(text, calls, &replay, unsigned));
            }
        }
    }
    put(&mut said, "user", in_order(&mut results));
    said.into_iter()
        .map(|one| json!({ "role": one.role, "parts": one.parts }))
        .collect()
}

fn in_order(results: &mut Vec<(usize, Value)>) -> Vec<Value> {
    let mut results = std::mem::take(results);
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

fn put(said: &mut Vec<Said>, role: &'static str, mut parts: Vec<Value>) {
    match said.last_mut() {
        Some(last) if last.role == role => last.parts.append(&mut parts),
        Some(_) | None if parts.is_empty() => {}
        Some(_) | None => said.push(Said { role, parts }),
    }
}

fn kept<'a>(replay: &'a [ReplayBlock], at: usize, field: &str) -> Option<&'a str> {
    let mut of_call = replay.iter().filter(|block| block.call == Some(at));
    of_call.find_map(|block| block.data.get(field)?.as_str())
}

fn answered(
    text: String,
    calls: Vec<Call>,
    replay: &[ReplayBlock],
    unsigned: Unsigned,
) -> Vec<Value> {
    let mut parts = Vec::new();
    if !text.trim().is_empty() {
        parts.push(json!({ "text": text }));
    }
    for (at, call) in calls.into_iter().enumerate() {
        let mut function = object([
            ("name", call.name.into()),
            ("args", Value::Object(call.arguments)),
        ]);
        if let Some(id) = kept(replay, at, "id") {
            function.insert("id".to_owned(), id.into());
        }
        let mut part = object([("functionCall", function.into())]);
        let excuse = (at == 0 && unsigned == Unsigned::Excused).then_some(NOT_OURS);
        if let Some(signature) = kept(replay, at, "thoughtSignature").or(excuse) {
            part.insert("thoughtSignature".to_owned(), signature.into());
        }
        parts.push(part.into());
    }
    parts
}

fn response(id: Option<&str>, name: &str, content: String, failed: bool) -> Value {
    let said = if failed { "error" } else { "output" };
    let mut function = object([
        ("name", name.into()),
        ("response", json!({ said: content })),
    ]);
    if let Some(id) = id {
        function.insert("id".to_owned(), id.into());
    }
    json!({ "functionResponse": function })
}

fn part(content: Content) -> Value {
    match content {
        Content::Text { text } => json!({ "text": text }),
        Content::Image { mime, base64 } => {
            json!({ "inlineData": { "mimeType": mime, "data": base64 } })
        }
    }
}
