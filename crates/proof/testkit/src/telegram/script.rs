//! What goes wrong, and when.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::request::Call;

/// Holds a request until a test lets it go.
#[derive(Debug, Clone)]
pub struct Gate(Arc<Semaphore>);

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }
}

impl Gate {
    /// Lets everything through, now and later.
    pub fn release(&self) {
        self.0.close();
    }

    pub(super) async fn pass(&self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

/// What goes wrong with a request.
#[derive(Debug, Clone)]
pub enum Trouble {
    /// 429 with `retry_after` in seconds, in the body and as a header.
    Flood(u64),
    /// 429 with `retry_after` in seconds as a header alone; the body is no JSON.
    FloodHeader(u64),
    /// 429 with `retry_after` in seconds in the body alone.
    FloodBody(u64),
    /// 400 with this description (without "Bad Request: ").
    BadRequest(String),
    /// 400 with `migrate_to_chat_id`.
    Migrated(i64),
    /// 401.
    Unauthorized,
    /// 403 with this description (without "Forbidden: ").
    Forbidden(String),
    /// 409, terminated by another poller.
    Conflict,
    /// This status of the 5xx class, as JSON; nothing was done.
    Server(u16),
    /// Any status, type and body; nothing was done.
    Raw {
        /// The status.
        status: u16,
        /// The content type.
        mime: &'static str,
        /// The body.
        body: String,
    },
    /// Done, and then the connection is closed without an answer.
    AcceptThenDrop,
    /// Not done, and the connection is closed without an answer.
    Drop,
    /// Done, and then 500.
    AcceptThen500,
    /// Done, and the answer's body is cut in the middle.
    HalfBody,
    /// Half of the request is read, then the connection is reset. Only by a rule without a test: nothing of the request is
    /// known then.
    HalfRequest,
    /// Done, and the answer comes a few bytes at a time with this pause between them.
    Trickle(Duration),
    /// `getUpdates`: each update twice.
    Twice,
    /// `getUpdates`: the newest first.
    Reversed,
    /// `getUpdates`: some that were confirmed come again, before the others.
    Again,
    /// Nothing is done until the gate is released; then all is well. It is done even if the client is gone by then.
    Hold(Gate),
    /// Done at once, answered when the gate is released.
    HoldAnswer(Gate),
}

impl Trouble {
    /// Its name in the ledger.
    pub(super) fn name(&self) -> String {
        let whole = format!("{self:?}");
        whole
            .split(|sign: char| !sign.is_ascii_alphanumeric())
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    /// The seconds that it asks for, if it is a flood.
    pub(super) fn wait(&self) -> Option<u64> {
        if let Self::Flood(seconds) | Self::FloodHeader(seconds) | Self::FloodBody(seconds) = self {
            return Some(*seconds);
        }
        None
    }
}

/// For whom a wait is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Chat,
    Bot,
}

type Test = Arc<dyn Fn(&Call) -> bool + Send + Sync>;

/// Which requests are meant.
#[derive(Clone)]
pub struct Rule {
    method: String,
    test: Option<Test>,
    skip: usize,
    times: usize,
}

impl fmt::Debug for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} +{} ×{}", self.method, self.skip, self.times)
    }
}

impl Rule {
    /// The next request of this method (a file download is the method `file`).
    #[must_use]
    pub fn on(method: &str) -> Self {
        Self {
            method: method.to_owned(),
            test: None,
            skip: 0,
            times: 1,
        }
    }

    /// From the nth one that fits, counted from 1 since the rule was given.
    #[must_use]
    pub fn nth(mut self, nth: usize) -> Self {
        self.skip = nth.saturating_sub(1);
        self
    }

    /// So many in a row.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// Every one from there on.
    #[must_use]
    pub fn always(self) -> Self {
        self.times(usize::MAX)
    }

    /// Only those that fit.
    #[must_use]
    pub fn when(mut self, test: impl Fn(&Call) -> bool + Send + Sync + 'static) -> Self {
        self.test = Some(Arc::new(test));
        self
    }

    /// Counts a request of which only the method is known; true if it is meant.
    pub(super) fn strikes_unread(&mut self, method: &str) -> bool {
        self.method == method && self.test.is_none() && self.counted()
    }

    /// Counts a request; true if it is meant.
    pub(super) fn strikes(&mut self, call: &Call) -> bool {
        if call.method != self.method || self.test.as_ref().is_some_and(|test| !test(call)) {
            return false;
        }
        self.counted()
    }

    fn counted(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        if self.times == 0 {
            return false;
        }
        if self.times != usize::MAX {
            self.times -= 1;
        }
        true
    }
}
