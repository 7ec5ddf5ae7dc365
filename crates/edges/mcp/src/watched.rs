//! A transport whose end is noticed, with its reason.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio_util::sync::CancellationToken;

/// The end of a connection: whether it came, and the first reason that was given.
#[derive(Debug, Clone, Default)]
pub(crate) struct End {
    over: CancellationToken,
    why: Arc<Mutex<Option<String>>>,
}

impl End {
    /// Gives a reason; the first one holds.
    pub(crate) fn because(&self, why: impl Into<String>) {
        let mut held = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        held.get_or_insert_with(|| why.into());
    }

    pub(crate) fn why(&self) -> Option<String> {
        self.why
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn come(&self) {
        self.over.cancel();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    pub(crate) async fn wait(&self) {
        self.over.cancelled().await;
    }
}

/// A transport that tells of its end.
pub(crate) struct Watched<T> {
    inner: T,
    end: End,
}

impl<T> Watched<T> {
    pub(crate) fn new(inner: T, end: End) -> Self {
        Self { inner, end }
    }
}

impl<T: Transport<RoleClient> + 'static> Transport<RoleClient> for Watched<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.inner.receive().await;
        if message.is_none() {
            self.end.come();
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.end.come();
        self.inner.close().await
    }
}

impl<T> Drop for Watched<T> {
    fn drop(&mut self) {
        self.end.come();
    }
}
