//! A stream that tells when it last moved, so that one that stands still can be given up.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep_until};

/// When something last moved.
#[derive(Debug)]
pub(crate) struct Pulse(Mutex<Instant>);

impl Pulse {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns once nothing has moved for so long.
    pub(crate) async fn silence(&self, long: Duration) {
        loop {
            let due = *self.0.lock().unwrap_or_else(PoisonError::into_inner) + long;
            if due <= Instant::now() {
                return;
            }
            sleep_until(due).await;
        }
    }
}

/// A stream with a pulse. Bytes in either direction are a beat.
pub(crate) struct Watched<S> {
    inner: S,
    pulse: Arc<Pulse>,
}

impl<S> Watched<S> {
    pub(crate) fn new(inner: S, pulse: Arc<Pulse>) -> Self {
        Self { inner, pulse }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.inner).poll_read(context, buffer));
        if buffer.filled().len() > before {
            self.pulse.beat();
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write(context, bytes));
        self.pulse.beat();
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
