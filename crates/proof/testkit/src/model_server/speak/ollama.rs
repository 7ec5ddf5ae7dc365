//! Ollama's own chat: a line for each piece, calls whole.

use serde_json::{Value, json};

use super::{Call, End, Frame, Spoken, Voice};

pub(super) struct Ollama(Frame);

impl Ollama {
    pub(super) fn new(frame: Frame) -> Self {
        Self(frame)
    }
}

/// There is no id; the moment tells answers apart.
fn line(frame: &Frame, message: Value, done: bool) -> Value {
    let created = format!("2026-01-01T00:00:00.{:09}Z", frame.number);
    json!({ "model": frame.model, "created_at": created, "message": message, "done": done })
}

fn one(frame: &Frame, message: Value) -> String {
    format!("{}\n", line(frame, message, false))
}

fn called(call: &Call) -> Value {
    json!({ "function": { "index": call.index, "name": call.name, "arguments": call.value() } })
}

fn last(frame: &Frame, message: Value, end: &End) -> Value {
    let mut last = line(frame, message, true);
    last["done_reason"] = match end.finish.as_str() {
        "tool_calls" | "content_filter" => "stop".into(),
        other => other.into(),
    };
    // Nanoseconds.
    for (field, time) in [
        ("total_duration", 3_000_000),
        ("load_duration", 0),
        ("prompt_eval_duration", 1_000_000),
        ("eval_duration", 2_000_000),
    ] {
        last[field] = time.into();
    }
    if let Some((input, output)) = end.usage {
        last["prompt_eval_count"] = input.into();
        last["eval_count"] = output.into();
    }
    last
}

impl Voice for Ollama {
    fn begin(&mut self, _end: &End) -> Vec<String> {
        Vec::new()
    }

    fn text(&mut self, words: &str) -> Vec<String> {
        vec![one(
            &self.0,
            json!({ "role": "assistant", "content": words }),
        )]
    }

    fn reasoning(&mut self, thought: &str) -> Vec<String> {
        let message = json!({ "role": "assistant", "content": "", "thinking": thought });
        vec![one(&self.0, message)]
    }

    fn call(&mut self, call: &Call) -> Vec<String> {
        let message = json!({ "role": "assistant", "content": "", "tool_calls": [called(call)] });
        vec![one(&self.0, message)]
    }

    fn end(&mut self, end: &End) -> Vec<String> {
        // The reason and the end are one line.
        if end.ending != super::Ending::Done {
            return Vec::new();
        }
        let message = json!({ "role": "assistant", "content": "" });
        vec![format!("{}\n", last(&self.0, message, end))]
    }
}

pub(super) fn whole(spoken: &Spoken, end: &End, frame: &Frame) -> Value {
    let mut message = json!({ "role": "assistant", "content": spoken.text });
    if !spoken.reasoning.is_empty() {
        message["thinking"] = spoken.reasoning.as_str().into();
    }
    if !spoken.calls.is_empty() {
        message["tool_calls"] = spoken.calls.iter().map(called).collect();
    }
    last(frame, message, end)
}
