//! What happens to a part next. Pure: the courier does it, the store writes it down.

use std::time::Duration;

use chat::{Descriptor, Fault, FaultKind, Found, Grade, Receipt, Step, ThrottleScope, WhenUnknown};
use waybill::{ChatKey, Timestamp};

use crate::{Backoff, MOST_CRASHES, MOST_TRIES, MessageKind, PartState, SILENT_ATTEMPTS};

/// What is known of a part when something happened to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Where it stands.
    pub state: PartState,
    /// Tries that counted so far, this one included; after [`Event::Settled`] this one is the try that would come.
    pub tries: u32,
    /// Attempts so far, also those that did not count, this one included.
    pub attempt: u32,
    /// Attempts on which our own side crashed, this one included.
    pub crashes: u32,
    /// Attempts of its account in a row of which no byte left, this one included.
    pub silent: u32,
    /// What it is for.
    pub kind: MessageKind,
    /// Whether there is another form of it to try.
    pub other_form: OtherForm,
    /// Whether a repeat shows its content twice.
    pub repeat: Repeat,
    /// What the owner wants done where nobody can find out whether it arrived.
    pub when_unknown: WhenUnknown,
    /// When its first attempt began.
    pub first_at: Timestamp,
    /// When it is too old.
    pub expires_at: Timestamp,
}

/// Whether a part has a plainer form that was not tried yet: see [`chat::Op::plainer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherForm {
    /// It has.
    Left,
    /// This is the last.
    None,
}

/// What a repeat of an attempt would show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Its content, maybe for the second time.
    Shows,
    /// Nothing new: the attempt made an empty placeholder, or fills one whose id is known.
    ShowsNothing,
}

/// What the part's channel can tell and how long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    /// What can be found out after a lost answer.
    pub grade: Grade,
    /// How long the platform may still be at work on a call whose answer was lost.
    pub settle: Duration,
}

impl Channel {
    /// Whether the platform itself refuses a repeat that begins now, of a part whose first attempt began then: also if it gets
    /// round to it as late as it may.
    #[must_use]
    pub fn refuses_repeats(self, first_at: Timestamp, now: Timestamp) -> bool {
        let age = Duration::try_from(now.duration_since(first_at)).unwrap_or(Duration::ZERO);
        self.grade.refuses_repeats(age.saturating_add(self.settle))
    }
}

