//! A stream of chunks, put together into a reply.

use model::{Delta, ModelError, Replay, ReplayBlock, Reply, StopReason, Usage};
use net::sse::Event;
use serde_json::{Value, json};

use super::calls::{Added, Calls};
use super::messages::REASONING;
use crate::answer::{Decode, Limits, Progress, text};
use crate::failure::{Speaker, excerpt};

/// Takes events, gives deltas, ends as a reply or an error.
#[derive(Debug)]
pub struct Decoder {
    speaker: Speaker,
    route: String,
    limits: Limits,
    stream: String,
    text: String,
    reasoning: String,
    wanted_back: String,
    refused: bool,
    calls: Calls,
    usage: Option<Usage>,
    finish: Option<String>,
    progress: Progress,
    bytes: usize,
    error: Option<ModelError>,
}

impl Decoder {
    /// A decoder for `PROVIDER/MODEL`.
    #[must_use]
    pub fn new(route: &str, limits: Limits) -> Self {
        Self::of(Speaker::of_route(route), route, limits)
    }

    pub(crate) fn of(speaker: Speaker, route: &str, limits: Limits) -> Self {
        Self {
            speaker,
            route: route.to_owned(),
            limits,
            stream: String::new(),
            text: String::new(),
            reasoning: String::new(),
            wanted_back: String::new(),
            refused: false,
            calls: Calls::default(),
            usage: None,
            finish: None,
            progress: Progress::Waiting,
            bytes: 0,
            error: None,
        }
    }

    fn fail(&mut self, error: ModelError) {
        self.error.get_or_insert(error);
        self.progress = Progress::Over;
    }

    fn chunk(&mut self, chunk: &Value) -> Vec<Delta> {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            self.fail(self.speaker.mid_stream(error));
            return Vec::new();
        }
        if let Some(id) = chunk.get("id").and_then(Value::as_str)
            && self.stream.is_empty()
        {
            self.stream = id.chars().take(64).collect();
        }
        if let Some(usage) = chunk.get("usage").and_then(usage) {
            self.usage = Some(usage);
        }
        let mut deltas = Vec::new();
        let choices = chunk.get("choices").and_then(Value::as_array);
        let first = choices.and_then(|all| {
            all.iter()
                .find(|one| one.get("index").and_then(Value::as_u64).unwrap_or(0) == 0)
        });
        if let Some(choice) = first {
            self.choice(choice, &mut deltas);
        }
        if self.bytes > self.limits.bytes {
            self.fail(self.speaker.failed(format!(
                "its answer is longer than {} bytes and was stopped",
                self.limits.bytes
            )));
        } else if self.calls.len() > self.limits.calls {
            self.fail(self.speaker.failed(format!(
                "it called more than {} tools at once",
                self.limits.calls
            )));
        }
        deltas
    }

    fn choice(&mut self, choice: &Value, deltas: &mut Vec<Delta>) {
        let delta = ["delta", "message"]
            .iter()
            .find_map(|field| choice.get(*field).filter(|value| value.is_object()));
        if let Some(delta) = delta {
            self.delta(delta, deltas);
            // A first chunk with the role alone says only that the request was taken.
            if self.progress == Progress::Waiting && (self.bytes > 0 || self.calls.len() > 0) {
                self.progress = Progress::Growing;
            }
        }
        let reason = choice
            .get("finish_reason")
            .and_then(Value::as_str)
            .filter(|reason| !reason.is_empty());
        match reason {
            None => {}
            Some("error") => {
                let said = choice.get("error").map_or_else(
                    || self.speaker.failed("it stopped with an error".to_owned()),
                    |error| self.speaker.mid_stream(error),
                );
                self.fail(said);
            }
            Some("abort") => self.fail(self.speaker.broke_off("the server aborted it".to_owned())),
            Some(reason) => {
                self.finish = Some(reason.to_owned());
                if self.progress != Progress::Over {
                    self.progress = Progress::Finishing;
                }
            }
        }
    }

    fn delta(&mut self, delta: &Value, deltas: &mut Vec<Delta>) {
        // Some servers say the same reasoning in both fields.
        self.wanted_back.push_str(text(delta, REASONING));
        let reasoning = [REASONING, "reasoning"]
            .iter()
            .find_map(|field| delta.get(*field)?.as_str().filter(|text| !text.is_empty()));
        if let Some(piece) = reasoning {
            self.reason(piece, deltas);
        }
        match delta.get("content") {
            Some(Value::String(piece)) => self.say(piece, deltas),
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.part(part, deltas);
                }
            }
            _ => {}
        }
        if let Some(piece) = delta
            .get("refusal")
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
        {
            self.refused = true;
            self.say(piece, deltas);
        }
        for fragment in delta
            .get("tool_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if let Some(arguments) = fragment.pointer("/function/arguments") {
                self.bytes += arguments
                    .as_str()
                    .map_or_else(|| arguments.to_string().len(), str::len);
            }
            if let Added::Began(name) = self.calls.add(fragment) {
                deltas.push(Delta::Tool(name));
            }
            if self.calls.len() > self.limits.calls {
                break;
            }
        }
    }

    /// Content in parts: `{"type":"text"}`, and `{"type":"thinking"}` with parts of its own.
    fn part(&mut self, part: &Value, deltas: &mut Vec<Delta>) {
        if let Some(piece) = part.get("text").and_then(Value::as_str) {
            self.say(piece, deltas);
        }
        match part.get("thinking") {
            Some(Value::String(piece)) => self.reason(piece, deltas),
            Some(Value::Array(inner)) => {
                for piece in inner
                    .iter()
                    .filter_map(|one| one.get("text").and_then(Value::as_str))
                {
                    self.reason(piece, deltas);
                }
            }
            _ => {}
        }
    }

    fn say(&mut self, piece: &str, deltas: &mut Vec<Delta>) {
        self.bytes += piece.len();
        if !piece.is_empty() {
            self.text.push_str(piece);
            deltas.push(Delta::Text(piece.to_owned()));
        }
    }

    fn reason(&mut self, piece: &str, deltas: &mut Vec<Delta>) {
        self.bytes += piece.len();
        if !piece.is_empty() {
            self.reasoning.push_str(piece);
            deltas.push(Delta::Reasoning(piece.to_owned()));
        }
    }
}

