//! What the outbox needs from a store.

use async_trait::async_trait;
use chat::{Fault, IdempotencyKey, Op};
use waybill::{AccountId, MessageId, ProfileId, Timestamp, Waybill};

use crate::{Decision, MessageKind, MessageRow, NewMessage, PartState};

/// Why the store did not do it. The text says what to do where something can be done.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full.
    #[error("the disk is full: free some space; nothing was acknowledged that is not stored")]
    Full(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database can't be written or read.
    #[error("the database failed: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A stored row can't be understood: written by another version, or damaged.
    #[error("a stored row can't be read ({row}): {reason}")]
    Unreadable {
        /// Which.
        row: String,
        /// Why.
        reason: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// A part that was made `sending`, with its attempt row durable: it may go on the wire now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// Its message.
    pub message: MessageId,
    /// Its place in the message, from 1.
    pub part: u32,
    /// The attempt that was recorded.
    pub attempt: u32,
    /// Whose it is and where it goes.
    pub waybill: Waybill,
    /// What for.
    pub kind: MessageKind,
    /// What to show.
    pub op: Op,
    /// Its key.
    pub key: IdempotencyKey,
    /// Where it stood before: `queued`, `retry`, or `unknown` that has settled.
    pub came_from: PartState,
    /// Tries that counted, this one included.
    pub tries: u32,
    /// Whether an attempt without an answer came before.
    pub may_be_repeat: bool,
    /// When it is too old.
    pub expires_at: Timestamp,
}

/// The end of an attempt, to be written down in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The message.
    pub message: MessageId,
    /// The part.
    pub part: u32,
    /// The attempt.
    pub attempt: u32,
    /// When it ended.
    pub at: Timestamp,
    /// The fault, if it ended in one.
    pub fault: Option<Fault>,
    /// What follows. [`Decision::Resend`] does not settle: it is the attempt itself that goes on.
    pub decision: Decision,
    /// The notice that tells of a part given up; written in the same transaction.
    pub notice: Option<NewMessage>,
}

/// Which parcels to list. Newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// With a part in this state.
    pub state: Option<PartState>,
    /// Of this profile.
    pub profile: Option<ProfileId>,
    /// Of this account.
    pub account: Option<AccountId>,
    /// At most so many; 0 means 100.
    pub most: usize,
}

/// The outbox at rest. Each call is one transaction and durable when it returns.
#[async_trait]
pub trait OutboxStore: Send + Sync {
    /// Stores messages. A message whose (`source`, `ordinal`) is there already is passed over.
    ///
    /// The first part of each lane that was idle is *claimed at birth*: stored as `sending` with its attempt row and handed
    /// back, so that an answer needs one fsync before its first byte. Lanes whose account has to wait are not claimed.
    async fn enqueue(
        &self,
        messages: Vec<NewMessage>,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError>;

    /// Claims the heads of lanes that are due (`queued`, `retry` and settled `unknown`), at most one a lane and `most` in all;
    /// accounts that have to wait are passed over. The attempt rows are durable when this returns.
    async fn claim(&self, now: Timestamp, most: usize) -> Result<Vec<Claimed>, StoreError>;

    /// Writes down how an attempt ended. A settlement of an attempt that is not the part's running one changes no state
    /// but is kept as evidence. Returns what the same transaction claimed: the next part of the lane, if it is due.
    async fn settle(&self, settlement: Settlement) -> Result<Vec<Claimed>, StoreError>;

    /// At start: everything found `sending` becomes `unknown`, due at once; returns how many.
    async fn recover(&self, now: Timestamp) -> Result<usize, StoreError>;

    /// Lets an account go on at once: its login works again.
    async fn open_account(&self, account: &AccountId) -> Result<(), StoreError>;

    /// When the next claim may find something; `None` when nothing is open.
    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Returns when something was stored since the last call that `claim` may find.
    async fn changed(&self);

    /// Lists messages, newest first.
    async fn list(&self, filter: ListFilter) -> Result<Vec<MessageRow>, StoreError>;

    /// One message with its whole history.
    async fn show(&self, id: MessageId) -> Result<Option<MessageRow>, StoreError>;
}
