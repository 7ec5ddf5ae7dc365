//! Messages.

use serde_json::{Value, json};

use super::{Call, End, Ending, Frame, Spoken, Voice, event, seal};

/// The block that is being told.
enum Open {
    Nothing,
    Text,
    Thought(String),
}

pub(super) struct Messages {
    frame: Frame,
    /// The next block's place.
    next: usize,
    open: Open,
}

impl Messages {
    pub(super) fn new(frame: Frame) -> Self {
        Self {
            frame,
            next: 0,
            open: Open::Nothing,
        }
    }

    fn start(&mut self, block: Value) -> String {
        let at = self.next;
        self.next += 1;
        event(&json!({ "type": "content_block_start", "index": at, "content_block": block }))
    }

    fn delta(&self, delta: Value) -> String {
        let at = self.next.saturating_sub(1);
        event(&json!({ "type": "content_block_delta", "index": at, "delta": delta }))
    }

    fn stop(&self) -> String {
        event(&json!({ "type": "content_block_stop", "index": self.next.saturating_sub(1) }))
    }

    fn close(&mut self) -> Vec<String> {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => Vec::new(),
            Open::Text => vec![self.stop()],
            Open::Thought(thought) => {
                let signed = json!({ "type": "signature_delta", "signature": seal(&thought) });
                vec![self.delta(signed), self.stop()]
            }
        }
    }
}

fn id(frame: &Frame) -> String {
    format!("msg_{}", frame.number)
}

fn call_id(frame: &Frame, call: &Call) -> String {
    format!("toolu_{}_{}", frame.number, call.index)
}

fn reason(finish: &str) -> &str {
    match finish {
        "stop" => "end_turn",
        "tool_calls" => "tool_use",
        "length" => "max_tokens",
        "content_filter" => "refusal",
        other => other,
    }
}

fn usage(input: u64, output: u64) -> Value {
    json!({ "input_tokens": input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": output })
}

impl Voice for Messages {
    fn begin(&mut self, end: &End) -> Vec<String> {
        let mut message = json!({
            "id": id(&self.frame), "type": "message", "role": "assistant", "model": self.frame.model, "content": [],
            "stop_reason": null, "stop_sequence": null,
        });
        // Counts grow; the last one holds.
        if let Some((input, output)) = end.usage {
            message["usage"] = usage(input, output.min(1));
        }
        vec![
            event(&json!({ "type": "message_start", "message": message })),
            event(&json!({ "type": "ping" })),
        ]
    }

    fn text(&mut self, words: &str) -> Vec<String> {
        let mut said = Vec::new();
        if !matches!(self.open, Open::Text) {
            said = self.close();
            said.push(self.start(json!({ "type": "text", "text": "" })));
            self.open = Open::Text;
        }
        said.push(self.delta(json!({ "type": "text_delta", "text": words })));
        said
    }

    fn reasoning(&mut self, thought: &str) -> Vec<String> {
        let mut said = Vec::new();
        if !matches!(self.open, Open::Thought(_)) {
            said = self.close();
            said.push(self.start(json!({ "type": "thinking", "thinking": "", "signature": "" })));
            self.open = Open::Thought(String::new());
        }
        if let Open::Thought(all) = &mut self.open {
            all.push_str(thought);
        }
        said.push(self.delta(json!({ "type": "thinking_delta", "thinking": thought })));
        said
    }

    fn call(&mut self, call: &Call) -> Vec<String> {
        let mut said = self.close();
        let id = call_id(&self.frame, call);
        said.push(
            self.start(json!({ "type": "tool_use", "id": id, "name": call.name, "input": {} })),
        );
        for piece in &call.pieces {
            said.push(self.delta(json!({ "type": "input_json_delta", "partial_json": piece })));
        }
        said.push(self.stop());
        said
    }

    fn end(&mut self, end: &End) -> Vec<String> {
        let mut said = self.close();
        let delta = json!({ "stop_reason": reason(&end.finish), "stop_sequence": null });
        let mut last = json!({ "type": "message_delta", "delta": delta });
        if let Some((_, output)) = end.usage {
            last["usage"] = json!({ "output_tokens": output });
        }
        said.push(event(&last));
        if end.ending == Ending::Done {
            said.push(event(&json!({ "type": "message_stop" })));
        }
        said
    }
}

pub(super) fn whole(spoken: &Spoken, end: &End, frame: &Frame) -> Value {
    let mut content = Vec::new();
    if !spoken.reasoning.is_empty() {
        let signature = seal(&spoken.reasoning);
        content.push(
            json!({ "type": "thinking", "thinking": spoken.reasoning, "signature": signature }),
        );
    }
    if !spoken.text.is_empty() {
        content.push(json!({ "type": "text", "text": spoken.text }));
    }
    content.extend(spoken.calls.iter().map(|call| {
        json!({ "type": "tool_use", "id": call_id(frame, call), "name": call.name, "input": call.value() })
    }));
    let mut message = json!({
        "id": id(frame), "type": "message", "role": "assistant", "model": frame.model, "content": content,
        "stop_reason": reason(&end.finish), "stop_sequence": null,
    });
    if let Some((input, output)) = end.usage {
        message["usage"] = usage(input, output);
    }
    message
}
