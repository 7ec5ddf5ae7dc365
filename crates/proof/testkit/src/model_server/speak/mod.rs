//! A turn, told in the protocol in which it was asked for.
//!
//! Each protocol is a [`Voice`] for streams, and a `whole` for answers in one piece.

mod chat;
mod gemini;
mod messages;
mod ollama;
mod responses;

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::turn::{Call, Ending, Step};
use super::{Gate, Wire};

pub(super) use gemini::signature;
pub(super) use responses::sealed;

/// What an answer belongs to.
pub(super) struct Frame {
    /// Which answer of the server it is: the source of ids.
    pub(super) number: usize,
    pub(super) model: String,
    pub(super) request: Value,
}

/// How an answer ends.
pub(super) struct End {
    /// In the words of chat completions.
    pub(super) finish: String,
    /// Tokens in and out.
    pub(super) usage: Option<(u64, u64)>,
    pub(super) ending: Ending,
}

/// An answer without its pieces.
#[derive(Default)]
pub(super) struct Spoken {
    text: String,
    reasoning: String,
    calls: Vec<Call>,
}

impl Spoken {
    pub(super) fn of(steps: &[Step]) -> Self {
        let mut spoken = Self::default();
        for step in steps {
            match step {
                Step::Text(text) => spoken.text.push_str(text),
                Step::Reasoning(text) => spoken.reasoning.push_str(text),
                Step::Call(call) => spoken.calls.push(call.clone()),
                Step::Raw(_) | Step::Pause(_) | Step::Wait(_) | Step::Cut => {}
            }
        }
        spoken
    }
}

/// What is put on the wire.
pub(super) enum Piece {
    Raw(Bytes),
    Pause(Duration),
    Wait(Gate),
    Cut,
}

/// A protocol's stream; each text that it gives is written by itself.
trait Voice {
    /// Before anything else.
    fn begin(&mut self, end: &End) -> Vec<String>;
    fn text(&mut self, words: &str) -> Vec<String>;
    fn reasoning(&mut self, thought: &str) -> Vec<String>;
    fn call(&mut self, call: &Call) -> Vec<String>;
    /// As the script wants it; nothing if the stream stops in its midst.
    fn end(&mut self, end: &End) -> Vec<String>;
}

pub(super) fn stream(wire: Wire, steps: Vec<Step>, end: &End, frame: Frame) -> VecDeque<Piece> {
    let mut voice: Box<dyn Voice> = match wire {
        Wire::Chat => Box::new(chat::Chat::new(frame)),
        Wire::Responses => Box::new(responses::Responses::new(frame)),
        Wire::Messages => Box::new(messages::Messages::new(frame)),
        Wire::Ollama => Box::new(ollama::Ollama::new(frame)),
        Wire::Gemini => Box::new(gemini::Gemini::new(frame)),
    };
    let mut pieces = VecDeque::new();
    // A script of bytes alone is those bytes alone.
    let mut begun = false;
    let mut begin = |voice: &mut dyn Voice, pieces: &mut VecDeque<Piece>| {
        if !std::mem::replace(&mut begun, true) {
            pieces.extend(voice.begin(end).into_iter().map(raw));
        }
    };
    for step in steps {
        let said = match step {
            Step::Text(text) => {
                begin(&mut *voice, &mut pieces);
                voice.text(&text)
            }
            Step::Reasoning(text) => {
                begin(&mut *voice, &mut pieces);
                voice.reasoning(&text)
            }
            Step::Call(call) => {
                begin(&mut *voice, &mut pieces);
                voice.call(&call)
            }
            Step::Raw(bytes) => {
                pieces.push_back(Piece::Raw(bytes));
                continue;
            }
            Step::Pause(pause) => {
                pieces.push_back(Piece::Pause(pause));
                continue;
            }
            Step::Wait(gate) => {
                pieces.push_back(Piece::Wait(gate));
                continue;
            }
            Step::Cut => {
                pieces.push_back(Piece::Cut);
                continue;
            }
        };
        pieces.extend(said.into_iter().map(raw));
    }
    if end.ending != Ending::WithoutFinish {
        begin(&mut *voice, &mut pieces);
        pieces.extend(voice.end(end).into_iter().map(raw));
    }
    pieces
}

fn raw(text: String) -> Piece {
    Piece::Raw(Bytes::from(text))
}

pub(super) fn whole(wire: Wire, spoken: &Spoken, end: &End, frame: &Frame) -> Value {
    match wire {
        Wire::Chat => chat::whole(spoken, end, frame),
        Wire::Responses => responses::whole(spoken, end, frame),
        Wire::Messages => messages::whole(spoken, end, frame),
        Wire::Ollama => ollama::whole(spoken, end, frame),
        Wire::Gemini => gemini::whole(spoken, end, frame),
    }
}

/// An event of a stream: its data alone.
fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event of a stream with a name, which is its type as well.
fn event(value: &Value) -> String {
    let name = value.get("type").and_then(Value::as_str);
    format!("event: {}\ndata: {value}\n\n", name.unwrap_or_default())
}

/// How every seal begins. With it a seal is base64, as some clients insist.
const SEAL: &str = "c2VhbGVk";

/// What the server wants back as it was: nobody else can make it.
pub(super) fn seal(of: &str) -> String {
    format!("{SEAL}{}", blake3::hash(of.as_bytes()).to_hex())
}
