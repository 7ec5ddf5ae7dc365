//! What conversations need from a store.

use async_trait::async_trait;
use chat::Accepted;
use model::Message;
use outbox::Claimed;
use waybill::{
    AccountId, ProfileScope, SessionId, SessionKey, SessionScope, Timestamp, TurnId, TurnScope,
};

use crate::{
    Admission, Entry, InboxId, InboxRow, NewEvent, Promised, StoreError, TurnCommit, TurnRecord,
    TurnStart,
};

/// The inbox at rest. Each call is one transaction and durable when it returns.
#[async_trait]
pub trait InboxStore: Send + Sync {
    /// Stores events with the cursor; an event whose (account, key) is there already is passed over. Events that concern
    /// nobody are stored as ignored, ones that could not be parsed as poisoned, both with their key. Returns the fresh rows
    /// in state `New`, and the counts.
    async fn accept(
        &self,
        account: &AccountId,
        events: Vec<NewEvent>,
        cursor: Option<String>,
        now: Timestamp,
    ) -> Result<(Vec<InboxRow>, Accepted), StoreError>;

    /// The last cursor.
    async fn cursor(&self, account: &AccountId) -> Result<Option<String>, StoreError>;

    /// Writes down what was decided on an event, with the gateway's own answer if there is one.
    async fn admit(
        &self,
        id: InboxId,
        admission: Admission,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError>;

    /// Rows in state `New` or `Admitted`, in order of arrival: what a gateway that starts has to take up.
    async fn open_rows(&self) -> Result<Vec<InboxRow>, StoreError>;
}

/// Conversations and turns at rest. Each call is one transaction and durable when it returns.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// The running stretch of a conversation; made, with the id `fresh`, if there is none.
    async fn current(
        &self,
        scope: &ProfileScope,
        key: &SessionKey,
        fresh: SessionId,
        now: Timestamp,
    ) -> Result<SessionScope, StoreError>;

    /// Ends the running stretch and begins another with the id `fresh`.
    async fn reset(
        &self,
        scope: &SessionScope,
        fresh: SessionId,
        now: Timestamp,
    ) -> Result<SessionScope, StoreError>;

    /// Begins a turn; its events become `Running`, and it is written down on them to which conversation they were admitted,
    /// whether [`InboxStore::admit`] came before or not.
    async fn begin_turn(&self, start: TurnStart) -> Result<(), StoreError>;

    /// Adds messages to the transcript of a running turn, with what is promised by now, write-ahead: before the tools of a call run, after each result.
    async fn append(
        &self,
        scope: &TurnScope,
        messages: Vec<Message>,
        promised: &Promised,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The transcript of one stretch, in order.
    async fn transcript(&self, session: SessionId) -> Result<Vec<Entry>, StoreError>;

    /// Ends a turn. Returns what was claimed at birth (see [`outbox::OutboxStore::enqueue`]).
    async fn commit_turn(&self, commit: TurnCommit) -> Result<Vec<Claimed>, StoreError>;

    /// Turns that were cut off, in the order in which they began.
    async fn running_turns(&self) -> Result<Vec<TurnRecord>, StoreError>;

    /// Counts that a cut-off turn is taken up again; returns how often that was, this time included.
    async fn count_resume(&self, turn: TurnId) -> Result<u32, StoreError>;
}
