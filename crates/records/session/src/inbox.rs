//! What people wrote, at rest.

use chat::Inbound;
use serde::{Deserialize, Serialize};
use waybill::{AccountId, ChatKey, SessionScope, Timestamp, TurnId};

/// How often an event is handled, if the gateway fails each time, before it is put aside. Update handlers of chat frameworks
/// give up after three to five tries; the third also rules out that two crashes of another cause met the same event.
pub const MOST_TAKES: u32 = 3;

/// A row's place in the inbox; grows in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InboxId(pub i64);

/// An event to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The platform's id of it.
    pub key: String,
    /// As it came.
    pub raw: String,
    /// What it says: `Ok(None)` concerns nobody, `Err` could not be parsed.
    pub parsed: Result<Option<Inbound>, String>,
}

/// Where an event stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum InboxState {
    /// Stored, not yet decided on.
    New,
    /// Could not be understood; kept for the owner's eyes.
    Poisoned {
        /// Why.
        reason: String,
    },
    /// Concerns nobody here.
    Ignored {
        /// Why.
        reason: String,
    },
    /// Answered by the gateway itself, without an agent.
    Told,
    /// Waits for its turn in a conversation.
    Admitted,
    /// A turn works on it.
    Running {
        /// That turn.
        turn: TurnId,
    },
    /// A turn ended with it.
    Done {
        /// That turn.
        turn: TurnId,
    },
}

/// What was decided on an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// It goes to this conversation.
    Admit(SessionScope),
    /// Nothing happens.
    Ignore {
        /// Why, for the owner.
        reason: String,
    },
    /// The gateway answers by itself.
    Tell {
        /// The answer, composed.
        messages: Vec<outbox::NewMessage>,
    },
    /// It can't be dealt with, now or later.
    PutAside {
        /// Why, for the owner.
        reason: String,
    },
}

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    /// Its place.
    pub id: InboxId,
    /// The login that heard it.
    pub account: AccountId,
    /// What it says; none for poisoned ones and ones that concern nobody.
    pub inbound: Option<Inbound>,
    /// Where it stands.
    pub state: InboxState,
    /// The conversation that it was admitted to.
    pub session: Option<SessionScope>,
    /// How often its words or its chat have changed since it came; from [`crate::DOUBTED`] on: it waited in a database that was
    /// put back from a copy.
    pub version: u32,
    /// How often its handling was begun and did not come to an end, as far as the store knows.
    pub taken: u32,
    /// When it was stored.
    pub at: Timestamp,
}

/// A row as a turn read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// Which.
    pub id: InboxId,
    /// The version that was read; see [`InboxRow::version`].
    pub version: u32,
}

impl From<InboxId> for Heard {
    /// A row that never changed.
    fn from(id: InboxId) -> Self {
        Self { id, version: 0 }
    }
}

/// Whether a turn got the rows that it read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakenIn {
    /// They are its own now.
    Yes,
    /// They are not as they were read, and nothing was written. Those that still wait, as they are now; one that does not wait
    /// any more is left out.
    Changed(Vec<InboxRow>),
}

/// Whether an event may be handled once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Yes; it was counted.
    Go,
    /// No: it was put aside, or somebody else has it.
    No,
}

/// What became of a changed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amended {
    /// Nothing is left to do: the message that waits has the new words, or there was nothing to change. The reason is on the
    /// row of the edit.
    Settled(String),
    /// A turn has read the message already: the edit is news for the agent.
    TooLate,
}

/// An event that was put aside and of which nobody was told yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutAside {
    /// Its place.
    pub id: InboxId,
    /// The login that heard it.
    pub account: AccountId,
    /// The chat that it came from, if that can still be read.
    pub chat: Option<ChatKey>,
    /// Why.
    pub reason: String,
}
