//! Responses: every item is told in pieces, whole when it is done, and once more at the end.

use serde_json::{Value, json};

use super::{Call, End, Ending, Frame, Spoken, Voice, event, seal};

/// The item that is being told.
enum Open {
    Nothing,
    Text(String),
    Thought(String),
}

pub(super) struct Responses {
    frame: Frame,
    sequence: u64,
    /// Items that are done.
    output: Vec<Value>,
    open: Open,
}

impl Responses {
    pub(super) fn new(frame: Frame) -> Self {
        Self {
            frame,
            sequence: 0,
            output: Vec::new(),
            open: Open::Nothing,
        }
    }

    fn tell(&mut self, kind: &str, mut fields: Value) -> String {
        fields["type"] = kind.into();
        fields["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        event(&fields)
    }

    /// Of the item that is being told.
    fn of_item(&mut self, kind: &str, id: &str, mut fields: Value) -> String {
        fields["item_id"] = id.into();
        fields["output_index"] = self.output.len().into();
        self.tell(kind, fields)
    }

    fn added(&mut self, item: Value) -> String {
        let at = self.output.len();
        let fields = json!({ "output_index": at, "item": item });
        self.tell("response.output_item.added", fields)
    }

    fn done(&mut self, item: Value) -> String {
        let fields = json!({ "output_index": self.output.len(), "item": item });
        let said = self.tell("response.output_item.done", fields);
        self.output.push(item);
        said
    }

    fn close(&mut self) -> Vec<String> {
        let at = self.output.len();
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => Vec::new(),
            Open::Text(text) => {
                let item = message(&self.frame, at, &text);
                let (id, part) = (id("msg", &self.frame, at), words(&text));
                vec![
                    self.of_item(
                        "response.output_text.done",
                        &id,
                        json!({ "content_index": 0, "text": text, "logprobs": [] }),
                    ),
                    self.of_item(
                        "response.content_part.done",
                        &id,
                        json!({ "content_index": 0, "part": part }),
                    ),
                    self.done(item),
                ]
            }
            Open::Thought(thought) => {
                let item = thought_item(&self.frame, at, &thought);
                let id = id("rs", &self.frame, at);
                let part = json!({ "type": "summary_text", "text": thought });
                vec![
                    self.of_item(
                        "response.reasoning_summary_text.done",
                        &id,
                        json!({ "summary_index": 0, "text": thought }),
                    ),
                    self.of_item(
                        "response.reasoning_summary_part.done",
                        &id,
                        json!({ "summary_index": 0, "part": part }),
                    ),
                    self.done(item),
                ]
            }
        }
    }
}

fn id(kind: &str, frame: &Frame, at: usize) -> String {
    format!("{kind}_{}_{at}", frame.number)
}

fn words(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

fn message(frame: &Frame, at: usize, text: &str) -> Value {
    json!({ "type": "message", "id": id("msg", frame, at), "role": "assistant", "status": "completed", "content": [words(text)] })
}

fn thought_item(frame: &Frame, at: usize, thought: &str) -> Value {
    let id = id("rs", frame, at);
    let summary = json!([{ "type": "summary_text", "text": thought }]);
    let wanted = frame.request.get("include").and_then(Value::as_array);
    let wanted = wanted.is_some_and(|all| all.iter().any(|one| one == SEALED));
    let sealed = wanted.then(|| sealed(&id, &summary));
    json!({ "type": "reasoning", "id": id, "summary": summary, "encrypted_content": sealed })
}

const SEALED: &str = "reasoning.encrypted_content";

/// What goes with a thought and comes back with it.
pub(in crate::model_server) fn sealed(id: &str, summary: &Value) -> String {
    seal(&format!("{id} {summary}"))
}

fn called(frame: &Frame, at: usize, call: &Call, status: &str, arguments: &str) -> Value {
    let call_id = format!("call_{}_{}", frame.number, call.index);
    json!({ "type": "function_call", "id": id("fc", frame, at), "call_id": call_id, "name": call.name, "arguments": arguments, "status": status })
}

fn response(frame: &Frame, status: &str, output: &[Value], end: &End) -> Value {
    let tools = frame.request.get("tools").cloned().unwrap_or(json!([]));
    let over = status != "in_progress";
    let usage = end.usage.filter(|_| over).map(|(input, output)| {
        json!({
            "input_tokens": input, "input_tokens_details": { "cached_tokens": 0, "cache_write_tokens": 0 },
            "output_tokens": output, "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input + output,
        })
    });
    let cause = match end.finish.as_str() {
        "content_filter" => "content_filter",
        _ => "max_output_tokens",
    };
    let incomplete = (status == "incomplete").then(|| json!({ "reason": cause }));
    json!({
        "id": format!("resp_{}", frame.number), "object": "response", "created_at": 1_767_225_600, "status": status, "model": frame.model,
        "output": output, "usage": usage, "error": null, "incomplete_details": incomplete,
        "instructions": frame.request.get("instructions"), "metadata": {}, "parallel_tool_calls": true, "tool_choice": "auto", "tools": tools,
        "temperature": 1.0, "top_p": 1.0,
    })
}

fn status(finish: &str) -> &'static str {
    match finish {
        "length" | "content_filter" => "incomplete",
        _ => "completed",
    }
}

