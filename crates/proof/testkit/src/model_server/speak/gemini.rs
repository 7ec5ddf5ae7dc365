//! Generate content: every event is a response of its own, calls come whole, and the first call of an answer is signed.

use serde_json::{Value, json};

use super::{Call, End, Frame, Spoken, Voice, data, seal};

pub(super) struct Gemini {
    frame: Frame,
    usage: Option<(u64, u64)>,
}

impl Gemini {
    pub(super) fn new(frame: Frame) -> Self {
        Self { frame, usage: None }
    }

    fn part(&self, part: Value) -> Vec<String> {
        vec![data(&response(&self.frame, vec![part], None, self.usage))]
    }
}

fn response(
    frame: &Frame,
    parts: Vec<Value>,
    finish: Option<&str>,
    usage: Option<(u64, u64)>,
) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    let mut response = json!({
        "candidates": [candidate], "modelVersion": frame.model, "responseId": format!("r{}", frame.number),
    });
    if let Some((input, output)) = usage {
        response["usageMetadata"] = json!({ "promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output });
    }
    response
}

fn called(frame: &Frame, call: &Call) -> Value {
    let id = format!("fc_{}_{}", frame.number, call.index);
    let mut part = json!({ "functionCall": { "id": id, "name": call.name, "args": call.value() } });
    if call.index == 0 {
        part["thoughtSignature"] = signature(&call.name, &call.value()).into();
    }
    part
}

/// What goes with a call and comes back with it.
pub(in crate::model_server) fn signature(name: &str, arguments: &Value) -> String {
    seal(&format!("{name} {arguments}"))
}

fn reason(finish: &str) -> &str {
    match finish {
        "stop" | "tool_calls" => "STOP",
        "length" => "MAX_TOKENS",
        "content_filter" => "SAFETY",
        other => other,
    }
}

impl Voice for Gemini {
    fn begin(&mut self, end: &End) -> Vec<String> {
        // Every event tells the counts so far.
        self.usage = end.usage.map(|(input, output)| (input, output.min(1)));
        Vec::new()
    }

    fn text(&mut self, words: &str) -> Vec<String> {
        self.part(json!({ "text": words }))
    }

    fn reasoning(&mut self, thought: &str) -> Vec<String> {
        self.part(json!({ "text": thought, "thought": true }))
    }

    fn call(&mut self, call: &Call) -> Vec<String> {
        self.part(called(&self.frame, call))
    }

    fn end(&mut self, end: &End) -> Vec<String> {
        let last = vec![json!({ "text": "" })];
        let finish = Some(reason(&end.finish));
        vec![data(&response(&self.frame, last, finish, end.usage))]
    }
}

pub(super) fn whole(spoken: &Spoken, end: &End, frame: &Frame) -> Value {
    let mut parts = Vec::new();
    if !spoken.reasoning.is_empty() {
        parts.push(json!({ "text": spoken.reasoning, "thought": true }));
    }
    if !spoken.text.is_empty() {
        parts.push(json!({ "text": spoken.text }));
    }
    parts.extend(spoken.calls.iter().map(|call| called(frame, call)));
    response(frame, parts, Some(reason(&end.finish)), end.usage)
}
