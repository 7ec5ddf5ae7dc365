//! Time that a test moves, and ids that it can foresee.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use waybill::{Clock, Ids, Timestamp};

/// A clock that stands until a test moves it.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl Default for ManualClock {
    /// Stands at 2026-01-01T00:00:00Z.
    fn default() -> Self {
        Self(AtomicI64::new(1_767_225_600_000))
    }
}

impl ManualClock {
    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.0.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap_or(Timestamp::MAX)
    }
}

/// Ids that count from one.
#[derive(Debug, Default)]
pub struct CountingIds(AtomicU64);

impl Ids for CountingIds {
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::SeqCst) + 1))
    }
}
