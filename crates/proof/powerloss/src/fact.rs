//! What the store acknowledged, as the child says it: one line for each call that returned.

use model::Message;
use outbox::NewMessage;
use sandbox::ArtifactId;
use serde::{Deserialize, Serialize};
use session::InboxId;
use waybill::{AccountId, MessageId, SessionId, SessionScope, TurnId};

/// One thing that must be there from now on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Bytes are stored.
    Blob(ArtifactId),
    /// A message is stored with its parts.
    Message(Box<NewMessage>),
    /// An attempt is recorded: its part may be on the wire.
    Attempt {
        /// Whose.
        message: MessageId,
        /// Which part.
        part: u32,
        /// The how-manieth.
        attempt: u32,
    },
    /// An attempt ended.
    Settled {
        /// Whose.
        message: MessageId,
        /// Which part.
        part: u32,
        /// The how-manieth.
        attempt: u32,
        /// How.
        end: End,
    },
    /// An event is stored.
    Event {
        /// Who heard it.
        account: AccountId,
        /// The platform's id of it.
        key: String,
        /// Its place in the inbox.
        id: InboxId,
    },
    /// An event was admitted to a conversation.
    Admitted {
        /// Its place.
        id: InboxId,
        /// The conversation.
        session: SessionScope,
    },
    /// The cursor stands there. Values grow.
    Cursor {
        /// Whose.
        account: AccountId,
        /// Where.
        value: u64,
    },
    /// A stretch of a conversation runs.
    Session(SessionScope),
    /// A turn runs.
    Began {
        /// Which.
        turn: TurnId,
        /// In this conversation.
        session: SessionId,
        /// It answers these.
        inbox: Vec<InboxId>,
    },
    /// The transcript of a conversation has grown by these.
    Said {
        /// Which conversation.
        session: SessionId,
        /// What was said.
        messages: Vec<Message>,
    },
    /// A running turn has promised these files.
    Promised {
        /// Which turn.
        turn: TurnId,
        /// Which files.
        files: Vec<ArtifactId>,
    },
    /// Said before the call, not after: a turn is about to end with these messages. They come all or not at all.
    Asked {
        /// Which turn.
        turn: TurnId,
        /// Its messages.
        messages: Vec<MessageId>,
    },
    /// A turn ended.
    Ended {
        /// Which.
        turn: TurnId,
    },
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The part is sent, with this receipt. It stays so.
    Sent(String),
    /// The part is given up. It stays so.
    Failed,
    /// Others follow.
    Open,
}

/// A line of facts.
///
/// # Errors
/// If a value has no form as text.
pub fn line(facts: &[Fact]) -> serde_json::Result<String> {
    serde_json::to_string(facts)
}

/// The facts of a line.
///
/// # Errors
/// If it is none.
pub fn facts(line: &str) -> serde_json::Result<Vec<Fact>> {
    serde_json::from_str(line)
}
