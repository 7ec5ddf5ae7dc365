//! The life of a turn.

use model::{Message, Usage};
use outbox::{Attachment, NewMessage};
use serde::{Deserialize, Serialize};
use waybill::{Timestamp, TurnScope};

use crate::{Heard, InboxId};

/// A turn that was taken up at least so often was running in a database that was put back from a copy: it may have gone on
/// since, with whatever its tools did, so it is not taken up but ended with a sentence. In the same way an event's version says
/// that it waited in such a database: it may have been answered since.
pub const DOUBTED: u32 = 1_000_000;

/// A file that was asked for and not captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotAttached {
    /// The model call after which it was asked for, from 1.
    pub step: u32,
    /// The name to show.
    pub name: String,
    /// Why, for the person.
    pub reason: String,
    /// What helps the model.
    pub hint: Option<String>,
    /// Whether the model was told.
    pub told: bool,
}

/// What a running turn has promised so far. Stored with each step, so that a turn that is taken up again keeps it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Promised {
    /// The answer that is kept while the model corrects its files; none before it answered.
    pub answer: Option<String>,
    /// The last words that came beside a tool call.
    pub beside: String,
    /// Files that were captured.
    pub attachments: Vec<Attachment>,
    /// Files that were not.
    pub refused: Vec<NotAttached>,
    /// Lines that the person must read.
    pub notes: Vec<String>,
    /// Tokens used.
    pub usage: Usage,
}

/// How a turn ended. Closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum TurnEnd {
    /// With an answer.
    Answered,
    /// The person stopped it.
    Interrupted,
    /// It reached its limit of steps.
    StepsExhausted,
    /// It failed.
    Failed {
        /// Why, as the person was told.
        reason: String,
    },
}

impl TurnEnd {
    /// The end's name in listings and metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Interrupted => "interrupted",
            Self::StepsExhausted => "steps_exhausted",
            Self::Failed { .. } => "failed",
        }
    }
}

/// What is written, in one transaction, before a turn's first model call.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnStart {
    /// Who, where, what for.
    pub scope: TurnScope,
    /// The events that it answers, as it read them.
    pub inbox: Vec<Heard>,
    /// The person's message, as the model will see it.
    pub message: Message,
    /// What is promised before the model said a word: lines about files that did not reach it.
    pub promised: Promised,
    /// When.
    pub at: Timestamp,
}

/// What is written, in one transaction, when a turn ends: the transcript's end, the outgoing messages with their parts, the
/// usage, and the events that are done.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnCommit {
    /// Whose turn.
    pub scope: TurnScope,
    /// How it ended.
    pub end: TurnEnd,
    /// The last messages of the transcript that are not there yet.
    pub transcript: Vec<Message>,
    /// What people will see.
    pub outgoing: Vec<NewMessage>,
    /// Tokens used in the whole turn.
    pub usage: Usage,
    /// When.
    pub at: Timestamp,
}

/// A turn found running when the gateway started: it was cut off.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRecord {
    /// Who, where, what for.
    pub scope: TurnScope,
    /// The events that it answers.
    pub inbox: Vec<InboxId>,
    /// The platform message that its answer is anchored to, as the first event says.
    pub inbound: Option<chat::Inbound>,
    /// What it had promised.
    pub promised: Promised,
    /// How often it was taken up again already.
    pub resumed: u32,
    /// When it began.
    pub started_at: Timestamp,
}
