//! A growing answer: what every decoder gathers, and how it ends.

use model::{Delta, ModelError, Replay, ReplayBlock, Reply, StopReason, ToolCall, Usage};
use net::sse::Event;
use serde_json::{Map, Value};

use crate::arguments;
use crate::failure::{Speaker, excerpt};

/// What an answer may be at most.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Text, reasoning and arguments together, in bytes.
    pub bytes: usize,
    /// Tool calls.
    pub calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 4 << 20,
            calls: 128,
        }
    }
}

/// How far a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing of an answer has come yet.
    Waiting,
    /// It grows.
    Growing,
    /// The answer is whole; usage and the end of the stream may follow.
    Finishing,
    /// No more is needed: the end marker, or an error.
    Over,
}

/// Takes events, gives deltas, ends as a reply or an error. It does no I/O, and it doesn't matter how the events were cut.
pub trait Decode: Send {
    /// How far it is.
    fn progress(&self) -> Progress;

    /// Takes an event. After [`Progress::Over`] nothing is taken.
    fn feed(&mut self, event: &Event) -> Vec<Delta>;

    /// Takes a whole answer, from a server that does not stream.
    fn feed_whole(&mut self, body: &str) -> Vec<Delta>;

    /// The stream ended by itself (was not cut).
    ///
    /// # Errors
    /// What the provider said instead of an answer; [`ModelError::BrokeOff`] if there was no end marker.
    fn finish(self: Box<Self>) -> Result<Reply, ModelError>;
}

/// A call whose arguments may still be growing.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// What has come so far.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) speaker: Speaker,
    pub(crate) usage: Option<Usage>,
    pub(crate) stop: Option<StopReason>,
    pub(crate) progress: Progress,
    pub(crate) refused: bool,
    /// The answer's own id, for calls that have none.
    pub(crate) stream: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<Growing>,
    pub(crate) replay: Vec<ReplayBlock>,
    route: String,
    limits: Limits,
    reasoning: String,
    bytes: usize,
    error: Option<ModelError>,
}

impl Answer {
    pub(crate) fn new(speaker: Speaker, route: &str, limits: Limits) -> Self {
        Self {
            speaker,
            usage: None,
            stop: None,
            progress: Progress::Waiting,
            refused: false,
            stream: String::new(),
            text: String::new(),
            calls: Vec::new(),
            replay: Vec::new(),
            route: route.to_owned(),
            limits,
            reasoning: String::new(),
            bytes: 0,
            error: None,
        }
    }

    /// The JSON of an event; `None` where there is nothing to take.
    pub(crate) fn read(&mut self, data: &str) -> Option<Value> {
        let data = data.trim();
        if self.progress == Progress::Over || data.is_empty() || data == "[DONE]" {
            return None;
        }
        serde_json::from_str(data)
            .map_err(|_no_json| {
                let cause = format!("it sent something that is no JSON: {}", excerpt(data));
                self.fail(self.speaker.failed(cause));
            })
            .ok()
    }

    pub(crate) fn named(&mut self, id: Option<&Value>) {
        if let Some(id) = id.and_then(Value::as_str)
            && self.stream.is_empty()
        {
            self.stream = id.chars().take(64).collect();
        }
    }

    pub(crate) fn fail(&mut self, error: ModelError) {
        self.error.get_or_insert(error);
        self.progress = Progress::Over;
    }

    pub(crate) fn say(&mut self, piece: &str, deltas: &mut Vec<Delta>) {
        if self.grows(piece.len()) && !piece.is_empty() {
            self.text.push_str(piece);
            deltas.push(Delta::Text(piece.to_owned()));
        }
    }

    pub(crate) fn reason(&mut self, piece: &str, deltas: &mut Vec<Delta>) {
        if self.grows(piece.len()) && !piece.is_empty() {
            self.reasoning.push_str(piece);
            deltas.push(Delta::Reasoning(piece.to_owned()));
        }
    }

    /// A new thought begins: it does not run into the one before.
    pub(crate) fn new_thought(&mut self, deltas: &mut Vec<Delta>) {
        if !self.reasoning.is_empty() && !self.reasoning.ends_with('\n') {
            self.reason("\n\n", deltas);
        }
    }

