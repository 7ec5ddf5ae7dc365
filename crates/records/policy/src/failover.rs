//! What is done when a model did not answer: the one place that decides.
//!
//! Asking a model is a read, so it may be asked again; the harm is money and time. A failure is charged to the model that failed:
//! it rests, and the others are not asked less for it.

use std::collections::HashMap;
use std::time::Duration;

use model::ModelError;
use waybill::Timestamp;

/// Calls of one model in a row, at most, for one step.
const MOST_CALLS: u32 = 3;
/// The same where another model is left: one that failed twice is not in the mood.
const CALLS_BEFORE_OTHERS: u32 = 2;
/// First wait between two calls; doubled each time (SDKs of vendors begin with half a second, too).
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Longest wait inside a turn: a person waits, too.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Longest wait where another model could be asked at once.
const LONGEST_WAIT_BESIDE_OTHERS: Duration = Duration::from_secs(3);
/// How long a model rests that failed; doubled each time it fails again.
const REST: Duration = Duration::from_secs(60);
/// Longest rest.
const LONGEST_REST: Duration = Duration::from_secs(600);
/// Longest rest that a provider may ask for.
const LONGEST_ASKED_REST: Duration = Duration::from_secs(24 * 3600);

/// Whether something is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Yes.
    Yes,
    /// No.
    No,
}

/// What was tried so far in one step of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// Calls of this model in a row that failed, this one included; from 1.
    pub calls: u32,
    /// Whether another model can be asked.
    pub others: Left,
    /// Whether the conversation can still be made shorter.
    pub compaction: Left,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// The same model is asked again.
    Wait(Duration),
    /// The next model is asked; this one is not asked before its rest is over.
    Next {
        /// How long it rests; zero if it did nothing wrong.
        rest: Duration,
    },
    /// The conversation is made shorter, and the same model asked.
    Compact,
    /// The person is told.
    GiveUp {
        /// How long the model rests all the same, for who comes next.
        rest: Duration,
    },
}

/// Decides. `spread`, from 0 to 255, is chance: who failed together shall not come back together.
#[must_use]
pub fn decide(error: &ModelError, tried: Tried, spread: u8) -> Remedy {
    let next = |rest| match tried.others {
        Left::Yes => Remedy::Next { rest },
        Left::No => Remedy::GiveUp { rest },
    };
    let again = || {
        let most = match tried.others {
            Left::Yes => CALLS_BEFORE_OTHERS,
            Left::No => MOST_CALLS,
        };
        if tried.calls < most {
            Remedy::Wait(pause(tried.calls, spread))
        } else {
            next(REST)
        }
    };
    match error {
        ModelError::TooLong { .. } => match tried.compaction {
            Left::Yes => Remedy::Compact,
            Left::No => next(Duration::ZERO),
        },
        ModelError::Key { .. } => next(REST),
        ModelError::NoMoney { .. } => next(LONGEST_REST),
        ModelError::Refused { .. } | ModelError::Moderated { .. } => next(Duration::ZERO),
        ModelError::Throttled {
            after: Some(after), ..
        } => {
            let longest = match tried.others {
                Left::Yes => LONGEST_WAIT_BESIDE_OTHERS,
                Left::No => LONGEST_WAIT,
            };
            if *after <= longest && tried.calls < MOST_CALLS {
                Remedy::Wait(*after)
            } else {
                next((*after).min(LONGEST_ASKED_REST))
            }
        }
        // Minutes were waited already.
        ModelError::Silent { .. } if tried.others == Left::Yes => next(REST),
        ModelError::Throttled { after: None, .. }
        | ModelError::Unreachable { .. }
        | ModelError::Failed { .. }
        | ModelError::BrokeOff { .. }
        | ModelError::Silent { .. } => again(),
    }
}

/// The wait after so many failed calls: half of it is sure, the rest chance.
fn pause(calls: u32, spread: u8) -> Duration {
    let whole = FIRST_WAIT * 2_u32.saturating_pow(calls.saturating_sub(1).min(8));
    let half = whole.min(LONGEST_WAIT) / 2;
    half + half * u32::from(spread) / 255
}

#[derive(Debug, Clone, Copy)]
struct Rest {
    until: Timestamp,
    times: u32,
}

/// Which models rest. A model whose rest is over is asked again, once: if it fails, it rests longer.
#[derive(Debug, Default)]
pub struct Rests {
    by_route: HashMap<String, Rest>,
}

impl Rests {
    /// A model failed and rests.
    pub fn failed(&mut self, route: &str, rest: Duration, now: Timestamp) {
        if rest.is_zero() {
            return;
        }
        let times = self.by_route.get(route).map_or(0, |rest| rest.times);
        let longer = rest * 2_u32.saturating_pow(times.min(8));
        let rest_now = longer.min(LONGEST_REST.max(rest));
        let until = now.saturating_add(rest_now).unwrap_or(Timestamp::MAX);
        let times = times.saturating_add(1);
        self.by_route
            .insert(route.to_owned(), Rest { until, times });
    }

    /// A model answered.
    pub fn answered(&mut self, route: &str) {
        self.by_route.remove(route);
    }

    /// Until when a model rests; `None` if it can be asked.
    #[must_use]
    pub fn until(&self, route: &str, now: Timestamp) -> Option<Timestamp> {
        let rest = self.by_route.get(route)?;
        (rest.until > now).then_some(rest.until)
    }

    /// Which of the models is asked: the first that does not rest; if all do, the one that rests the shortest. `None` for none.
    #[must_use]
    pub fn choose<'a>(
        &self,
        routes: impl IntoIterator<Item = &'a str>,
        now: Timestamp,
    ) -> Option<usize> {
        routes
            .into_iter()
            .enumerate()
            .min_by_key(|(place, route)| (self.until(route, now), *place))
            .map(|(place, _)| place)
    }
}

#[cfg(test)]
mod tests;
