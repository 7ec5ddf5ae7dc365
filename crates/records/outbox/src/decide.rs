//! What happens to a part next. Pure: the courier does it, the store writes it down.

use std::time::Duration;

use chat::{Fault, FaultKind, Grade, Receipt, ThrottleScope};
use waybill::{ChatKey, Timestamp};

use crate::{Backoff, MOST_TRIES, MessageKind, PartState};

/// What is known of a part when something happened to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Where it stands.
    pub state: PartState,
    /// Tries that counted so far, this one included; after [`Event::Settled`] this one is the try that would come.
    pub tries: u32,
    /// Attempts so far, also those that did not count, this one included.
    pub attempt: u32,
    /// What it is for.
    pub kind: MessageKind,
    /// When it is too old.
    pub expires_at: Timestamp,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The attempt ended with a receipt.
    Delivered(Receipt),
    /// The attempt ended with a fault.
    Faulted(Fault),
    /// The gateway found it `sending` at its start: nobody knows what became of the attempt.
    FoundAtStart,
    /// Its time to wait after an unknown end is over.
    Settled,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It is there.
    Sent {
        /// What the platform made of it.
        receipt: Receipt,
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
    /// Nobody knows; wait until then before the next step.
    Unknown {
        /// Settled then.
        at: Timestamp,
    },
    /// Send again, marked where the platform can't refuse a repeat.
    Resend {
        /// Whether a mark must say that this may be a repeat.
        marked: bool,
    },
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

/// Shortest wait after a lost answer before anything else: the platform may still be at it (outbox theory: at least the
/// client's own time-out plus the platform's processing; Telegram's is short).
const SETTLE: Duration = Duration::from_secs(2);

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
    grade: Grade,
    backoff: Backoff,
    now: Timestamp,
) -> Decision {
    match event {
        Event::Delivered(receipt) => Decision::Sent { receipt },
        Event::FoundAtStart => Decision::Unknown { at: now },
        Event::Settled => after_unknown(part, grade, now),
        Event::Faulted(fault) => faulted(part, &fault.kind, backoff, now),
    }
}

fn faulted(part: Standing, kind: &FaultKind, backoff: Backoff, now: Timestamp) -> Decision {
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
            in_time(
                part,
                later(now, (*after).min(LONGEST_WAIT)),
                Counting::No,
                gate,
            )
        }
        FaultKind::PermAccount => {
            in_time(part, later(now, ACCOUNT_REST), Counting::No, Gate::Account)
        }
        FaultKind::NotSent => in_time(
            part,
            later(now, backoff.wait_within(part.attempt, LONGEST_UNSENT)),
            Counting::No,
            Gate::Lane,
        ),
        FaultKind::TempReject if worn_out(part, part.tries) => Decision::Dead {
            state: PartState::Failed,
            lane: false,
        },
        FaultKind::TempReject => in_time(
            part,
            later(now, backoff.wait(part.tries)),
            Counting::Yes,
            Gate::Lane,
        ),
        FaultKind::Moved { to } => Decision::Redirect { to: to.clone() },
        FaultKind::PermItem => Decision::Dead {
            state: PartState::Failed,
            lane: false,
        },
        FaultKind::PermChat => Decision::Dead {
            state: PartState::Failed,
            lane: true,
        },
        FaultKind::Unknown => Decision::Unknown {
            at: later(now, backoff.wait(part.tries).max(SETTLE)),
        },
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
        return Decision::Dead {
            state: PartState::Expired,
            lane: false,
        };
    }
    Decision::Retry {
        at,
        counts: counting == Counting::Yes,
        gate,
    }
}

/// After an unknown end that has settled: a keyed platform refuses the repeat by itself, elsewhere the repeat is marked.
fn after_unknown(part: Standing, grade: Grade, now: Timestamp) -> Decision {
    if now >= part.expires_at {
        return Decision::Dead {
            state: PartState::Expired,
            lane: false,
        };
    }
    // The try that this decision would begin is counted already.
    if worn_out(part, part.tries.saturating_sub(1)) {
        return Decision::Dead {
            state: PartState::Failed,
            lane: false,
        };
    }
    match grade {
        Grade::Keyed => Decision::Resend { marked: false },
        Grade::Reconcilable | Grade::TwoPhase | Grade::Nothing => Decision::Resend { marked: true },
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}