impl From<&Descriptor> for Channel {
    fn from(descriptor: &Descriptor) -> Self {
        Self {
            grade: descriptor.grade,
            settle: descriptor.settle,
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The attempt ended with a receipt.
    Delivered(Receipt),
    /// The attempt took a step; others follow.
    Stepped(Step),
    /// The attempt ended with a fault.
    Faulted(Fault),
    /// Our own side crashed on it: nobody knows how far the attempt came.
    Crashed,
    /// Its time to wait after an unknown end is over.
    Settled,
    /// The platform was asked what became of it.
    Answered(Found),
    /// It could not be asked: the part stays as unknown as it was.
    Unasked(Fault),
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It is there.
    Sent {
        /// What the platform made of it.
        receipt: Receipt,
    },
    /// A step is done: it is made durable, and the next attempt goes on from it at once.
    Advance {
        /// What the step left.
        step: Step,
    },
    /// Try again at a time; the lane waits.
    Retry {
        /// Not before then.
        at: Timestamp,
        /// Whether the try counted.
        counts: bool,
        /// What else has to wait until then.
        gate: Gate,
    },
    /// This form was refused: the plainer one takes its place in the lane.
    Plainer,
    /// Nobody knows; wait until then before the next step.
    Unknown {
        /// Settled then.
        at: Timestamp,
    },
    /// Ask the platform what became of it.
    Ask,
    /// Send again, marked where the platform can't refuse a repeat.
    Resend {
        /// Whether a mark must say that this may be a repeat.
        marked: bool,
    },
    /// Nobody can find out and the owner wants to decide: it waits for the owner, who is told; its lane goes on.
    Hold,
    /// The chat lives elsewhere: send there.
    Redirect {
        /// There.
        to: ChatKey,
    },
    /// Given up: a notice is written in the same transaction, unless it is one itself that died at home.
    Dead {
        /// [`PartState::Failed`] or [`PartState::Expired`].
        state: PartState,
        /// Whether all that waits in the lane is dead with it.
        lane: bool,
    },
}

/// What else has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// Nothing but the part and what stands behind it.
    Lane,
    /// Everything of the account.
    Account,
}

/// Longest wait after an attempt of which no byte left: the network's end is noticed by trying, and it costs nobody anything.
const LONGEST_UNSENT: Duration = Duration::from_secs(30);

/// How long an account with a revoked token rests between tries.
const ACCOUNT_REST: Duration = Duration::from_secs(15);

/// Longest wait a platform may ask for that is taken at its word.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

/// What happens next to a part.
#[must_use]
pub fn decide(
    part: Standing,
    event: Event,
    channel: Channel,
    backoff: Backoff,
    now: Timestamp,
) -> Decision {
    match event {
        Event::Delivered(receipt) => Decision::Sent { receipt },
        Event::Stepped(step) => Decision::Advance { step },
        Event::Crashed if part.crashes >= MOST_CRASHES => FAILED,
        Event::Crashed => lost(part, channel, backoff, now),
        Event::Settled => after_unknown(part, channel, now),
        Event::Answered(Found::Present(receipt)) => Decision::Sent { receipt },
        Event::Answered(Found::Absent) => Decision::Resend { marked: false },
        Event::Answered(Found::Unclear) => without_proof(part),
        Event::Unasked(fault) => unasked(part, &fault.kind, channel, backoff, now),
        Event::Faulted(fault) => faulted(part, &fault.kind, channel, backoff, now),
    }
}

const FAILED: Decision = Decision::Dead {
    state: PartState::Failed,
    lane: false,
};
const EXPIRED: Decision = Decision::Dead {
    state: PartState::Expired,
    lane: false,
};

fn faulted(
    part: Standing,
    kind: &FaultKind,
    channel: Channel,
    backoff: Backoff,
    now: Timestamp,
) -> Decision {
    match kind {
        FaultKind::NoChange => Decision::Sent {
            receipt: Receipt::new(""),
        },
        FaultKind::Duplicate { receipt } => Decision::Sent {
            receipt: receipt.clone().unwrap_or_else(|| Receipt::new("")),
        },
        FaultKind::Throttled { after, scope } => {
            let gate = match scope {
                ThrottleScope::Part | ThrottleScope::Lane => Gate::Lane,
                ThrottleScope::Account => Gate::Account,
            };
            let at = later(now, (*after).min(LONGEST_WAIT));
            in_time(part, at, Counting::No, gate)
        }
        FaultKind::PermAccount => {
            in_time(part, later(now, ACCOUNT_REST), Counting::No, Gate::Account)
        }
        FaultKind::NotSent if part.silent >= SILENT_ATTEMPTS => {
            let steps = part.silent - SILENT_ATTEMPTS + 1;
            let at = later(now, backoff.wait_within(steps, LONGEST_UNSENT));
            in_time(part, at, Counting::No, Gate::Account)
        }
        FaultKind::NotSent => {
            let at = later(now, backoff.wait_within(part.attempt, LONGEST_UNSENT));
            in_time(part, at, Counting::No, Gate::Lane)
        }
        FaultKind::TempReject if worn_out(part, part.tries) => FAILED,
        FaultKind::TempReject => {
            let at = later(now, backoff.wait(part.tries));
            in_time(part, at, Counting::Yes, Gate::Lane)
        }
        // A chat that goes round in a circle.
        FaultKind::Moved { .. } if worn_out(part, part.tries) => FAILED,
        FaultKind::Moved { to } => Decision::Redirect { to: to.clone() },
        FaultKind::PermItem if part.other_form == OtherForm::Left => Decision::Plainer,
        FaultKind::PermItem => FAILED,
        FaultKind::PermChat => Decision::Dead {
            state: PartState::Failed,
            lane: true,
        },
        FaultKind::Unknown => lost(part, channel, backoff, now),
    }
}

fn lost(part: Standing, channel: Channel, backoff: Backoff, now: Timestamp) -> Decision {
    let wait = backoff.wait(part.tries).max(channel.settle);
    Decision::Unknown {
        at: later(now, wait),
    }
}

/// A wait that the platform asks for is taken at its word; what else went wrong with a question says nothing about the part.
fn unasked(
    part: Standing,
    kind: &FaultKind,
    channel: Channel,
    backoff: Backoff,
    now: Timestamp,
) -> Decision {
    let wait = match kind {
        FaultKind::Throttled { after, .. } => (*after).min(LONGEST_WAIT),
        FaultKind::PermAccount => ACCOUNT_REST,
        FaultKind::NotSent
        | FaultKind::TempReject
        | FaultKind::PermItem
        | FaultKind::PermChat
        | FaultKind::Moved { .. }
        | FaultKind::Duplicate { .. }
        | FaultKind::NoChange
        | FaultKind::Unknown => return lost(part, channel, backoff, now),
    };
    Decision::Unknown {
        at: later(now, wait),
    }
}

/// Whether a part was tried often enough. A notice never was: it is the last word about something, and ends by its age alone.
fn worn_out(part: Standing, tried: u32) -> bool {
    part.kind != MessageKind::Notice && tried >= MOST_TRIES
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Counting {
    Yes,
    No,
}

fn in_time(part: Standing, at: Timestamp, counting: Counting, gate: Gate) -> Decision {
    if at >= part.expires_at {
        return EXPIRED;
    }
    Decision::Retry {
        at,
        counts: counting == Counting::Yes,
        gate,
    }
}

/// After an unknown end that has settled: a keyed platform refuses the repeat by itself, one that can be asked is asked;
/// elsewhere the owner's wish decides.
fn after_unknown(part: Standing, channel: Channel, now: Timestamp) -> Decision {
    if now >= part.expires_at {
        return EXPIRED;
    }
    // The try that this decision would begin is counted already.
    if worn_out(part, part.tries.saturating_sub(1)) {
        return FAILED;
    }
    if part.repeat == Repeat::ShowsNothing || channel.refuses_repeats(part.first_at, now) {
        return Decision::Resend { marked: false };
    }
    match channel.grade {
        Grade::Keyed { .. } | Grade::Reconcilable => Decision::Ask,
        Grade::TwoPhase | Grade::Nothing => without_proof(part),
    }
}

/// A notice is repeated whatever the owner wants of other parts: held, it would tell nobody.
fn without_proof(part: Standing) -> Decision {
    match part.when_unknown {
        WhenUnknown::Hold if part.kind != MessageKind::Notice => Decision::Hold,
        WhenUnknown::Hold | WhenUnknown::Repeat => Decision::Resend { marked: true },
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}
