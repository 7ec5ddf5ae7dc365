//! The life of a turn.

use model::{Cost, Message, Price, Usage};
use outbox::{Attachment, NewMessage};
use serde::{Deserialize, Serialize};
use waybill::{Timestamp, TurnScope};

use crate::{Heard, InboxId};

/// A turn that was taken up at least so often was running in a database that was put back from a copy: it may have gone on
/// since, with whatever its tools did, so it is not taken up but ended with a sentence. In the same way an event's version says
/// that it waited in such a database: it may have been answered since.
pub const DOUBTED: u32 = 1_000_000;

/// A file that was asked for and not captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotAttached {
    /// The model call after which it was asked for, from 1.
    pub step: u32,
    /// The name to show.
    pub name: String,
    /// Why, for the person.
    pub reason: String,
    /// What helps the model.
    pub hint: Option<String>,
    /// Whether the model was told.
    pub told: bool,
}

/// What a running turn has promised so far. Stored with each step, so that a turn that is taken up again keeps it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Promised {
    /// The answer that is kept while the model corrects its files; none before it answered.
    pub answer: Option<String>,
    /// The last words that came beside a tool call.
    pub beside: String,
    /// Files that were captured.
    pub attachments: Vec<Attachment>,
    /// Files that were not.
    pub refused: Vec<NotAttached>,
    /// Lines that the person must read.
    pub notes: Vec<String>,
    /// Tokens used.
    pub usage: Usage,
    /// What each model was used for, in the order in which they were first asked.
    #[serde(default)]
    pub spent: Vec<Spent>,
    /// What it has read.
    #[serde(default)]
    pub labels: policy::Labels,
    /// Whose messages it answers, in the order in which they came.
    #[serde(default)]
    pub askers: Vec<Asker>,
    /// Messages to other chats of the profile.
    #[serde(default)]
    pub elsewhere: Vec<crate::Elsewhere>,
}

/// Somebody whose message a turn answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// Who.
    pub sender: chat::Sender,
    /// In what kind of place.
    pub place: chat::Place,
}

/// What one model was used for in a turn: its steps, and whatever else was asked on the turn's behalf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// [`model::ModelPort::name`].
    pub route: String,
    /// Calls that it answered.
    pub calls: u32,
    /// Of those, ones of which nobody knows what they cost: no price is known, or it did not say how many tokens.
    #[serde(default)]
    pub unpriced: u32,
    /// Tokens, by its own count.
    pub usage: Usage,
    /// What the others cost; `None` where nothing is known of any. That is said, and never taken for nothing.
    pub cost: Option<Cost>,
}

impl Spent {
    /// Counts a call that was answered.
    pub fn count(spent: &mut Vec<Self>, route: &str, usage: Option<Usage>, price: Option<Price>) {
        let cost = usage.zip(price).map(|(usage, price)| price.of(usage));
        let call = Self {
            route: route.to_owned(),
            calls: 1,
            unpriced: cost.is_none().into(),
            usage: usage.unwrap_or_default(),
            cost,
        };
        Self::add(spent, call);
    }

    /// Adds what was spent on the turn's behalf elsewhere.
    pub fn add(spent: &mut Vec<Self>, other: Self) {
        let Some(own) = spent.iter_mut().find(|own| own.route == other.route) else {
            spent.push(other);
            return;
        };
        own.calls = own.calls.saturating_add(other.calls);
        own.unpriced = own.unpriced.saturating_add(other.unpriced);
        own.usage += other.usage;
        own.cost = match (own.cost, other.cost) {
            (Some(own), Some(other)) => Some([own, other].into_iter().sum()),
            (own, other) => own.or(other),
        };
    }
}

/// How a turn ended. Closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum TurnEnd {
    /// With an answer.
    Answered,
    /// The person stopped it.
    Interrupted,
    /// It reached its limit of steps.
    StepsExhausted,
    /// The money for it was used up.
    BudgetExhausted {
        /// Which limit, as the person was told.
        reason: String,
    },
    /// A guard stopped it: it went round in circles, or wanted what nobody allowed.
    Halted {
        /// Why, as the person was told.
        reason: String,
    },
    /// It failed.
    Failed {
        /// Why, as the person was told.
        reason: String,
    },
}

impl TurnEnd {
    /// The end's name in listings and metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Interrupted => "interrupted",
            Self::StepsExhausted => "steps_exhausted",
            Self::BudgetExhausted { .. } => "budget_exhausted",
            Self::Halted { .. } => "halted",
            Self::Failed { .. } => "failed",
        }
    }
}

/// What is written, in one transaction, before a turn's first model call.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnStart {
    /// Who, where, what for.
    pub scope: TurnScope,
    /// The events that it answers, as it read them.
    pub inbox: Vec<Heard>,
    /// What was said before, where a program keeps the conversation itself; comes before the message.
    pub before: Vec<Message>,
    /// The person's message, as the model will see it.
    pub message: Message,
    /// What is promised before the model said a word: lines about files that did not reach it.
    pub promised: Promised,
    /// When.
    pub at: Timestamp,
}

/// What is written, in one transaction, when a turn ends: the transcript's end, the outgoing messages with their parts, the
/// usage, and the events that are done.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnCommit {
    /// Whose turn.
    pub scope: TurnScope,
    /// How it ended.
    pub end: TurnEnd,
    /// The last messages of the transcript that are not there yet.
    pub transcript: Vec<Message>,
    /// What people will see.
    pub outgoing: Vec<NewMessage>,
    /// Tokens used in the whole turn.
    pub usage: Usage,
    /// The same, by model.
    pub spent: Vec<Spent>,
    /// When.
    pub at: Timestamp,
}

/// A turn found running when the gateway started: it was cut off.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRecord {
    /// Who, where, what for.
    pub scope: TurnScope,
    /// The events that it answers.
    pub inbox: Vec<InboxId>,
    /// The platform message that its answer is anchored to, as the first event says.
    pub inbound: Option<chat::Inbound>,
    /// What it had promised.
    pub promised: Promised,
    /// How often it was taken up again already.
    pub resumed: u32,
    /// When it began.
    pub started_at: Timestamp,
}
