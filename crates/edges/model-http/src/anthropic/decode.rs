//! A stream of message events, put together into a reply.

use std::collections::BTreeMap;

use model::{Delta, ModelError, Reply, StopReason, Usage};
use net::sse::Event;
use serde_json::{Value, json};

use crate::answer::{Answer, Decode, Limits, Progress, list, text};
use crate::failure::Speaker;

/// One block of content, while it grows.
#[derive(Debug)]
enum Block {
    Text,
    /// A thought, and what the provider wants back of it.
    Thinking {
        thought: String,
        signature: String,
    },
    /// A call, by its place among the calls.
    Call(usize),
    /// A kind that we don't know, or one that is whole already.
    Other,
}

/// Takes events, gives deltas, ends as a reply or an error.
#[derive(Debug)]
pub struct Decoder {
    answer: Answer,
    blocks: BTreeMap<u64, Block>,
    tokens: Tokens,
}

/// The provider counts fresh, written and read tokens apart, and repeats only some of the counts at the end.
#[derive(Debug, Default)]
struct Tokens {
    fresh: u64,
    written: u64,
    read: u64,
    output: u64,
    told: bool,
}

impl Tokens {
    fn add(&mut self, usage: &Value) {
        let mut newer = |field: &str, known: &mut u64| {
            if let Some(count) = usage.get(field).and_then(Value::as_u64) {
                self.told = true;
                if count > 0 {
                    *known = count;
                }
            }
        };
        newer("input_tokens", &mut self.fresh);
        newer("cache_creation_input_tokens", &mut self.written);
        newer("cache_read_input_tokens", &mut self.read);
        newer("output_tokens", &mut self.output);
    }

    fn usage(&self) -> Option<Usage> {
        self.told.then(|| Usage {
            input: self
                .fresh
                .saturating_add(self.written)
                .saturating_add(self.read),
            cached: self.read,
            output: self.output,
        })
    }
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
            blocks: BTreeMap::new(),
            tokens: Tokens::default(),
        }
    }

    fn event(&mut self, event: &Value, kind: &str, deltas: &mut Vec<Delta>) {
        match kind {
            "message_start" => {
                let message = event.get("message").unwrap_or(&Value::Null);
                self.answer.named(message.get("id"));
                self.tokens
                    .add(message.get("usage").unwrap_or(&Value::Null));
            }
            "content_block_start" => {
                let block = event.get("content_block").unwrap_or(&Value::Null);
                self.begin(index(event), block, deltas);
            }
            "content_block_delta" => {
                let delta = event.get("delta").unwrap_or(&Value::Null);
                self.delta(index(event), delta, deltas);
            }
            "content_block_stop" => self.end(index(event)),
            "message_delta" => {
                self.tokens.add(event.get("usage").unwrap_or(&Value::Null));
                self.stop(event.get("delta").unwrap_or(&Value::Null));
            }
            "message_stop" => self.over(),
            "message" => self.whole(event, deltas),
            "error" => {
                let error = event.get("error").unwrap_or(event);
                self.answer.fail(self.answer.speaker.mid_stream(error));
            }
            // `ping`, and kinds that came later than we did.
            _ => {}
        }
    }

    fn begin(&mut self, index: u64, block: &Value, deltas: &mut Vec<Delta>) {
        self.end(index);
        let begun = match text(block, "type") {
            "text" => {
                self.answer.say(text(block, "text"), deltas);
                Block::Text
            }
            "thinking" => {
                self.answer.new_thought(deltas);
                self.answer.reason(text(block, "thinking"), deltas);
                Block::Thinking {
                    thought: text(block, "thinking").to_owned(),
                    signature: text(block, "signature").to_owned(),
                }
            }
            "redacted_thinking" => {
                let data = text(block, "data");
                self.answer
                    .replay(json!({ "type": "redacted_thinking", "data": data }));
                Block::Other
            }
            "tool_use" => {
                let at = self
                    .answer
                    .call(text(block, "id"), text(block, "name"), deltas);
                // By the book it is empty here; look-alikes send the whole.
                let input = block
                    .get("input")
                    .filter(|input| input.as_object().is_none_or(|fields| !fields.is_empty()));
                self.answer.whole_arguments(at, input);
                Block::Call(at)
            }
            _ => Block::Other,
        };
        self.blocks.insert(index, begun);
    }

    fn delta(&mut self, index: u64, delta: &Value, deltas: &mut Vec<Delta>) {
        let kind = text(delta, "type");
        if !self.blocks.contains_key(&index) {
            // The beginning was left out: what it was shows in its pieces. A call without a name can't be run.
            let kind = match kind {
                "thinking_delta" | "signature_delta" => "thinking",
                "text_delta" => "text",
                _ => "",
            };
            self.begin(index, &json!({ "type": kind }), deltas);
        }
        match (self.blocks.get_mut(&index), kind) {
            (Some(Block::Text), "text_delta") => self.answer.say(text(delta, "text"), deltas),
            (Some(Block::Call(at)), "input_json_delta") => {
                self.answer.arguments(*at, text(delta, "partial_json"));
            }
            (Some(Block::Thinking { thought, .. }), "thinking_delta") => {
                thought.push_str(text(delta, "thinking"));
                self.answer.reason(text(delta, "thinking"), deltas);
            }
            (Some(Block::Thinking { signature, .. }), "signature_delta") => {
                signature.push_str(text(delta, "signature"));
            }
            _ => {}
        }
    }

    fn end(&mut self, index: u64) {
        // Without its signature a thought is refused, so it is not kept.
        if let Some(Block::Thinking { thought, signature }) = self.blocks.remove(&index)
            && !signature.is_empty()
        {
            self.answer
                .replay(json!({ "type": "thinking", "thinking": thought, "signature": signature }));
        }
    }

    fn stop(&mut self, delta: &Value) {
        self.answer.stop = match text(delta, "stop_reason") {
            "" => return,
            "max_tokens" | "model_context_window_exceeded" => Some(StopReason::Length),
            "refusal" => Some(StopReason::Refused),
            "tool_use" => Some(StopReason::ToolUse),
            _ => Some(StopReason::End),
        };
    }

    fn over(&mut self) {
        if self.answer.progress != Progress::Over {
            let open: Vec<u64> = self.blocks.keys().copied().collect();
            open.into_iter().for_each(|index| self.end(index));
            self.answer.over();
        }
    }

    /// An answer that was not streamed: the same blocks, whole.
    fn whole(&mut self, message: &Value, deltas: &mut Vec<Delta>) {
        self.answer.named(message.get("id"));
        self.tokens
            .add(message.get("usage").unwrap_or(&Value::Null));
        for (index, block) in (0..).zip(list(message, "content")) {
            self.begin(index, block, deltas);
            self.end(index);
        }
        self.stop(message);
        if self.answer.stop.is_some() {
            self.over();
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
        self.feed(&Event {
            data: body.to_owned(),
            ..Event::default()
        })
    }

    fn finish(mut self: Box<Self>) -> Result<Reply, ModelError> {
        self.answer.usage = self.tokens.usage();
        self.answer.finish()
    }
}

fn index(event: &Value) -> u64 {
    event.get("index").and_then(Value::as_u64).unwrap_or(0)
}
