//! Text that comes in pieces.

use std::sync::Arc;

use crate::Redactor;
use crate::redactor::Rest;

/// Takes secrets out of what comes in pieces. It holds back what may be the beginning of one, and nothing else.
pub struct Stream {
    redactor: Arc<Redactor>,
    held: Vec<u8>,
}

impl Stream {
    /// A stream with nothing in it.
    #[must_use]
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            redactor,
            held: Vec::new(),
        }
    }

    /// Adds a piece; returns what may be said by now.
    #[must_use]
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let (clean, until) = self.redactor.advance(&self.held, Rest::Follows);
        self.held.drain(..until.min(self.held.len()));
        clean
    }

    /// As [`Stream::feed`], for text that is cut between characters.
    #[must_use]
    pub fn feed_text(&mut self, text: &str) -> String {
        // Values begin where a character does, so what is held back does, too.
        String::from_utf8_lossy(&self.feed(text.as_bytes())).into_owned()
    }

    /// Ends it; returns what was held back.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        self.redactor.advance(&held, Rest::Ended).0
    }

    /// As [`Stream::finish`], for text.
    #[must_use]
    pub fn finish_text(&mut self) -> String {
        String::from_utf8_lossy(&self.finish()).into_owned()
    }
}
