//! The real clock and real ids: the one place that asks the machine.

use waybill::{Clock, Ids, Timestamp};

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the port's one real implementation"
    )]
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }
}

/// Fresh UUIDv7s.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl Ids for SystemIds {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the port's one real implementation"
    )]
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }
}
