//! The rows of the outbox as values.

use std::fmt;
use std::str::FromStr;

use chat::{Fault, IdempotencyKey, Op, Receipt, Step, Way, WhenUnknown};
use serde::{Deserialize, Serialize};
use waybill::{MessageId, Timestamp, Waybill};

/// What a message is for; decides how long it may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// An agent's answer.
    Reply,
    /// A scheduled run's report.
    Cron,
    /// What a delegated task came to.
    Task,
    /// The gateway's own word about something that did not work. Ends by its age or a refusal, never by its tries; dead, it
    /// is told at home alone, and dead at home it breeds none.
    Notice,
    /// What the owner sent without an agent.
    Operator,
}

impl MessageKind {
    /// The kind's name in listings and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::Cron => "cron",
            Self::Task => "task",
            Self::Notice => "notice",
            Self::Operator => "operator",
        }
    }

    /// How long it may wait, in hours, before it expires: a day; a week for notices.
    #[must_use]
    pub fn most_hours(self) -> i64 {
        match self {
            Self::Reply | Self::Cron | Self::Task | Self::Operator => 24,
            Self::Notice => 24 * 7,
        }
    }
}

impl FromStr for MessageKind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        [
            Self::Reply,
            Self::Cron,
            Self::Task,
            Self::Notice,
            Self::Operator,
        ]
        .into_iter()
        .find(|kind| kind.name() == text)
        .ok_or_else(|| format!("'{text}' is not a kind of message"))
    }
}

/// Where a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartState {
    /// Waits for its turn in the lane.
    Queued,
    /// An attempt is recorded and may be on the wire.
    Sending,
    /// Refused for now; waits for its time.
    Retry,
    /// An attempt ended without an answer.
    Unknown,
    /// Waits for the owner; does not block the lane.
    Held,
    /// There, with a receipt.
    Sent,
    /// Refused for good.
    Failed,
    /// Too old.
    Expired,
    /// Taken back before it was sent.
    Cancelled,
    /// A newer one stands in its place.
    Superseded,
}

impl PartState {
    /// All of them, for listings and tests.
    pub const ALL: [Self; 10] = [
        Self::Queued,
        Self::Sending,
        Self::Retry,
        Self::Unknown,
        Self::Held,
        Self::Sent,
        Self::Failed,
        Self::Expired,
        Self::Cancelled,
        Self::Superseded,
    ];

    /// The state's name in listings and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sending => "sending",
            Self::Retry => "retry",
            Self::Unknown => "unknown",
            Self::Held => "held",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Superseded => "superseded",
        }
    }

    /// Whether the lane has to wait for it.
    #[must_use]
    pub fn blocks_lane(self) -> bool {
        match self {
            Self::Queued | Self::Sending | Self::Retry | Self::Unknown => true,
            Self::Held
            | Self::Sent
            | Self::Failed
            | Self::Expired
            | Self::Cancelled
            | Self::Superseded => false,
        }
    }

    /// Whether nothing will happen to it any more by itself.
    #[must_use]
    pub fn is_end(self) -> bool {
        match self {
            Self::Sent | Self::Failed | Self::Expired | Self::Cancelled | Self::Superseded => true,
            Self::Queued | Self::Sending | Self::Retry | Self::Unknown | Self::Held => false,
        }
    }
}

impl fmt::Display for PartState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for PartState {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|state| state.name() == text)
            .ok_or_else(|| {
                let known: Vec<&str> = Self::ALL.iter().map(|state| state.name()).collect();
                format!("'{text}' is not a state; states are {}", known.join(", "))
            })
    }
}

/// A part that was composed and waits to be stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewPart {
    /// What it shows; frozen.
    pub op: Op,
    /// In how many phases.
    pub way: Way,
    /// Its key.
    pub key: IdempotencyKey,
}

/// A message that was composed and waits to be stored, together with whatever made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewMessage {
    /// Its id.
    pub id: MessageId,
    /// Whose it is and where it goes.
    pub waybill: Waybill,
    /// What for.
    pub kind: MessageKind,
    /// What made it, as text; with `ordinal` unique, so that a step that runs twice enqueues once.
    pub source: String,
    /// The how-manieth of that source.
    pub ordinal: u32,
    /// In the order in which they must be seen; never empty.
    pub parts: Vec<NewPart>,
    /// What to do with a part of which nobody can find out whether it arrived.
    pub when_unknown: WhenUnknown,
    /// Of messages to one lane with the same name the newest wins: parts of older ones that never were on the wire are
    /// superseded.
    pub replaces: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is too old.
    pub expires_at: Timestamp,
}

/// A stored message with its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// Its id.
    pub id: MessageId,
    /// Whose it is and where it goes.
    pub waybill: Waybill,
    /// What for.
    pub kind: MessageKind,
    /// What made it, as text.
    pub source: String,
    /// The how-manieth of that source.
    pub ordinal: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is too old.
    pub expires_at: Timestamp,
    /// Its parts, in order.
    pub parts: Vec<PartRow>,
}

impl MessageRow {
    /// One state for the whole: the first part that is not at its good end, else `sent`.
    #[must_use]
    pub fn state(&self) -> PartState {
        self.parts
            .iter()
            .map(|part| part.state)
            .find(|state| *state != PartState::Sent)
            .unwrap_or(PartState::Sent)
    }
}

/// A stored part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartRow {
    /// Its place in the message, from 1.
    pub n: u32,
    /// Its place in its lane; the lane's parts are seen in this order. Changes when the chat moves and when the owner sends
    /// it again.
    pub place: i64,
    /// What it shows. Its words and captions are dropped some days after it was sent; see [`Self::forgotten`].
    pub op: Op,
    /// In how many phases.
    pub way: Way,
    /// The last durable step.
    pub step: Option<Step>,
    /// Its key.
    pub key: IdempotencyKey,
    /// The how-manieth form of it this is: 0 as it was composed, 1 the plainer one.
    pub rendition: u32,
    /// Where it stands.
    pub state: PartState,
    /// Attempts that count: throttled ones don't.
    pub tries: u32,
    /// Not before then.
    pub next_at: Timestamp,
    /// What the platform made of it.
    pub receipt: Option<Receipt>,
    /// Why the last attempt did not succeed.
    pub fault: Option<Fault>,
    /// Whether an attempt without an answer came before.
    pub may_be_repeat: bool,
    /// Whether what it said was dropped since, to keep no more of people's words than is needed.
    pub forgotten: bool,
    /// Its death, if it was given up.
    pub death: Option<Death>,
    /// Every attempt.
    pub attempts: Vec<AttemptRow>,
}

/// How a part was given up, and what was done about it since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    /// Why, in the platform's words or ours.
    pub reason: String,
    /// When.
    pub at: Timestamp,
    /// The message that tells of it; none where nobody could be told, and while the notice is gathered with others.
    pub notice: Option<MessageId>,
    /// What the owner did about it: a [`crate::Verb`]'s name and when.
    pub resolved: Option<(String, Timestamp)>,
}

/// One try to put a part on the wire. Append-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRow {
    /// The how-manieth, from 1.
    pub n: u32,
    /// Recorded before the first byte.
    pub started_at: Timestamp,
    /// When its end was recorded; none while it runs, and for one that a crash cut off.
    pub ended_at: Option<Timestamp>,
    /// `sent`, `step`, `crashed`, or the fault's kind; none while it runs.
    pub outcome: Option<String>,
    /// The platform's status and words.
    pub detail: Option<String>,
}
