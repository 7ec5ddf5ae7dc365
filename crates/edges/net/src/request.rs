//! One request, from its parts to the head of its answer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::Stream;
use reqwest::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use reqwest::{Method, Url};
use serde::Serialize;
use tokio::time::Instant;

use crate::body::Measured;
use crate::progress::Progress;
use crate::{Multipart, NetError, Options, Response, Stage};

enum Body {
    None,
    Whole(Bytes),
    Streamed(Measured),
}

/// A request that is being put together. What is wrong with it is told by [`Request::send`].
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    http: reqwest::Client,
    method: Method,
    url: Result<Url, NetError>,
    headers: HeaderMap,
    body: Body,
    connect_timeout: Duration,
    answer_timeout: Duration,
    read_timeout: Duration,
    total_timeout: Option<Duration>,
    fault: Option<NetError>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Request")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

impl Request {
    pub(crate) fn new(
        http: reqwest::Client,
        options: Arc<Options>,
        method: Method,
        url: Result<Url, NetError>,
    ) -> Self {
        Self {
            http,
            method,
            url,
            headers: HeaderMap::new(),
            body: Body::None,
            connect_timeout: options.connect_timeout,
            answer_timeout: options.read_timeout,
            read_timeout: options.read_timeout,
            total_timeout: options.total_timeout,
            fault: None,
        }
    }

    /// Sets a header.
    pub fn header(self, name: &str, value: &str) -> Self {
        self.set(name, HeaderValue::from_str(value), Shown::Yes)
    }

    /// Sets `Authorization: Bearer …`; the value is marked as secret.
    pub fn bearer(self, token: &str) -> Self {
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        self.set(AUTHORIZATION.as_str(), value, Shown::No)
    }

    /// Sets a header whose value is secret.
    pub fn secret_header(self, name: &str, value: &str) -> Self {
        self.set(name, HeaderValue::from_str(value), Shown::No)
    }

    /// Sends JSON.
    pub fn json(mut self, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(bytes) => self.bytes("application/json", bytes),
            Err(error) => {
                self.fault = Some(NetError::Build {
                    cause: error.to_string(),
                });
                self
            }
        }
    }

    /// Sends bytes of a kind.
    pub fn bytes(mut self, mime: &str, bytes: impl Into<Bytes>) -> Self {
        self.body = Body::Whole(bytes.into());
        self.header(CONTENT_TYPE.as_str(), mime)
    }

    /// Sends `length` bytes, read while they are sent.
    pub fn stream(
        mut self,
        mime: &str,
        length: u64,
        source: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Self {
        self.body = Body::Streamed(Measured::streamed(length, source));
        self.header(CONTENT_TYPE.as_str(), mime)
    }

    /// Sends a form with files.
    pub fn multipart(mut self, form: Multipart) -> Self {
        let (kind, body) = form.into_body();
        self.body = Body::Streamed(body);
        self.header(CONTENT_TYPE.as_str(), &kind)
    }

    /// How long the answer's head may take after the last movement of the upload (a long poll needs more). Instead of the options' read time-out.
    pub fn answer_timeout(mut self, wait: Duration) -> Self {
        self.answer_timeout = wait;
        self
    }

    /// How long the next piece of the answer may take. Instead of the options' own.
    pub fn read_timeout(mut self, wait: Duration) -> Self {
        self.read_timeout = wait;
        self
    }

    /// How long everything may take. Instead of the options' own.
    pub fn total_timeout(mut self, wait: Duration) -> Self {
        self.total_timeout = Some(wait);
        self
    }

    fn set(
        mut self,
        name: &str,
        value: Result<HeaderValue, reqwest::header::InvalidHeaderValue>,
        shown: Shown,
    ) -> Self {
        match (HeaderName::from_bytes(name.as_bytes()), value) {
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(shown == Shown::No);
                self.headers.insert(name, value);
            }
            (Err(_), _) | (_, Err(_)) => {
                self.fault = Some(NetError::Build {
                    cause: format!("the header '{name}' holds characters that HTTP does not allow"),
                });
            }
        }
        self
    }

    /// Sends it once and waits for the head of the answer.
    ///
    /// # Errors
    /// [`NetError`]; see [`NetError::may_have_arrived`].
    pub async fn send(self) -> Result<Response, NetError> {
        let url = self.url?;
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let begun = Instant::now();
        let total = self.total_timeout.map(|wait| (begun + wait, wait));
        let progress = Progress::begun();
        let mut request = reqwest::Request::new(self.method, url.clone());
        *request.headers_mut() = self.headers;
        match self.body {
            Body::None => {}
            Body::Whole(bytes) => *request.body_mut() = Some(bytes.into()),
            Body::Streamed(body) => {
                request
                    .headers_mut()
                    .insert(CONTENT_LENGTH, HeaderValue::from(body.length));
                let stream = body.watched(progress.clone());
                *request.body_mut() = Some(reqwest::Body::wrap_stream(stream));
            }
        }
        let call = self.http.execute(request);
        tokio::pin!(call);
        // Connecting has a time-out of its own, so the wait for the answer begins after it at the latest.
        let mut quiet = self.connect_timeout + self.answer_timeout;
        let answer = loop {
            let moved = progress.last_moved();
            let silent_at = moved + quiet;
            let until = total.map_or(silent_at, |(end, _)| end.min(silent_at));
            tokio::select! {
                biased;
                answer = &mut call => break answer,
                () = tokio::time::sleep_until(until) => {
                    if let Some((end, wait)) = total && Instant::now() >= end {
                        return Err(NetError::Timeout { stage: Stage::Answer, after: wait });
                    }
                    if progress.last_moved() == moved {
                        return Err(NetError::Timeout { stage: Stage::Answer, after: quiet });
                    }
                    quiet = self.answer_timeout;
                }
            }
        };
        match answer {
            Ok(answer) => Ok(Response::new(answer, url, self.read_timeout, total)),
            Err(error) => Err(match progress.broken() {
                Some(cause) => NetError::Source { cause },
                None => NetError::of_sending(error, &url),
            }),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Yes,
    No,
}
