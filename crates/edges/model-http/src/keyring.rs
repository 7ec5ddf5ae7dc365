//! Several keys of one provider: which is asked with, and which rests.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::ModelError;
use tokio::time::Instant;
use waybill::Secret;

/// How long a key rests that was refused or has no credit left: somebody has to do something about it.
const REFUSED: Duration = Duration::from_secs(300);
/// How long a key rests that was asked too often and was not told for how long.
const THROTTLED: Duration = Duration::from_secs(30);
/// Longest rest: a day's quota.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The keys of a provider in the order of the configuration. What went wrong with one is charged to it alone.
#[derive(Debug)]
pub(crate) struct Keyring {
    keys: Vec<Secret>,
    /// Until when each rests.
    rests: Mutex<Vec<Option<Instant>>>,
}

/// A key, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(usize);

impl Keyring {
    pub(crate) fn new(keys: Vec<Secret>) -> Self {
        Self {
            rests: Mutex::new(vec![None; keys.len()]),
            keys,
        }
    }

    fn rests(&self) -> MutexGuard<'_, Vec<Option<Instant>>> {
        self.rests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first key that does not rest and is not among those that were `tried` for this call. Where nothing was tried and all
    /// rest, the one whose rest ends first: the provider itself says best whether it works again.
    pub(crate) fn next(&self, tried: &[Place], now: Instant) -> Option<Place> {
        let rests = self.rests();
        let awake = |until: &Option<Instant>| until.is_none_or(|until| until <= now);
        let left = || {
            let all = rests.iter().enumerate();
            all.filter(|(place, _)| !tried.contains(&Place(*place)))
        };
        let found = left().find(|(_, until)| awake(until));
        let found = found.or_else(|| {
            let least = left().min_by_key(|(_, until)| **until);
            least.filter(|_| tried.is_empty())
        });
        found.map(|(place, _)| Place(place))
    }

    pub(crate) fn key(&self, place: Option<Place>) -> Option<&Secret> {
        self.keys.get(place?.0)
    }

    /// Charges an error to the key that got it. Says whether another key may fare better.
    pub(crate) fn charge(&self, place: Place, error: &ModelError, now: Instant) -> Fault {
        let rest = match error {
            ModelError::Key { .. } | ModelError::NoMoney { .. } => REFUSED,
            ModelError::Throttled { after, .. } => after.unwrap_or(THROTTLED).min(LONGEST),
            ModelError::Unreachable { .. }
            | ModelError::TooLong { .. }
            | ModelError::Refused { .. }
            | ModelError::Moderated { .. }
            | ModelError::Failed { .. }
            | ModelError::BrokeOff { .. }
            | ModelError::Silent { .. } => return Fault::NotOfTheKey,
        };
        if let Some(until) = self.rests().get_mut(place.0) {
            *until = now.checked_add(rest);
        }
        Fault::OfTheKey
    }
}

/// Whose fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Another key may fare better.
    OfTheKey,
    /// Any key would get the same.
    NotOfTheKey,
}

/// Of two errors of two keys the one that says most about what helps: a wait ends by itself, and the shorter one first.
pub(crate) fn kinder(one: ModelError, other: ModelError) -> ModelError {
    let rank = |error: &ModelError| match error {
        ModelError::Throttled { after, .. } => (0, after.unwrap_or(THROTTLED)),
        ModelError::NoMoney { .. } => (1, Duration::ZERO),
        ModelError::Key { .. }
        | ModelError::Unreachable { .. }
        | ModelError::TooLong { .. }
        | ModelError::Refused { .. }
        | ModelError::Moderated { .. }
        | ModelError::Failed { .. }
        | ModelError::BrokeOff { .. }
        | ModelError::Silent { .. } => (2, Duration::ZERO),
    };
    if rank(&other) < rank(&one) {
        other
    } else {
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(keys: usize) -> Keyring {
        let key = |place| Secret::new(format!("key-{place}"));
        Keyring::new((0..keys).map(key).collect())
    }

    fn throttled(seconds: Option<u64>) -> ModelError {
        ModelError::Throttled {
            provider: "acme".to_owned(),
            cause: "slow down".to_owned(),
            after: seconds.map(Duration::from_secs),
        }
    }

    fn refused() -> ModelError {
        ModelError::Key {
            provider: "acme".to_owned(),
            cause: "no".to_owned(),
        }
    }

    #[test]
    fn a_key_rests_as_long_as_its_error_says() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        for (error, rest) in [
            (refused(), 300),
            (
                ModelError::NoMoney {
                    provider: "acme".to_owned(),
                    cause: "empty".to_owned(),
                },
                300,
            ),
            (throttled(Some(70)), 70),
            (throttled(None), 30),
            (throttled(Some(u64::MAX)), 24 * 3600),
        ] {
            let ring = ring(2);
            assert_eq!(ring.charge(Place(0), &error, begun), Fault::OfTheKey);
            assert_eq!(
                ring.next(&[], after(rest - 1)),
                Some(Place(1)),
                "{error}: it rests"
            );
            assert_eq!(
                ring.next(&[], after(rest)),
                Some(Place(0)),
                "{error}: its rest is over"
            );
        }
    }

    #[test]
    fn what_is_no_fault_of_a_key_costs_it_nothing() {
        let ring = ring(2);
        let now = Instant::now();
        let error = ModelError::Failed {
            provider: "acme".to_owned(),
            cause: "HTTP 503".to_owned(),
        };
        assert_eq!(ring.charge(Place(0), &error, now), Fault::NotOfTheKey);
        assert_eq!(ring.next(&[], now), Some(Place(0)));
    }

    #[test]
    fn each_key_is_tried_once_for_a_call_and_a_lone_one_is_always_asked() {
        let now = Instant::now();
        let ring = ring(2);
        assert_eq!(ring.next(&[Place(0)], now), Some(Place(1)));
        assert_eq!(ring.next(&[Place(0), Place(1)], now), None);
        ring.charge(Place(0), &throttled(Some(60)), now);
        ring.charge(Place(1), &throttled(Some(20)), now);
        assert_eq!(ring.next(&[], now), Some(Place(1)), "its rest ends first");
        assert_eq!(ring.next(&[Place(1)], now), None, "the other one rests");
        let lone = self::ring(1);
        lone.charge(Place(0), &refused(), now);
        assert_eq!(lone.next(&[], now), Some(Place(0)));
        assert_eq!(self::ring(0).next(&[], now), None);
    }

    #[test]
    fn of_two_errors_the_shorter_wait_is_told() {
        assert_eq!(kinder(refused(), throttled(Some(9))), throttled(Some(9)));
        assert_eq!(kinder(throttled(Some(9)), refused()), throttled(Some(9)));
        assert_eq!(
            kinder(throttled(Some(90)), throttled(Some(9))),
            throttled(Some(9))
        );
    }
}
