//! The life of a turn.

use model::{Message, Usage};
use outbox::NewMessage;
use serde::{Deserialize, Serialize};
use waybill::{Timestamp, TurnScope};

use crate::InboxId;

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
    /// The events that it answers.
    pub inbox: Vec<InboxId>,
    /// The person's message, as the model will see it.
    pub message: Message,
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
    /// How often it was taken up again already.
    pub resumed: u32,
    /// When it began.
    pub started_at: Timestamp,
}
