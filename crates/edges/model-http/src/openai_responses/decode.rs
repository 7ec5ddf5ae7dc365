//! A stream of response events, put together into a reply.
//!
//! Each item of the output is told up to three times: in pieces, whole when it is done, and once more in the finished response. What was
//! heard in pieces is not taken again.

use std::collections::HashMap;

use model::{Delta, ModelError, Reply, StopReason, Usage};
use net::sse::Event;
use serde_json::{Value, json};

use crate::answer::{Answer, Decode, Limits, Progress, list, text};
use crate::failure::Speaker;

/// Takes events, gives deltas, ends as a reply or an error.
#[derive(Debug)]
pub struct Decoder {
    answer: Answer,
    items: HashMap<String, Item>,
}

/// An item of the output, as far as it was heard.
#[derive(Debug, Default)]
struct Item {
    /// Some of its words, or of its reasoning, came in pieces.
    heard: bool,
    /// Its place among the calls.
    call: Option<usize>,
    done: bool,
}

impl Decoder {
    /// A decoder for `PROVIDER/MODEL`.
    #[must_use]
    pub fn new(route: &str, limits: Limits) -> Self {
        Self::of(Speaker::of_route(route), route, limits)
    }

    pub(crate) fn of(speaker: Speaker, route: &str, limits: Limits) -> Self {
        Self {
            answer: Answer::new(speaker, route, limits),
            items: HashMap::new(),
        }
    }

    fn event(&mut self, event: &Value, kind: &str, deltas: &mut Vec<Delta>) {
        let item = event.get("item").unwrap_or(&Value::Null);
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => {
                self.answer.named(event.pointer("/response/id"));
            }
            "response.output_item.added" => self.added(&key(event, item), item, deltas),
            "response.output_item.done" => self.done(&key(event, item), item, deltas),
            "response.output_text.delta" => {
                self.item(&key(event, item)).heard = true;
                self.answer.say(text(event, "delta"), deltas);
            }
            "response.refusal.delta" => {
                self.item(&key(event, item)).heard = true;
                self.answer.refused = true;
                self.answer.say(text(event, "delta"), deltas);
            }
            "response.reasoning_summary_part.added" => self.answer.new_thought(deltas),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.item(&key(event, item)).heard = true;
                self.answer.reason(text(event, "delta"), deltas);
            }
            "response.function_call_arguments.delta" => {
                if let Some(at) = self.item(&key(event, item)).call {
                    self.answer.arguments(at, text(event, "delta"));
                }
            }
            "response.function_call_arguments.done" => {
                if let Some(at) = self.item(&key(event, item)).call {
                    self.answer.whole_arguments(at, event.get("arguments"));
                }
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => {
                let response = event.get("response").unwrap_or(&Value::Null);
                let status = kind.trim_start_matches("response.");
                self.response(response, status, deltas);
            }
            "error" => {
                let error = event.get("error").filter(|error| !error.is_null());
                let error = error.unwrap_or(event);
                self.answer.fail(self.answer.speaker.mid_stream(error));
            }
            // Parts of what comes whole later, tools that we never ask for, and kinds that came later than we did.
            _ => {}
        }
    }

    fn item(&mut self, key: &str) -> &mut Item {
        self.items.entry(key.to_owned()).or_default()
    }

    fn added(&mut self, key: &str, item: &Value, deltas: &mut Vec<Delta>) {
        match text(item, "type") {
            "function_call" if self.item(key).call.is_none() => {
                let id = match text(item, "call_id") {
                    "" => text(item, "id"),
                    id => id,
                };
                let at = self.answer.call(id, text(item, "name"), deltas);
                self.item(key).call = Some(at);
                self.answer.arguments(at, text(item, "arguments"));
            }
            "reasoning" => self.answer.new_thought(deltas),
            _ => {}
        }
    }

    /// An item is whole. What of it did not come in pieces is taken now.
    fn done(&mut self, key: &str, item: &Value, deltas: &mut Vec<Delta>) {
        if std::mem::replace(&mut self.item(key).done, true) {
            return;
        }
        let heard = self.item(key).heard;
        match text(item, "type") {
            "function_call" => {
                self.added(key, item, deltas);
                if let Some(at) = self.item(key).call {
                    self.answer.whole_arguments(at, item.get("arguments"));
                }
            }
            "message" if !heard => {
                for part in list(item, "content") {
                    if text(part, "type") == "refusal" {
                        self.answer.refused = true;
                        self.answer.say(text(part, "refusal"), deltas);
                    } else {
                        self.answer.say(text(part, "text"), deltas);
                    }
                }
            }
            "reasoning" => {
                if !heard {
                    for part in list(item, "summary").iter().chain(list(item, "content")) {
                        self.answer.new_thought(deltas);
                        self.answer.reason(text(part, "text"), deltas);
                    }
                }
                self.keep(item);
            }
            _ => {}
        }
    }

    /// Without its sealed content an item can't be sent back: nothing is stored at the provider.
    fn keep(&mut self, item: &Value) {
        let sealed = text(item, "encrypted_content");
        if !sealed.is_empty() {
            self.answer.replay(json!({
                "type": "reasoning",
                "id": text(item, "id"),
                "summary": list(item, "summary"),
                "encrypted_content": sealed,
            }));
        }
    }

    fn response(&mut self, response: &Value, status: &str, deltas: &mut Vec<Delta>) {
        self.answer.named(response.get("id"));
        if let Some(usage) = response.get("usage").and_then(usage) {
            self.answer.usage = Some(usage);
        }
        match status {
            "completed" | "incomplete" => {
                for (place, item) in (0_u64..).zip(list(response, "output")) {
                    self.done(&place.to_string(), item, deltas);
                }
                if status == "incomplete" {
                    let reason = response.pointer("/incomplete_details/reason");
                    self.answer.stop = Some(match reason.and_then(Value::as_str) {
                        Some("content_filter") => StopReason::Refused,
                        _ => StopReason::Length,
                    });
                }
                self.answer.over();
            }
            "failed" => {
                let error = response.get("error").filter(|error| !error.is_null());
                let error = error.map_or_else(
                    || self.answer.speaker.failed("it gave no reason".to_owned()),
                    |error| self.answer.speaker.mid_stream(error),
                );
                self.answer.fail(error);
            }
            "cancelled" => {
                let error = self.answer.speaker.broke_off("it was cancelled".to_owned());
                self.answer.fail(error);
            }
            _ => {}
        }
    }
}

