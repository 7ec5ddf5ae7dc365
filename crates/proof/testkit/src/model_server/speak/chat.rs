//! Chat completions.

use serde_json::{Value, json};

use super::{Call, End, Ending, Frame, Spoken, Voice, data};

pub(super) struct Chat(Frame);

impl Chat {
    pub(super) fn new(frame: Frame) -> Self {
        Self(frame)
    }

    fn chunk(&self, choices: Value) -> Value {
        json!({ "id": id(&self.0), "object": "chat.completion.chunk", "created": CREATED, "model": self.0.model, "choices": choices })
    }

    fn delta(&self, delta: Value) -> String {
        data(&self.chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }])))
    }
}

/// Any moment will do.
const CREATED: u64 = 1_767_225_600;

fn id(frame: &Frame) -> String {
    format!("chatcmpl-{}", frame.number)
}

fn call_id(call: &Call) -> String {
    format!("call_{}_{}", call.name, call.index)
}

fn usage((input, output): (u64, u64)) -> Value {
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}

impl Voice for Chat {
    fn begin(&mut self, _end: &End) -> Vec<String> {
        Vec::new()
    }

    fn text(&mut self, words: &str) -> Vec<String> {
        vec![self.delta(json!({ "content": words }))]
    }

    fn reasoning(&mut self, thought: &str) -> Vec<String> {
        vec![self.delta(json!({ "reasoning_content": thought }))]
    }

    fn call(&mut self, call: &Call) -> Vec<String> {
        let [first, second] = &call.pieces;
        let begun = json!({ "index": call.index, "id": call_id(call), "type": "function", "function": { "name": call.name, "arguments": first } });
        let rest = json!({ "index": call.index, "function": { "arguments": second } });
        vec![
            self.delta(json!({ "tool_calls": [begun] })),
            self.delta(json!({ "tool_calls": [rest] })),
        ]
    }

    fn end(&mut self, end: &End) -> Vec<String> {
        let last = json!([{ "index": 0, "delta": {}, "finish_reason": end.finish }]);
        let mut said = vec![data(&self.chunk(last))];
        let wanted = self.0.request.pointer("/stream_options/include_usage");
        if let Some(told) = end.usage
            && wanted.and_then(Value::as_bool) == Some(true)
        {
            let mut last = self.chunk(json!([]));
            last["usage"] = usage(told);
            said.push(data(&last));
        }
        if end.ending == Ending::Done {
            said.push("data: [DONE]\n\n".to_owned());
        }
        said
    }
}

pub(super) fn whole(spoken: &Spoken, end: &End, frame: &Frame) -> Value {
    let mut message = json!({ "role": "assistant", "content": spoken.text });
    if !spoken.reasoning.is_empty() {
        message["reasoning_content"] = spoken.reasoning.as_str().into();
    }
    if !spoken.calls.is_empty() {
        let calls = spoken.calls.iter().map(|call| {
            json!({ "id": call_id(call), "type": "function", "function": { "name": call.name, "arguments": call.arguments() } })
        });
        message["tool_calls"] = calls.collect();
    }
    let mut body = json!({
        "id": id(frame), "object": "chat.completion", "created": CREATED, "model": frame.model,
        "choices": [{ "index": 0, "message": message, "finish_reason": end.finish }],
    });
    if let Some(told) = end.usage {
        body["usage"] = usage(told);
    }
    body
}
