//! What a request carries: pieces of known length, streamed.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::io;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, Stream, StreamExt as _};

use crate::progress::Progress;

pub(crate) type Source = BoxStream<'static, io::Result<Bytes>>;

/// A body whose length is known before its first byte is read.
pub(crate) struct Measured {
    pub(crate) length: u64,
    source: Source,
}

impl Measured {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self {
            length: bytes.len() as u64,
            source: stream::once(std::future::ready(Ok(bytes))).boxed(),
        }
    }

    /// Holds `source` to its promise: one byte more or less is an error, since the service would wait or misread.
    pub(crate) fn streamed(
        length: u64,
        source: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Self {
        let held = stream::unfold(
            (source.boxed(), length, State::Open),
            move |(mut source, left, state)| async move {
                if state == State::Over {
                    return None;
                }
                let over = |source, error: io::Error| Some((Err(error), (source, 0, State::Over)));
                match source.next().await {
                    Some(Ok(piece)) => match left.checked_sub(piece.len() as u64) {
                        Some(rest) => Some((Ok(piece), (source, rest, State::Open))),
                        None => over(source, io::Error::other("it is longer than was said")),
                    },
                    Some(Err(error)) => over(source, error),
                    None if left > 0 => over(
                        source,
                        io::Error::other(format!("it is {left} bytes shorter than was said")),
                    ),
                    None => None,
                }
            },
        );
        Self {
            length,
            source: held.boxed(),
        }
    }

    fn then(self, next: Self) -> Self {
        Self {
            length: self.length.saturating_add(next.length),
            source: self.source.chain(next.source).boxed(),
        }
    }

    /// The stream for the wire; each piece that is taken counts as movement.
    pub(crate) fn watched(
        self,
        progress: Progress,
    ) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        self.source.inspect(move |piece| match piece {
            Ok(_) => progress.moved(),
            Err(error) => progress.broke(error.to_string()),
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Over,
}

/// A form with files (`multipart/form-data`).
///
/// Names and file names are written as browsers write them: UTF-8 in quotes, with `"`, CR and LF as percent escapes.
pub struct Multipart {
    boundary: String,
    body: Measured,
}

impl Default for Multipart {
    fn default() -> Self {
        Self::new()
    }
}

impl Multipart {
    /// An empty form.
    #[must_use]
    pub fn new() -> Self {
        // 128 bits that no sender of a file can foresee: each RandomState has its own keys.
        let half = || RandomState::new().hash_one(0_u8);
        Self {
            boundary: format!("tidings-{:016x}{:016x}", half(), half()),
            body: Measured::whole(Bytes::new()),
        }
    }

    /// Adds a field.
    #[must_use]
    pub fn text(self, name: &str, value: impl Into<String>) -> Self {
        let head = self.head(name, "");
        self.part(head, Measured::whole(Bytes::from(value.into())))
    }

    /// Adds a file of `length` bytes, read while it is sent.
    #[must_use]
    pub fn file(
        self,
        name: &str,
        file_name: &str,
        mime: &str,
        length: u64,
        source: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Self {
        let mime: String = mime.chars().filter(|one| !one.is_control()).collect();
        let head = self.head(
            name,
            &format!(
                "; filename=\"{}\"\r\nContent-Type: {mime}",
                quoted(file_name)
            ),
        );
        self.part(head, Measured::streamed(length, source))
    }

    /// Length of the whole body in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.body.length + self.end().len() as u64
    }

    fn head(&self, name: &str, rest: &str) -> String {
        format!(
            "--{}\r\nContent-Disposition: form-data; name=\"{}\"{rest}\r\n\r\n",
            self.boundary,
            quoted(name)
        )
    }

    fn part(mut self, head: String, content: Measured) -> Self {
        self.body = self
            .body
            .then(Measured::whole(Bytes::from(head)))
            .then(content)
            .then(Measured::whole(Bytes::from_static(b"\r\n")));
        self
    }

    fn end(&self) -> String {
        format!("--{}--\r\n", self.boundary)
    }

    pub(crate) fn into_body(self) -> (String, Measured) {
        let end = self.end();
        let kind = format!("multipart/form-data; boundary={}", self.boundary);
        (kind, self.body.then(Measured::whole(Bytes::from(end))))
    }
}

fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}
