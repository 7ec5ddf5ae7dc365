//! What the world gives: time and fresh ids. Everything takes them through these ports, so that tests can hold them.

use jiff::Timestamp;
use uuid::Uuid;

/// The time.
pub trait Clock: Send + Sync {
    /// Wall clock, in whole milliseconds (what the store keeps).
    fn now(&self) -> Timestamp;
}

/// Fresh identities.
pub trait Ids: Send + Sync {
    /// A UUIDv7 that was never given before.
    fn uuid(&self) -> Uuid;
}
