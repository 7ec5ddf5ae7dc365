//! An answer: its head, and its body piece by piece.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::Url;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::retry_after::{retry_after, retry_after_ms};
use crate::{NetError, Stage};

/// The head of an answer, with the body still to be read.
pub struct Response {
    inner: reqwest::Response,
    url: Url,
    read_timeout: Duration,
    total: Option<(Instant, Duration)>,
}

impl std::fmt::Debug for Response {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Response")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

impl Response {
    pub(crate) fn new(
        inner: reqwest::Response,
        url: Url,
        read_timeout: Duration,
        total: Option<(Instant, Duration)>,
    ) -> Self {
        Self {
            inner,
            url,
            read_timeout,
            total,
        }
    }

    /// Where it came from, after redirects. It may hold a secret: not for logs.
    #[must_use]
    pub fn address(&self) -> &str {
        self.inner.url().as_str()
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.inner.status().as_u16()
    }

    /// Whether the status is 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.inner.status().is_success()
    }

    /// A header, if it is there and plain text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers().get(name)?.to_str().ok()
    }

    /// `Content-Length`, if the server told it.
    #[must_use]
    pub fn content_length(&self) -> Option<u64> {
        self.header("content-length")?.trim().parse().ok()
    }

    /// `Retry-After` (seconds, or a date measured against the server's own clock) or `retry-after-ms`. `None` for what makes no sense, and
    /// for more than a day.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let exact = self.header("retry-after-ms").and_then(retry_after_ms);
        exact.or_else(|| self.wait_in("retry-after"))
    }

    /// A wait that another header names, in the forms of `Retry-After`.
    #[must_use]
    pub fn wait_in(&self, name: &str) -> Option<Duration> {
        retry_after(self.header(name)?, self.header("date"))
    }

    /// The next piece of the body; `None` at its true end.
    ///
    /// # Errors
    /// [`NetError::Ambiguous`] if the connection was cut, [`NetError::Timeout`] after silence.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        self.chunk_within(self.read_timeout).await
    }

    /// As [`Response::chunk`], with its own time-out for this piece.
    ///
    /// # Errors
    /// As [`Response::chunk`].
    pub async fn chunk_within(&mut self, wait: Duration) -> Result<Option<Bytes>, NetError> {
        let silent_at = Instant::now() + wait;
        let (until, after) = match self.total {
            Some((end, wait)) if end < silent_at => (end, wait),
            _ => (silent_at, wait),
        };
        match tokio::time::timeout_at(until, self.inner.chunk()).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(error)) => Err(NetError::of_reading(error, &self.url)),
            Err(_elapsed) => Err(NetError::Timeout {
                stage: Stage::Body,
                after,
            }),
        }
    }

    /// The whole body, if it has at most `limit` bytes.
    ///
    /// # Errors
    /// As [`Response::chunk`]; [`NetError::TooLarge`].
    pub async fn bytes_limited(mut self, limit: u64) -> Result<Bytes, NetError> {
        let too_large = NetError::TooLarge { limit };
        if self.content_length().is_some_and(|length| length > limit) {
            return Err(too_large);
        }
        let mut body = BytesMut::new();
        while let Some(piece) = self.chunk().await? {
            if (body.len() + piece.len()) as u64 > limit {
                return Err(too_large);
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    }

    /// The whole body as JSON, if it has at most `limit` bytes.
    ///
    /// # Errors
    /// As [`Response::bytes_limited`]; [`NetError::NotJson`].
    pub async fn json_limited<T: DeserializeOwned>(self, limit: u64) -> Result<T, NetError> {
        let body = self.bytes_limited(limit).await?;
        serde_json::from_slice(&body).map_err(|error| NetError::NotJson {
            cause: error.to_string(),
        })
    }
}
