//! Whether the clock may be believed when it says that something is too old.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use waybill::Timestamp;

/// How long two readings lie apart before they count as two. A machine that starts with a wrong clock is set right within it.
pub(crate) const APART: Duration = Duration::from_secs(30);
/// By so much may the wall clock and the machine's own run apart between two readings.
const DRIFT: Duration = Duration::from_secs(5);

/// Two clocks, read together: one that can be set, and one that can't.
#[derive(Debug)]
pub(crate) struct Readings(Mutex<(Timestamp, Instant)>);

impl Readings {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self(Mutex::new((now, Instant::now())))
    }

    /// Whether the wall clock ran as it should since the first reading, long enough to say so. A jump makes this reading the
    /// first one.
    pub(crate) fn agree(&self, now: Timestamp) -> bool {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let real = first.1.elapsed();
        let told = now.duration_since(first.0);
        let real_told = jiff::SignedDuration::try_from(real).unwrap_or(jiff::SignedDuration::MAX);
        let apart = told.checked_sub(real_told).map(|apart| apart.abs());
        let drift = jiff::SignedDuration::try_from(DRIFT).unwrap_or(jiff::SignedDuration::ZERO);
        if apart.is_none_or(|apart| apart > drift) {
            *first = (now, Instant::now());
            return false;
        }
        real >= APART
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_jumps_is_believed_at_the_second_reading() {
        let readings = Readings::new(at(0));
        assert!(
            !readings.agree(at(0)),
            "the first reading alone says nothing"
        );
        tokio::time::advance(APART).await;
        assert!(readings.agree(at(30)));
        // Set ahead by a day.
        assert!(!readings.agree(at(86_430)));
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(!readings.agree(at(86_440)), "too soon");
        tokio::time::advance(Duration::from_secs(20)).await;
        assert!(readings.agree(at(86_460)));
        // Set back.
        assert!(!readings.agree(at(60)));
        tokio::time::advance(APART).await;
        assert!(readings.agree(at(90)));
    }
}
