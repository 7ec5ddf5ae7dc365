//! A part's life, in the order in which it happened, as people read a parcel tracker.

use outbox::{AttemptRow, Death, MessageRow, PartRow, PartState, Verb, meaning};
use waybill::{MessageId, Timestamp};

use crate::parcels::stamp::{Shown, Stamp, between, stretch};

/// How an event feels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Plain,
    Good,
    Wait,
    Bad,
}

impl Mood {
    /// Its class in the style sheet.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Wait => "wait",
            Self::Bad => "bad",
        }
    }
}

/// Something that happened, happens, or will.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) mood: Mood,
    /// When; `None` for how things stand now.
    pub(crate) at: Option<Stamp>,
    /// "Attempt 2".
    pub(crate) head: String,
    /// "asked to wait".
    pub(crate) end: Option<String>,
    /// In the words of the platform, or of what failed.
    pub(crate) quote: Option<String>,
    /// What it means and what to do.
    pub(crate) meaning: Option<&'static str>,
    /// "9 s".
    pub(crate) took: Option<String>,
    /// Until then nothing happens.
    pub(crate) until: Option<Stamp>,
    /// The parcel that tells of it.
    pub(crate) notice: Option<MessageId>,
}

impl Step {
    fn new(mood: Mood, at: Option<Timestamp>, head: impl Into<String>) -> Self {
        Self {
            mood,
            at: at.map(Stamp::clock),
            head: head.into(),
            end: None,
            quote: None,
            meaning: None,
            took: None,
            until: None,
            notice: None,
        }
    }
}

/// All that is known of a part's life.
pub(crate) fn of(row: &MessageRow, part: &PartRow) -> Vec<Step> {
    let mut steps = vec![(
        row.created_at,
        Step::new(Mood::Plain, Some(row.created_at), "Made"),
    )];
    let mut before: Option<&AttemptRow> = None;
    for one in &part.attempts {
        if let Some(wait) = before.and_then(|before| waited(part, before, one)) {
            steps.push((one.started_at, wait));
        }
        steps.push((one.started_at, attempt(part, one)));
        before = Some(one);
    }
    if let Some(death) = &part.death {
        steps.push((death.at, given_up(part, death)));
        if let Some((what, at)) = &death.resolved {
            steps.push((*at, Step::new(Mood::Plain, Some(*at), resolved(what))));
        }
    }
    // Stable: what happened at the same moment stays in the order above.
    steps.sort_by_key(|(at, _)| *at);
    let mut steps: Vec<Step> = steps.into_iter().map(|(_, step)| step).collect();
    steps.extend(now(part));
    steps
}

fn resolved(what: &str) -> String {
    let verb = Verb::ALL.into_iter().find(|verb| verb.name() == what);
    match verb {
        Some(Verb::Retry) => "You sent it again".to_owned(),
        Some(Verb::Cancel) => "You took it back".to_owned(),
        Some(Verb::MarkSent) => "You said that it arrived".to_owned(),
        None => format!("You did something about it: {what}"),
    }
}

/// The stretch between two attempts, where it is worth a line.
fn waited(part: &PartRow, before: &AttemptRow, next: &AttemptRow) -> Option<Step> {
    let long = between(before.ended_at?, next.started_at);
    // What was dead did not wait.
    let died = part
        .death
        .as_ref()
        .is_some_and(|death| (before.started_at..=next.started_at).contains(&death.at));
    if long.as_millis() < 100 || died {
        return None;
    }
    let mut step = Step::new(Mood::Wait, None, "Waited");
    step.took = Some(stretch(long));
    Some(step)
}

