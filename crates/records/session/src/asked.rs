//! What people say to a question that a running turn has asked.

use chat::Sender;
use waybill::{ChatKey, Timestamp};

/// How long a yes holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lasting {
    /// For the one call that was asked about.
    Once,
    /// For the same tool with the same target, in the same conversation, for the same people.
    Conversation,
}

/// What somebody said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// They tapped an answer.
    Tap {
        /// As it came back; anybody may have made it up.
        token: String,
    },
    /// They wrote yes.
    Approve {
        /// To which question; none: to the only one.
        id: Option<String>,
        /// For how long.
        lasting: Lasting,
    },
    /// They wrote no.
    Deny {
        /// To which question; none: to the only one.
        id: Option<String>,
        /// Why, for the agent.
        reason: Option<String>,
    },
    /// They wrote something else.
    Words(String),
}

/// An answer with its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answering {
    /// Where it was said.
    pub chat: ChatKey,
    /// Who.
    pub sender: Sender,
    /// When it was stored here.
    pub at: Timestamp,
    /// What.
    pub answer: Answer,
}

/// What became of an answer. The sentences are for who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// The turn has it.
    Taken(String),
    /// Its question is over, or never was.
    Over(String),
    /// They may not answer it; it stays open.
    Refused(String),
    /// There is no question that it could answer.
    Nothing,
}
