//! A stream of lines, put together into a reply.

use model::{Delta, ModelError, Reply, StopReason, Usage};
use net::sse::Event;
use serde_json::Value;

use crate::answer::{Answer, Decode, Limits, Progress, list, text};
use crate::failure::Speaker;

/// Takes events (one for each line), gives deltas, ends as a reply or an error.
#[derive(Debug)]
pub struct Decoder {
    answer: Answer,
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
        }
    }

    fn line(&mut self, line: &Value, deltas: &mut Vec<Delta>) {
        if let Some(error) = line.get("error").filter(|error| !error.is_null()) {
            self.answer.fail(self.answer.speaker.mid_stream(error));
            return;
        }
        // There is no id, but calls need ids that differ from those of the answer before.
        self.answer.named(line.get("created_at"));
        if let Some(message) = line.get("message") {
            self.answer.reason(text(message, "thinking"), deltas);
            self.answer.say(text(message, "content"), deltas);
            for call in list(message, "tool_calls") {
                self.call(call, deltas);
            }
        }
        if line.get("done").and_then(Value::as_bool) == Some(true) {
            self.done(line);
        }
    }

    /// A call comes whole.
    fn call(&mut self, call: &Value, deltas: &mut Vec<Delta>) {
        let function = call.get("function").unwrap_or(call);
        let at = self
            .answer
            .call(text(call, "id"), text(function, "name"), deltas);
        self.answer.whole_arguments(at, function.get("arguments"));
    }

    fn done(&mut self, line: &Value) {
        if self.answer.progress == Progress::Over {
            return;
        }
        let count = |field: &str| line.get(field).and_then(Value::as_u64);
        // A prompt that is held in memory still may be left out of the count.
        if let (Some(output), input) = (count("eval_count"), count("prompt_eval_count")) {
            self.answer.usage = Some(Usage {
                input: input.unwrap_or(0),
                cached: 0,
                output,
            });
        }
        match text(line, "done_reason") {
            "length" => self.answer.stop = Some(StopReason::Length),
            // The model was put into memory or taken out of it; nobody answered.
            reason @ ("load" | "unload") => {
                let cause = format!("it only did this with the model: {reason}");
                self.answer.fail(self.answer.speaker.failed(cause));
            }
            _ => {}
        }
        self.answer.over();
    }
}

impl Decode for Decoder {
    fn progress(&self) -> Progress {
        self.answer.progress
    }

    fn feed(&mut self, event: &Event) -> Vec<Delta> {
        let mut deltas = Vec::new();
        if let Some(line) = self.answer.read(&event.data) {
            self.line(&line, &mut deltas);
        }
        deltas
    }

    fn feed_whole(&mut self, body: &str) -> Vec<Delta> {
        // Some proxies call a stream of lines `application/json`.
        let one = serde_json::from_str::<Value>(body).is_ok();
        let lines = if one {
            vec![body]
        } else {
            body.lines().collect()
        };
        let events = lines.into_iter().map(|line| Event {
            data: line.to_owned(),
            ..Event::default()
        });
        events.flat_map(|event| self.feed(&event)).collect()
    }

    fn finish(self: Box<Self>) -> Result<Reply, ModelError> {
        self.answer.finish()
    }
}