impl Voice for Responses {
    fn begin(&mut self, end: &End) -> Vec<String> {
        let response = response(&self.frame, "in_progress", &[], end);
        let fields = json!({ "response": response });
        vec![
            self.tell("response.created", fields.clone()),
            self.tell("response.in_progress", fields),
        ]
    }

    fn text(&mut self, text: &str) -> Vec<String> {
        let mut said = Vec::new();
        if !matches!(self.open, Open::Text(_)) {
            said = self.close();
            let id = id("msg", &self.frame, self.output.len());
            let item = json!({ "type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": [] });
            said.push(self.added(item));
            let part = json!({ "content_index": 0, "part": words("") });
            said.push(self.of_item("response.content_part.added", &id, part));
            self.open = Open::Text(String::new());
        }
        if let Open::Text(all) = &mut self.open {
            all.push_str(text);
        }
        let id = id("msg", &self.frame, self.output.len());
        let delta = json!({ "content_index": 0, "delta": text, "logprobs": [] });
        said.push(self.of_item("response.output_text.delta", &id, delta));
        said
    }

    fn reasoning(&mut self, thought: &str) -> Vec<String> {
        let mut said = Vec::new();
        if !matches!(self.open, Open::Thought(_)) {
            said = self.close();
            let id = id("rs", &self.frame, self.output.len());
            said.push(self.added(json!({ "type": "reasoning", "id": id, "summary": [] })));
            let part =
                json!({ "summary_index": 0, "part": { "type": "summary_text", "text": "" } });
            said.push(self.of_item("response.reasoning_summary_part.added", &id, part));
            self.open = Open::Thought(String::new());
        }
        if let Open::Thought(all) = &mut self.open {
            all.push_str(thought);
        }
        let id = id("rs", &self.frame, self.output.len());
        let delta = json!({ "summary_index": 0, "delta": thought });
        said.push(self.of_item("response.reasoning_summary_text.delta", &id, delta));
        said
    }

    fn call(&mut self, call: &Call) -> Vec<String> {
        let mut said = self.close();
        let at = self.output.len();
        let id = id("fc", &self.frame, at);
        let begun = called(&self.frame, at, call, "in_progress", "");
        said.push(self.added(begun));
        for piece in &call.pieces {
            let delta = json!({ "delta": piece });
            said.push(self.of_item("response.function_call_arguments.delta", &id, delta));
        }
        let arguments = call.arguments();
        let whole = json!({ "arguments": arguments });
        said.push(self.of_item("response.function_call_arguments.done", &id, whole));
        let item = called(&self.frame, at, call, "completed", &arguments);
        said.push(self.done(item));
        said
    }

    fn end(&mut self, end: &End) -> Vec<String> {
        let mut said = self.close();
        // The reason is in the last event.
        if end.ending == Ending::Done {
            let status = status(&end.finish);
            let response = response(&self.frame, status, &self.output, end);
            let kind = format!("response.{status}");
            said.push(self.tell(&kind, json!({ "response": response })));
        }
        said
    }
}

pub(super) fn whole(spoken: &Spoken, end: &End, frame: &Frame) -> Value {
    let mut output = Vec::new();
    if !spoken.reasoning.is_empty() {
        output.push(thought_item(frame, 0, &spoken.reasoning));
    }
    if !spoken.text.is_empty() {
        output.push(message(frame, output.len(), &spoken.text));
    }
    for call in &spoken.calls {
        output.push(called(
            frame,
            output.len(),
            call,
            "completed",
            &call.arguments(),
        ));
    }
    response(frame, status(&end.finish), &output, end)
}