impl Decode for Decoder {
    fn progress(&self) -> Progress {
        self.answer.progress
    }

    fn feed(&mut self, event: &Event) -> Vec<Delta> {
        let mut deltas = Vec::new();
        if let Some(value) = self.answer.read(&event.data) {
            let kind = match text(&value, "type") {
                "" if value.get("error").is_some_and(|error| !error.is_null()) => "error",
                "" => event.kind.as_str(),
                kind => kind,
            };
            self.event(&value, kind, &mut deltas);
        }
        deltas
    }

    fn feed_whole(&mut self, body: &str) -> Vec<Delta> {
        let mut deltas = Vec::new();
        if let Some(response) = self.answer.read(body) {
            match text(&response, "status") {
                "" if response.get("error").is_some_and(|error| !error.is_null()) => {
                    self.event(&response, "error", &mut deltas);
                }
                status => self.response(&response, status, &mut deltas),
            }
        }
        deltas
    }

    fn finish(self: Box<Self>) -> Result<Reply, ModelError> {
        self.answer.finish()
    }
}

/// Items are told apart by their place; some servers leave it out and give an id alone.
fn key(event: &Value, item: &Value) -> String {
    match event.get("output_index").and_then(Value::as_u64) {
        Some(place) => place.to_string(),
        None => match text(event, "item_id") {
            "" => text(item, "id").to_owned(),
            id => id.to_owned(),
        },
    }
}

fn usage(value: &Value) -> Option<Usage> {
    let number = |path: &str| value.pointer(path).and_then(Value::as_u64);
    Some(Usage {
        input: number("/input_tokens")?,
        cached: number("/input_tokens_details/cached_tokens").unwrap_or(0),
        output: number("/output_tokens").unwrap_or(0),
    })
}
