//! What a store's test gives the suite.

use async_trait::async_trait;
use outbox::OutboxStore;
use policy::AccessStore;
use session::{InboxStore, Ledger, RetentionStore, SessionStore, VisibleLog};

/// A store with all its ports.
pub trait AnyStore:
    OutboxStore
    + InboxStore
    + SessionStore
    + VisibleLog
    + AccessStore
    + RetentionStore
    + Ledger
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> AnyStore for S where
    S: OutboxStore
        + InboxStore
        + SessionStore
        + VisibleLog
        + AccessStore
        + RetentionStore
        + Ledger
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// A place in which a store can be opened again and again.
#[async_trait]
pub trait World: Send + Sync + Sized {
    /// The store.
    type Store: AnyStore;

    /// An empty place.
    fn fresh() -> Self;

    /// Opens the store, which must find what was there before.
    async fn open(&self) -> Self::Store;

    /// Closes the store, as a gateway that stops does.
    async fn close(&self, store: Self::Store);
}

/// Runs a case on a runtime of its own.
#[allow(
    clippy::expect_used,
    reason = "a test that can't set up its world should stop"
)]
pub fn run(case: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(case);
}
