//! What the outbox needs from a store.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::{Fault, IdempotencyKey, Op, Step, Way, WhenUnknown};
use waybill::{AccountId, ChatKey, MessageId, ProfileId, Timestamp, Waybill};

use crate::{Acted, Decision, MessageKind, MessageRow, NewMessage, NewPart, PartState, Pass, Verb};

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
    /// In how many phases.
    pub way: Way,
    /// The last durable step of those before.
    pub step: Option<Step>,
    /// Its key.
    pub key: IdempotencyKey,
    /// The how-manieth form of it this is.
    pub rendition: u32,
    /// What made its message, as text; with `ordinal` the root of its key.
    pub source: String,
    /// The how-manieth of that source.
    pub ordinal: u32,
    /// Where it stood before: `queued`, `retry`, or `unknown` that has settled.
    pub came_from: PartState,
    /// Tries that counted, this one included.
    pub tries: u32,
    /// Attempts before this one on which our own side crashed.
    pub crashes: u32,
    /// Whether an attempt without an answer came before.
    pub may_be_repeat: bool,
    /// Whether its account did not work when it was last heard of: this attempt finds out for all of it.
    pub account_rests: bool,
    /// What to do where nobody can find out whether it arrived.
    pub when_unknown: WhenUnknown,
    /// When its first attempt began.
    pub first_at: Timestamp,
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
    /// Whether our own side crashed on it.
    pub crash: Crash,
    /// What follows. [`Decision::Resend`] and [`Decision::Ask`] do not settle: it is the attempt itself that goes on.
    pub decision: Decision,
    /// The plainer form, for [`Decision::Plainer`].
    pub plainer: Option<NewPart>,
    /// What tells of a part given up or held; written in the same transaction.
    pub notice: Option<Notice>,
}

/// Whether our own side crashed on an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Crash {
    /// It did not.
    #[default]
    No,
    /// It did; see [`crate::MOST_CRASHES`].
    Yes,
}

/// What tells of a part that was given up or held. One that meets others that were not sent yet joins them: see
/// [`crate::gather`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The message, if it goes alone.
    pub message: NewMessage,
    /// Its sentence.
    pub line: String,
}

/// Parts that were claimed, and when to look again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// The parts.
    pub parts: Vec<Claimed>,
    /// When the next claim may find something by the passing of time.
    pub next: Option<Timestamp>,
    /// Whether lanes that are due wait for a place on the wire: the next claim finds something once an attempt has ended.
    pub waiting: Waiting,
}

/// Whether lanes that are due wait for a place on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// None does.
    #[default]
    None,
    /// Some do.
    Some,
}

/// Says whether an attempt may begin: rate windows and places on the wire. Asked by the store inside a claim's transaction, so
/// that what may not go yet is never made `sending`.
pub trait Turnstile: Send + Sync {
    /// Free places of an account; 0 while its windows are closed, with the time when they open.
    fn room(&self, account: &AccountId, now: Timestamp) -> (usize, Option<Timestamp>);

    /// Asks for one attempt; [`Pass::Go`] takes its place.
    fn pass(&self, chat: &ChatKey, now: Timestamp) -> Pass;

    /// Takes a place back: the claim was not stored.
    fn undo(&self, chat: &ChatKey);
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
    /// To this conversation, by its id on the platform.
    pub conversation: Option<String>,
    /// Older than this one: for the next page.
    pub before: Option<MessageId>,
    /// At most so many; 0 means 100.
    pub most: usize,
}

/// How an account's queue looks now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueDepth {
    /// The account.
    pub account: AccountId,
    /// Parts that are not at their end, by state; `held` ones too.
    pub open: BTreeMap<&'static str, u64>,
    /// When the oldest open part's message was made.
    pub oldest: Option<Timestamp>,
    /// The platform asked to wait until then.
    pub throttled_until: Option<Timestamp>,
    /// The account rests until then: its login or its network does not work.
    pub resting_until: Option<Timestamp>,
}

/// A part that was set aside because its row can't be read, and of which nobody was told yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// The row, for [`OutboxStore::told_of`].
    pub row: i64,
    /// Its message, as far as its id can be read.
    pub message: String,
    /// Whose it is, as far as that can be read.
    pub profile: Option<ProfileId>,
    /// What is wrong.
    pub reason: String,
}

/// The outbox at rest. Each call is one transaction and durable when it returns.
#[async_trait]
pub trait OutboxStore: Send + Sync {
    /// Sets what says whether an attempt may begin. Without one everything may.
    fn use_turnstile(&self, turnstile: Arc<dyn Turnstile>);

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
    /// accounts that have to wait are passed over, and one whose rest is over gets a single probe. The attempt rows are durable
    /// when this returns.
    async fn claim(&self, now: Timestamp, most: usize) -> Result<Claims, StoreError>;

    /// Writes down how an attempt ended. A settlement of an attempt that is not the part's running one changes no state
    /// but is kept as evidence. Returns what the same transaction claimed: the next part of the lane, if it is due.
    async fn settle(&self, settlement: Settlement) -> Result<Vec<Claimed>, StoreError>;

    /// At start: everything found `sending` becomes `unknown`, due when its account's time to settle is over (at once for
    /// accounts that are not named); returns how many.
    async fn recover(
        &self,
        now: Timestamp,
        settle: HashMap<AccountId, Duration>,
    ) -> Result<usize, StoreError>;

    /// Lets an account go on at once: its login works again.
    async fn open_account(&self, account: &AccountId) -> Result<(), StoreError>;

    /// Returns when something was stored since the last call that `claim` may find.
    async fn changed(&self);

    /// Does what the owner wants with a message's parts, or with one of them; `None`: there is no such message or part.
    async fn act(
        &self,
        id: MessageId,
        part: Option<u32>,
        verb: Verb,
        now: Timestamp,
    ) -> Result<Option<Acted>, StoreError>;

    /// Parts that were set aside because their rows can't be read, and of which nobody was told.
    async fn set_aside(&self) -> Result<Vec<Aside>, StoreError>;

    /// Writes down that the owner is told of such a part, together with what tells it; none where there is nobody to tell.
    async fn told_of(
        &self,
        aside: Aside,
        notice: Option<Notice>,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError>;

    /// Lists messages, newest first.
    async fn list(&self, filter: ListFilter) -> Result<Vec<MessageRow>, StoreError>;

    /// One message with its whole history.
    async fn show(&self, id: MessageId) -> Result<Option<MessageRow>, StoreError>;

    /// How each account's queue looks now.
    async fn depths(&self) -> Result<Vec<QueueDepth>, StoreError>;
}
