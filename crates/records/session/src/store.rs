//! What conversations need from a store.

use async_trait::async_trait;
use chat::{Accepted, Inbound};
use model::Message;
use outbox::{Claimed, NewMessage};
use waybill::{
    AccountId, ChatKey, ProfileScope, SessionId, SessionKey, SessionScope, Timestamp, TurnId,
    TurnScope,
};

use crate::window::Compaction;
use crate::{
    Admission, Amended, Entry, Heard, InboxId, InboxRow, NewEvent, Promised, PutAside, StoreError,
    Take, TakenIn, TurnCommit, TurnRecord, TurnStart,
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

    /// Rows in state `New` or `Admitted`, in order of arrival: what a gateway that starts has to take up. Ones that can't be read
    /// are poisoned.
    async fn open_rows(&self) -> Result<Vec<InboxRow>, StoreError>;

    /// Counts that an open row is handled once more, before it is: whoever handled it may not live to say so. A row that was
    /// taken [`crate::MOST_TAKES`] times is poisoned instead. [`Self::accept`] counts the first time; [`Self::admit`] and
    /// [`Self::release`] take one back.
    async fn take(&self, id: InboxId) -> Result<Take, StoreError>;

    /// Takes a count back: the event was handled without harm, but not to an end.
    async fn release(&self, id: InboxId) -> Result<(), StoreError>;

    /// Does with a changed message what can be done by itself, and writes that on the edit's row. The message is found by
    /// account, conversation and anchor, in its newest version.
    ///
    /// * It waits, and no turn has begun with it: its words and files are replaced; its place in line stays.
    /// * Neither words nor files are others, or the message is not known: nothing.
    /// * A turn has read it: [`Amended::TooLate`], and nothing is written.
    async fn amend(&self, edit: InboxId, inbound: &Inbound) -> Result<Amended, StoreError>;

    /// How many rows were ever put aside as poisoned.
    async fn poisoned(&self) -> Result<u64, StoreError>;

    /// Poisoned rows of which nobody was told yet, in order, at most `most`.
    async fn untold(&self, most: usize) -> Result<Vec<PutAside>, StoreError>;

    /// Stores the notices that tell of poisoned rows, and that these were told.
    async fn tell(
        &self,
        rows: Vec<InboxId>,
        notices: Vec<NewMessage>,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError>;
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
    /// whether [`InboxStore::admit`] came before or not. [`TakenIn::Changed`]: nothing was begun.
    async fn begin_turn(&self, start: TurnStart) -> Result<TakenIn, StoreError>;

    /// Takes further events into a running turn: they become `Running` with it, as their messages are added to its transcript.
    async fn take_in(
        &self,
        scope: &TurnScope,
        events: Vec<Heard>,
        messages: Vec<Message>,
        promised: &Promised,
        now: Timestamp,
    ) -> Result<TakenIn, StoreError>;

    /// Adds messages to the transcript of a running turn, with what is promised by now, write-ahead: before the tools of a call run, after each result.
    async fn append(
        &self,
        scope: &TurnScope,
        messages: Vec<Message>,
        promised: &Promised,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// A summary stands for the older part of a running turn's conversation from now on. The turn is the only one that writes there.
    async fn compact(
        &self,
        scope: &TurnScope,
        compaction: Compaction,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// The transcript of one stretch, in order; a summary comes first where one stands for what was before.
    async fn transcript(&self, session: SessionId) -> Result<Vec<Entry>, StoreError>;

    /// Ends a turn. Returns what was claimed at birth (see [`outbox::OutboxStore::enqueue`]).
    async fn commit_turn(&self, commit: TurnCommit) -> Result<Vec<Claimed>, StoreError>;

    /// Turns that were cut off, in the order in which they began.
    async fn running_turns(&self) -> Result<Vec<TurnRecord>, StoreError>;

    /// Counts that a cut-off turn is taken up again; returns how often that was, this time included.
    async fn count_resume(&self, turn: TurnId) -> Result<u32, StoreError>;

    /// Writes down that a conversation of a platform has another id now: its sessions go on under it, what waits in the inbox
    /// belongs to it, and [`Self::former`] knows it. The notices are stored the first time alone. Done again, it changes nothing.
    async fn move_chat(
        &self,
        from: &ChatKey,
        to: &ChatKey,
        notices: Vec<NewMessage>,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError>;

    /// The ids that a conversation had before, the latest first; the thread stays.
    async fn former(&self, chat: &ChatKey) -> Result<Vec<ChatKey>, StoreError>;
}
