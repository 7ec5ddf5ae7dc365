//! What people wrote, at rest.

use chat::Inbound;
use serde::{Deserialize, Serialize};
use waybill::{AccountId, SessionScope, Timestamp, TurnId};

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
    /// When it was stored.
    pub at: Timestamp,
}