impl Decode for Decoder {
    fn progress(&self) -> Progress {
        self.progress
    }

    fn feed(&mut self, event: &Event) -> Vec<Delta> {
        let data = event.data.trim();
        if self.progress == Progress::Over || data.is_empty() {
            return Vec::new();
        }
        if data == "[DONE]" {
            self.progress = Progress::Over;
            return Vec::new();
        }
        match serde_json::from_str::<Value>(data) {
            Ok(chunk) if event.kind == "error" && chunk.get("error").is_none() => {
                self.fail(self.speaker.mid_stream(&chunk));
                Vec::new()
            }
            Ok(chunk) => self.chunk(&chunk),
            Err(_) => {
                let cause = format!("it sent something that is no JSON: {}", excerpt(data));
                self.fail(self.speaker.failed(cause));
                Vec::new()
            }
        }
    }

    fn feed_whole(&mut self, body: &str) -> Vec<Delta> {
        let deltas = self.feed(&Event {
            data: body.to_owned(),
            ..Event::default()
        });
        if self.progress != Progress::Waiting {
            self.progress = Progress::Over;
        }
        deltas
    }

    fn finish(self: Box<Self>) -> Result<Reply, ModelError> {
        let whole = *self;
        if let Some(error) = whole.error {
            return Err(error);
        }
        if whole.progress != Progress::Over && whole.finish.is_none() {
            return Err(whole
                .speaker
                .broke_off("it ended without its end marker".to_owned()));
        }
        let wants_tools = whole.calls.len() > 0;
        let stop = match whole.finish.as_deref().unwrap_or_default() {
            "length" | "max_tokens" | "model_length" | "max_output_tokens" => StopReason::Length,
            "content_filter" | "refusal" | "safety" | "SAFETY" => StopReason::Refused,
            _ if whole.refused => StopReason::Refused,
            _ if wants_tools => StopReason::ToolUse,
            _ => StopReason::End,
        };
        let calls = match stop {
            StopReason::ToolUse => whole.calls.finish(&whole.stream),
            StopReason::End | StopReason::Length | StopReason::Refused => Vec::new(),
        };
        let (route, wanted_back) = (whole.route, whole.wanted_back);
        let replay = (!calls.is_empty() && !wanted_back.is_empty()).then(|| Replay {
            route,
            blocks: vec![ReplayBlock {
                call: None,
                data: json!({ REASONING: wanted_back }),
            }],
        });
        Ok(Reply {
            text: whole.text,
            reasoning: whole.reasoning,
            calls,
            stop,
            usage: whole.usage,
            replay,
        })
    }
}

fn usage(value: &Value) -> Option<Usage> {
    let number = |path: &str| value.pointer(path).and_then(Value::as_u64);
    let cached = number("/prompt_tokens_details/cached_tokens")
        .or_else(|| number("/prompt_cache_hit_tokens"))
        .or_else(|| number("/cached_tokens"));
    Some(Usage {
        input: number("/prompt_tokens")?,
        cached: cached.unwrap_or(0),
        output: number("/completion_tokens").unwrap_or(0),
    })
}
