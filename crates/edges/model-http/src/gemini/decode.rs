//! A stream of responses, each with parts of one content, put together into a reply.

use model::{Delta, ModelError, Reply, StopReason, Usage};
use net::sse::Event;
use serde_json::{Value, json};

use crate::answer::{Answer, Decode, Limits, Progress, list, text};
use crate::failure::Speaker;

/// Takes events, gives deltas, ends as a reply or an error.
#[derive(Debug)]
pub struct Decoder {
    answer: Answer,
}

/// What a reason to finish means.
enum Finish {
    Fine(StopReason),
    /// The model wrote nonsense; asked again, it may do better.
    Spoilt,
    /// The provider doesn't say.
    Unsaid,
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

    fn response(&mut self, response: &Value, deltas: &mut Vec<Delta>) {
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            self.answer.fail(self.answer.speaker.mid_stream(error));
            return;
        }
        self.answer.named(response.get("responseId"));
        if let Some(usage) = response.get("usageMetadata").and_then(usage) {
            self.answer.usage = Some(usage);
        }
        let blocked = response.pointer("/promptFeedback/blockReason");
        if blocked.is_some_and(|reason| {
            !matches!(
                reason.as_str(),
                None | Some("" | "BLOCK_REASON_UNSPECIFIED")
            )
        }) {
            self.answer.stop = Some(StopReason::Refused);
            self.answer.over();
            return;
        }
        let first = list(response, "candidates")
            .iter()
            .find(|one| one.get("index").and_then(Value::as_u64).unwrap_or(0) == 0);
        if let Some(candidate) = first {
            let content = candidate.get("content").unwrap_or(&Value::Null);
            for part in list(content, "parts") {
                self.part(part, deltas);
            }
            self.finished(candidate);
        }
    }

    fn part(&mut self, part: &Value, deltas: &mut Vec<Delta>) {
        if let Some(call) = part.get("functionCall").filter(|call| call.is_object()) {
            self.call(call, text(part, "thoughtSignature"), deltas);
        } else if part.get("thought").and_then(Value::as_bool) == Some(true) {
            self.answer.reason(text(part, "text"), deltas);
        } else {
            self.answer.say(text(part, "text"), deltas);
        }
    }

    /// A call comes whole, and with what newer models want back beside it.
    fn call(&mut self, call: &Value, signature: &str, deltas: &mut Vec<Delta>) {
        let id = text(call, "id");
        let at = self.answer.call(id, text(call, "name"), deltas);
        self.answer.whole_arguments(at, call.get("args"));
        let mut wanted = json!({});
        if let Some(fields) = wanted.as_object_mut() {
            for (name, value) in [("id", id), ("thoughtSignature", signature)] {
                if !value.is_empty() {
                    fields.insert(name.to_owned(), value.into());
                }
            }
            if fields.is_empty() {
                return;
            }
        }
        self.answer.replay_at(Some(at), wanted);
    }

    fn finished(&mut self, candidate: &Value) {
        let reason = text(candidate, "finishReason");
        if self.answer.progress == Progress::Over
            || matches!(reason, "" | "FINISH_REASON_UNSPECIFIED")
        {
            return;
        }
        let silent = self.answer.text.is_empty() && self.answer.calls.is_empty();
        match meaning(reason) {
            Finish::Fine(stop) => self.answer.stop = Some(stop),
            Finish::Unsaid if !silent => self.answer.stop = Some(StopReason::End),
            Finish::Spoilt | Finish::Unsaid => {
                let why = text(candidate, "finishMessage");
                let cause = format!("it stopped with {reason} {why}");
                self.answer.fail(self.answer.speaker.failed(cause));
                return;
            }
        }
        // Some models give a reason with every piece, so more may follow.
        self.answer.progress = Progress::Finishing;
    }
}

fn meaning(reason: &str) -> Finish {
    match reason {
        "STOP" => Finish::Fine(StopReason::End),
        "MAX_TOKENS" => Finish::Fine(StopReason::Length),
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Finish::Fine(StopReason::Refused),
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE"
        | "MALFORMED_RESPONSE" => Finish::Spoilt,
        _ => Finish::Unsaid,
    }
}

impl Decode for Decoder {
    fn progress(&self) -> Progress {
        self.answer.progress
    }

    fn feed(&mut self, event: &Event) -> Vec<Delta> {
        let mut deltas = Vec::new();
        if let Some(value) = self.answer.read(&event.data) {
            // Without `alt=sse` the whole answer is a list of the same responses; an error comes in a list as well.
            if let Some(all) = value.as_array() {
                all.iter().for_each(|one| self.response(one, &mut deltas));
            } else {
                self.response(&value, &mut deltas);
            }
        }
        deltas
    }

    fn feed_whole(&mut self, body: &str) -> Vec<Delta> {
        self.feed(&Event {
            data: body.to_owned(),
            ..Event::default()
        })
    }

    fn finish(self: Box<Self>) -> Result<Reply, ModelError> {
        self.answer.finish()
    }
}

fn usage(value: &Value) -> Option<Usage> {
    let number = |field: &str| value.get(field).and_then(Value::as_u64);
    let also = |field: &str| number(field).unwrap_or(0);
    Some(Usage {
        input: number("promptTokenCount")?.saturating_add(also("toolUsePromptTokenCount")),
        cached: also("cachedContentTokenCount"),
        output: also("candidatesTokenCount").saturating_add(also("thoughtsTokenCount")),
    })
}