fn attempt(part: &PartRow, one: &AttemptRow) -> Step {
    let last = part.attempts.last().is_some_and(|last| last.n == one.n);
    let (mood, end) = match one.outcome.as_deref() {
        Some(outcome) => ended(outcome),
        None if last && part.state == PartState::Sending => (Mood::Wait, "on its way"),
        None => (Mood::Bad, "cut off: how it ended is not known"),
    };
    let mut step = Step::new(mood, Some(one.started_at), format!("Attempt {}", one.n));
    step.end = Some(end.to_owned());
    step.quote = one.detail.clone().filter(|detail| !detail.is_empty());
    if mood != Mood::Good {
        step.meaning = one.outcome.as_deref().and_then(meaning::of_outcome);
    } else if let Some(receipt) = part.receipt.as_ref().filter(|_| last)
        && !receipt.as_str().is_empty()
    {
        step.end = Some(format!("{end}, message {}", receipt.as_str()));
    }
    step.took = one
        .ended_at
        .map(|ended| stretch(between(one.started_at, ended)));
    step
}

/// An attempt's end in a few words.
fn ended(outcome: &str) -> (Mood, &str) {
    match outcome {
        "sent" => (Mood::Good, "there"),
        "duplicate" | "no_change" => (Mood::Good, "there already"),
        "step" => (Mood::Good, "a first step is done"),
        "moved" => (Mood::Wait, "the chat has moved"),
        "throttled" => (Mood::Wait, "asked to wait"),
        "not_sent" => (Mood::Bad, "nothing left this machine"),
        "temp_reject" => (Mood::Bad, "refused for now"),
        "perm_item" => (Mood::Bad, "this content was refused"),
        "perm_chat" => (Mood::Bad, "the chat is closed to us"),
        "perm_account" => (Mood::Bad, "the login does not work"),
        "unknown" => (Mood::Bad, "no answer came"),
        "crashed" => (Mood::Bad, "the gateway failed on it"),
        other => (Mood::Bad, other),
    }
}

fn given_up(part: &PartRow, death: &Death) -> Step {
    let head = match part.state {
        PartState::Expired => "Too old",
        PartState::Queued
        | PartState::Sending
        | PartState::Retry
        | PartState::Unknown
        | PartState::Held
        | PartState::Sent
        | PartState::Failed
        | PartState::Cancelled
        | PartState::Superseded => "Given up",
    };
    let mut step = Step::new(Mood::Bad, Some(death.at), head);
    let said = part
        .attempts
        .iter()
        .any(|attempt| attempt.detail.as_deref() == Some(death.reason.as_str()));
    step.quote = Some(death.reason.clone()).filter(|reason| !said && !reason.is_empty());
    step.notice = death.notice;
    step
}

/// How it stands now, where the past does not say so already.
fn now(part: &PartRow) -> Option<Step> {
    let mut step = match part.state {
        PartState::Queued if part.attempts.is_empty() => {
            Step::new(Mood::Wait, None, "Waits for its turn")
        }
        PartState::Queued => Step::new(Mood::Wait, None, "Waits to be sent again"),
        PartState::Retry => {
            let mut step = Step::new(Mood::Wait, None, "Waits until");
            step.until = Some(Stamp::new(part.next_at, Shown::Until));
            step
        }
        PartState::Unknown => {
            let mut step = Step::new(Mood::Wait, None, "Is looked into at");
            step.until = Some(Stamp::new(part.next_at, Shown::Until));
            step
        }
        PartState::Held => Step::new(Mood::Bad, None, "Waits for you"),
        PartState::Cancelled => Step::new(Mood::Plain, None, "Taken back"),
        PartState::Superseded => Step::new(Mood::Plain, None, "Replaced by a newer one"),
        PartState::Expired if part.death.is_none() => Step::new(Mood::Bad, None, "Too old"),
        PartState::Failed if part.death.is_none() => Step::new(Mood::Bad, None, "Given up"),
        PartState::Sent if !arrived(part) => Step::new(Mood::Good, None, "Counts as arrived"),
        PartState::Sending | PartState::Sent | PartState::Failed | PartState::Expired => {
            return None;
        }
    };
    if part.state == PartState::Held {
        step.meaning = Some(meaning::of_state(part.state));
    }
    Some(step)
}

fn arrived(part: &PartRow) -> bool {
    let last = part
        .attempts
        .last()
        .and_then(|last| last.outcome.as_deref());
    last.is_some_and(|outcome| ended(outcome).0 == Mood::Good)
}
