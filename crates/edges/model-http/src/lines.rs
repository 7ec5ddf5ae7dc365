//! A stream of lines, each one JSON text, decoded from bytes as they come. No I/O.

use net::sse::Event;

/// Takes bytes, gives a line as an event without a kind.
#[derive(Debug)]
pub struct LineDecoder {
    limit: usize,
    line: Vec<u8>,
}

/// A line is longer than the limit; the stream can't be read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// The limit in bytes.
    pub limit: usize,
}

impl std::fmt::Display for TooLong {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "a line is longer than {} bytes", self.limit)
    }
}

impl LineDecoder {
    /// A decoder for lines of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
        }
    }

    /// Takes the next bytes and returns the lines that they complete; empty ones are left out.
    ///
    /// # Errors
    /// [`TooLong`].
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            if self.line.len() + piece.len() > self.limit {
                return Err(TooLong { limit: self.limit });
            }
            self.line.extend_from_slice(piece);
            if pieces.peek().is_some() {
                events.extend(self.end());
            }
        }
        Ok(events)
    }

    /// The stream ended. Gives what came after the last line break.
    #[must_use]
    pub fn finish(mut self) -> Option<Event> {
        self.end()
    }

    fn end(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let data = String::from_utf8_lossy(&line).trim().to_owned();
        (!data.is_empty()).then(|| Event {
            data,
            ..Event::default()
        })
    }
}
