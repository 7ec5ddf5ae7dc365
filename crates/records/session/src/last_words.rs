//! What a gateway that dies would have wanted to say.

use async_trait::async_trait;
use outbox::{Claimed, NewMessage, StoreError};
use waybill::Timestamp;

/// Messages that are stored ahead and go out only if the gateway dies before it takes them back. Each call is one transaction
/// and durable when it returns.
#[async_trait]
pub trait LastWords: Send + Sync {
    /// Leaves a message, known by its source. One with the same source takes its place.
    async fn leave(&self, message: NewMessage) -> Result<(), StoreError>;

    /// It did not come to that, or it was told otherwise.
    async fn take_back(&self, source: &str) -> Result<(), StoreError>;

    /// At start: everything that was left is stored as if it were said now, and left no more. What was told under the same source
    /// before is not told again.
    async fn speak(&self, now: Timestamp) -> Result<Vec<Claimed>, StoreError>;
}
