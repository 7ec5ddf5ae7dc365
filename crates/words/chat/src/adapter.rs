//! What every channel's adapter does.

use std::convert::Infallible;

use async_trait::async_trait;
use sandbox::{BlobStore, BlobWriter};
use waybill::{AccountId, Anchor, ChatKey};

use crate::{Descriptor, Fault, FileHandle, IdempotencyKey, Inbound, Op, Receipt, Step, Way};

/// One event as it came, parsed by itself.
#[derive(Debug, Clone)]
pub struct Event {
    /// The platform's id of the event: the same event never has two, two events never share one.
    pub key: String,
    /// The event as it came, for the owner's eyes when it could not be understood.
    pub raw: String,
    /// What it says; `Ok(None)` for events that concern nobody; `Err` for one that could not be parsed, with the reason.
    pub parsed: Result<Option<Inbound>, String>,
}

/// How many events were new and how many had been seen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Accepted {
    /// New.
    pub fresh: usize,
    /// Seen before; nothing happened.
    pub repeated: usize,
}

/// Events could not be made durable. They must not be acknowledged.
#[derive(Debug, thiserror::Error)]
#[error("events could not be stored, so they are not acknowledged: {0}")]
pub struct SinkError(pub String);

/// Where a channel puts what it hears.
#[async_trait]
pub trait InboundSink: Send + Sync {
    /// Makes events durable, with the cursor that says where to go on. Only after `Ok` may the platform be told.
    async fn accept(
        &self,
        account: &AccountId,
        events: Vec<Event>,
        cursor: Option<String>,
    ) -> Result<Accepted, SinkError>;

    /// The last cursor that was made durable.
    async fn cursor(&self, account: &AccountId) -> Result<Option<String>, SinkError>;

    /// Tells the owner of the state of the account: once for each change, not for each try.
    fn health(&self, account: &AccountId, state: Result<(), Fault>);
}

/// Why listening ended.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Nothing more can come: the adapter hears by other ways, or was closed.
    #[error("the channel was closed")]
    Closed,
}

/// One attempt: everything an adapter needs to put a part on the wire.
#[derive(Debug, Clone)]
pub struct Delivery<'a> {
    /// To whom.
    pub chat: &'a ChatKey,
    /// The platform message that it answers.
    pub anchor: Option<&'a Anchor>,
    /// What to show.
    pub op: &'a Op,
    /// The part's key, for platforms that know such keys.
    pub key: IdempotencyKey,
    /// Whether a mark must say that this may be a repeat.
    pub may_be_repeat: bool,
    /// In how many phases.
    pub way: Way,
    /// The last durable step of those before; `None`: it begins.
    pub step: Option<&'a Step>,
    /// Whether it may ring.
    pub silent: bool,
}

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// It can be seen.
    All(Receipt),
    /// A step was taken of which nothing can be seen yet but a placeholder. It is made durable; then the next attempt begins,
    /// with the step.
    Step(Step),
}

/// What a platform that can be asked says about an attempt whose answer was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It arrived, as this.
    Present(Receipt),
    /// It did not.
    Absent,
    /// It can't say.
    Unclear,
}

/// Who reads a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// One person.
    One,
    /// Several.
    Several,
}

/// What shows while a turn runs. Best effort; the newest wins; never a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preview {
    /// The answer so far: markdown, without directives. Replaces what was shown before.
    Text(String),
    /// The turn ended: whatever was shown goes away, the real parts come by the outbox.
    Clear,
}

/// What an agent is doing, for channels that show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    /// Thinking or writing.
    Typing,
    /// A tool began, or goes on: the same `id` again has a newer `detail`. `id` pairs it with its end.
    ToolBegan {
        /// The call.
        id: String,
        /// The tool.
        tool: String,
        /// For the person: the command or the path; in a second line the last thing that it said.
        detail: String,
    },
    /// A tool ended.
    ToolEnded {
        /// The call.
        id: String,
        /// The first lines of its result.
        result: String,
        /// Did it fail?
        failed: bool,
    },
    /// The turn ended.
    Idle,
    /// What a tap on a question's answer came to, for whoever tapped.
    Tapped {
        /// The platform's id of the tap.
        id: String,
        /// A sentence for the person.
        says: String,
        /// The question's message, if it can't be answered any more and its buttons should go.
        over: Option<Anchor>,
    },
    /// A question was answered or is over: its buttons go.
    Answered {
        /// [`crate::Op::Question`]'s own name.
        question: String,
        /// What became of it: a few words.
        outcome: String,
    },
}

/// Who the account is on its platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Immutable id.
    pub id: String,
    /// The name that people see or write to.
    pub name: String,
}

/// Why a person's file could not be fetched. The text is for the person.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// Over the channel's or the owner's limit.
    #[error("the file is larger than {} and was not fetched", sandbox::size_text(*.limit))]
    TooLarge {
        /// Limit in bytes.
        limit: u64,
    },
    /// The platform did not give it.
    #[error("the file could not be fetched: {0}")]
    Refused(String),
    /// It could not be kept.
    #[error("the file could not be stored: {0}")]
    Store(#[source] sandbox::BlobError),
}

/// One login on a chat service.
///
/// Only the courier calls [`ChatAdapter::deliver`], [`ChatAdapter::preview`] and [`ChatAdapter::activity`].
#[async_trait]
pub trait ChatAdapter: Send + Sync {
    /// What the channel can do.
    fn descriptor(&self) -> &Descriptor;

    /// The account's name.
    fn account(&self) -> &AccountId;

    /// Hears until it is dropped. Trouble is retried inside and told through [`InboundSink::health`].
    async fn listen(&self, sink: &dyn InboundSink) -> Result<Infallible, ListenError>;

    /// Puts one part on the wire, once. Streams files from `blobs`.
    ///
    /// # Errors
    /// A [`Fault`]; [`crate::FaultKind::Unknown`] whenever bytes left and no definite answer came.
    async fn deliver(&self, delivery: Delivery<'_>, blobs: &dyn BlobStore) -> Result<Done, Fault>;

    /// Asks what became of an attempt whose answer was lost; only of channels that are [`crate::Grade::Reconcilable`], or
    /// keyed with a window that has closed.
    ///
    /// # Errors
    /// A [`Fault`] if it could not be asked now.
    async fn find(&self, delivery: Delivery<'_>) -> Result<Found, Fault> {
        let _unasked = delivery;
        Ok(Found::Unclear)
    }

    /// Takes a placeholder away whose part goes another way or not at all. Best effort.
    async fn withdraw(&self, chat: &ChatKey, step: &Step) {
        let _nothing = (chat, step);
    }

    /// Who reads the chat; decides which of [`crate::Rates`] holds.
    fn readers(&self, chat: &ChatKey) -> Readers {
        let _any = chat;
        Readers::One
    }

    /// Shows the answer so far.
    async fn preview(&self, chat: &ChatKey, preview: Preview);

    /// Shows what the agent is doing.
    async fn activity(&self, chat: &ChatKey, activity: Activity);

    /// Fetches a person's file, streaming it into `into`; over `limit` bytes it stops.
    ///
    /// # Errors
    /// [`DownloadError`], written for the person.
    async fn fetch(
        &self,
        file: &FileHandle,
        limit: u64,
        into: &mut dyn BlobWriter,
    ) -> Result<(), DownloadError>;

    /// Asks the platform who we are.
    ///
    /// # Errors
    /// A [`Fault`].
    async fn identify(&self) -> Result<Identity, Fault>;
}
