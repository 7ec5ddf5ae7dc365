//! What the server answers once.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::Gate;

#[derive(Debug, Clone)]
pub(super) enum Step {
    Text(String),
    Reasoning(String),
    Call(Call),
    Raw(Bytes),
    Pause(Duration),
    Wait(Gate),
    Cut,
}

/// A call, its arguments in pieces. Each protocol makes an id of its own.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// Its place among the calls of the answer.
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) pieces: [String; 2],
}

impl Call {
    /// The arguments, whole.
    pub(super) fn arguments(&self) -> String {
        self.pieces.concat()
    }

    /// The arguments for a protocol that sends them as a value; what is no JSON goes as a text.
    pub(super) fn value(&self) -> Value {
        let text = self.arguments();
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }
}

#[derive(Debug, Clone)]
pub(super) enum Answer {
    Stream(Vec<Step>),
    Status {
        code: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Done,
    WithoutDone,
    WithoutFinish,
}

/// One answer, built from its pieces in order; it is told in the protocol of the request. Unless told otherwise it ends with a finish
/// reason, usage and the protocol's last word (`[DONE]`, `message_stop`, …).
#[derive(Debug, Clone)]
pub struct Turn {
    pub(super) answer: Answer,
    pub(super) calls: usize,
    pub(super) finish: Option<String>,
    pub(super) usage: Option<(u64, u64)>,
    pub(super) ending: Ending,
}

impl Turn {
    /// An answer of nothing, to be added to.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            answer: Answer::Stream(Vec::new()),
            calls: 0,
            finish: None,
            usage: Some((100, 10)),
            ending: Ending::Done,
        }
    }

    /// Words, in one piece.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::empty().then_text(text)
    }

    /// Words, piece by piece.
    #[must_use]
    pub fn deltas<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        pieces.into_iter().fold(Self::empty(), Self::then_text)
    }

    /// One tool call.
    #[must_use]
    pub fn tool(name: &str, arguments: Value) -> Self {
        Self::empty().then_tool(name, arguments)
    }

    /// A status with a body, and headers such as `("retry-after", "1")`.
    #[must_use]
    pub fn status(code: u16, body: &str, headers: &[(&str, &str)]) -> Self {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Self {
            answer: Answer::Status {
                code,
                headers,
                body: body.to_owned(),
            },
            ..Self::empty()
        }
    }

    /// Exactly these bytes as the stream, and nothing else.
    #[must_use]
    pub fn raw_stream(bytes: impl Into<Bytes>) -> Self {
        let mut turn = Self::empty().then_raw(bytes);
        turn.ending = Ending::WithoutFinish;
        turn
    }

    /// Then these words.
    #[must_use]
    pub fn then_text(self, text: &str) -> Self {
        self.step(Step::Text(text.to_owned()))
    }

    /// Then this reasoning; where the protocol has a signature for it, signed.
    #[must_use]
    pub fn then_reasoning(self, text: &str) -> Self {
        self.step(Step::Reasoning(text.to_owned()))
    }

    /// Then a tool call, its arguments cut into two pieces where the protocol has pieces of them.
    #[must_use]
    pub fn then_tool(self, name: &str, arguments: Value) -> Self {
        self.then_tool_raw(name, &arguments.to_string())
    }

    /// Then a tool call with arguments exactly as written, be they JSON or not.
    #[must_use]
    pub fn then_tool_raw(mut self, name: &str, arguments: &str) -> Self {
        let index = self.calls;
        self.calls += 1;
        let half = arguments.chars().count() / 2;
        let first: String = arguments.chars().take(half).collect();
        let second: String = arguments.chars().skip(half).collect();
        self.step(Step::Call(Call {
            index,
            name: name.to_owned(),
            pieces: [first, second],
        }))
    }

    /// Then these bytes, as they are.
    #[must_use]
    pub fn then_raw(self, bytes: impl Into<Bytes>) -> Self {
        self.step(Step::Raw(bytes.into()))
    }

    /// Then silence for a while.
    #[must_use]
    pub fn then_pause(self, pause: Duration) -> Self {
        self.step(Step::Pause(pause))
    }

    /// Then silence until the gate is opened.
    #[must_use]
    pub fn pause_until(self, gate: &Gate) -> Self {
        self.step(Step::Wait(gate.clone()))
    }

    /// Then the connection breaks.
    #[must_use]
    pub fn cut(self) -> Self {
        self.step(Step::Cut)
    }

    /// Ends without the last word: `[DONE]` or `message_stop`. Responses and Ollama's chat say their reason in the last word, so both are
    /// missing; Gemini has no last word.
    #[must_use]
    pub fn without_done(mut self) -> Self {
        self.ending = Ending::WithoutDone;
        self
    }

    /// Ends without a finish reason, without usage at the end and without the last word.
    #[must_use]
    pub fn without_finish(mut self) -> Self {
        self.ending = Ending::WithoutFinish;
        self
    }

    /// Its finish reason, instead of `stop` or `tool_calls`. Those of chat completions (`length`, `content_filter`) become the protocol's
    /// own; any other word goes out as it is.
    #[must_use]
    pub fn finish(mut self, reason: &str) -> Self {
        self.finish = Some(reason.to_owned());
        self
    }

    /// What it says it used, instead of 100 and 10.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some((input, output));
        self
    }

    /// Says nothing of usage.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.usage = None;
        self
    }

    fn step(mut self, step: Step) -> Self {
        match &mut self.answer {
            Answer::Stream(steps) => steps.push(step),
            // A status with pieces is a script that contradicts itself; the test would wait for what never comes.
            Answer::Status { body, .. } => body.push_str(" (the script added a piece to a status)"),
        }
        self
    }

    pub(super) fn finish_reason(&self) -> String {
        let usual = if self.calls > 0 { "tool_calls" } else { "stop" };
        self.finish.clone().unwrap_or_else(|| usual.to_owned())
    }
}