    /// A call began; gives its place.
    pub(crate) fn call(&mut self, id: &str, name: &str, deltas: &mut Vec<Delta>) -> usize {
        let at = self.calls.len();
        if at >= self.limits.calls {
            let cause = format!("it called more than {} tools at once", self.limits.calls);
            self.fail(self.speaker.failed(cause));
        } else if self.grows(id.len() + name.len()) {
            self.calls.push(Growing {
                id: id.to_owned(),
                name: name.to_owned(),
                arguments: String::new(),
            });
            if !name.is_empty() {
                deltas.push(Delta::Tool(name.to_owned()));
            }
            self.begun();
        }
        at
    }

    /// More of a call's arguments.
    pub(crate) fn arguments(&mut self, at: usize, piece: &str) {
        if self.grows(piece.len())
            && let Some(call) = self.calls.get_mut(at)
        {
            call.arguments.push_str(piece);
        }
    }

    /// A call's whole arguments.
    pub(crate) fn whole_arguments(&mut self, at: usize, arguments: Option<&Value>) {
        let whole = match arguments {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => return,
            Some(value) => value.to_string(),
        };
        if self.grows(whole.len())
            && let Some(call) = self.calls.get_mut(at)
        {
            call.arguments = whole;
        }
    }

    /// What the route wants back: before the call that comes next, or before the words.
    pub(crate) fn replay(&mut self, data: Value) {
        let first = self.text.is_empty() && self.calls.is_empty();
        let call = (!first).then_some(self.calls.len());
        self.replay_at(call, data);
    }

    pub(crate) fn replay_at(&mut self, call: Option<usize>, data: Value) {
        if self.grows(data.to_string().len()) {
            self.replay.push(ReplayBlock { call, data });
        }
    }

    /// Counts what has come; false once there is too much.
    pub(crate) fn grows(&mut self, by: usize) -> bool {
        if self.progress == Progress::Over {
            return false;
        }
        self.bytes += by;
        if self.bytes > self.limits.bytes {
            let cause = format!(
                "its answer is longer than {} bytes and was stopped",
                self.limits.bytes
            );
            self.fail(self.speaker.failed(cause));
            return false;
        }
        if by > 0 {
            self.begun();
        }
        true
    }

    fn begun(&mut self) {
        if self.progress == Progress::Waiting {
            self.progress = Progress::Growing;
        }
    }

    /// The end marker has come.
    pub(crate) fn over(&mut self) {
        self.progress = Progress::Over;
    }

    /// The reply, if the answer was whole.
    pub(crate) fn finish(self) -> Result<Reply, ModelError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if matches!(self.progress, Progress::Waiting | Progress::Growing) {
            return Err(self
                .speaker
                .broke_off("it ended without its end marker".to_owned()));
        }
        let stop = match self.stop {
            Some(StopReason::Length) => StopReason::Length,
            Some(StopReason::Refused) => StopReason::Refused,
            _ if self.refused => StopReason::Refused,
            _ if !self.calls.is_empty() => StopReason::ToolUse,
            _ => StopReason::End,
        };
        let calls = match stop {
            StopReason::ToolUse => called(self.calls, &self.stream),
            StopReason::End | StopReason::Length | StopReason::Refused => Vec::new(),
        };
        let blocks: Vec<ReplayBlock> = self
            .replay
            .into_iter()
            .filter(|block| block.call.unwrap_or(0) < calls.len())
            .collect();
        Ok(Reply {
            text: self.text,
            reasoning: self.reasoning,
            calls,
            stop,
            usage: self.usage,
            replay: (!blocks.is_empty()).then_some(Replay {
                route: self.route,
                blocks,
            }),
        })
    }
}

fn called(growing: Vec<Growing>, stream: &str) -> Vec<ToolCall> {
    let mut calls: Vec<ToolCall> = Vec::with_capacity(growing.len());
    for (at, call) in growing.into_iter().enumerate() {
        let usable = !call.id.is_empty() && calls.iter().all(|known| known.id != call.id);
        let id = if usable { call.id } else { made_id(stream, at) };
        calls.push(ToolCall {
            id,
            name: call.name,
            arguments: arguments::read(&call.arguments),
        });
    }
    calls
}

/// An id for a call that came without one.
pub(crate) fn made_id(stream: &str, at: usize) -> String {
    let stream: String = stream
        .chars()
        .filter(|one| one.is_ascii_alphanumeric() || *one == '-')
        .take(24)
        .collect();
    format!("call_{stream}_{at}")
}

/// A field that is a text.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A field that is a list.
pub(crate) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value
        .get(field)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// An object with the given fields.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
