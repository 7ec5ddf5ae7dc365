//! A stream of events, each within its bound.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream, Stream};
use net::{NetError, Response};
use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};

/// Shortest and longest wait, in milliseconds, that a server may ask for before a stream is opened again.
const RETRY: (u64, u64) = (100, 300_000);

/// Why a stream ends early.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Net(NetError),
    #[error("an event is larger than {0} bytes")]
    TooLarge(usize),
}

/// The events of an answer. If one is larger than `largest`, the stream ends there: with an answer that says so, if `asked` waits for
/// one.
pub(super) fn events(
    response: Response,
    largest: usize,
    asked: Option<RequestId>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let pieces = stream::unfold(Some(response), async |response| {
        let mut response = response?;
        match response.chunk().await {
            Ok(Some(piece)) => Some((Ok(piece), Some(response))),
            Ok(None) => None,
            Err(error) => Some((Err(Broken::Net(error)), None)),
        }
    });
    let mut over = false;
    SseStream::from_bytes_stream(bounded(pieces, largest))
        .map(move |event| match event {
            Ok(mut event) => {
                let (least, most) = RETRY;
                event.retry = event.retry.map(|wait| wait.clamp(least, most));
                Ok(event)
            }
            Err(error) => match (&error, &asked) {
                (SseError::Body(broken), Some(asked))
                    if matches!(broken.downcast_ref(), Some(Broken::TooLarge(_))) =>
                {
                    Ok(Sse {
                        data: serde_json::to_string(&too_large(asked.clone(), largest)).ok(),
                        ..Sse::default()
                    })
                }
                _ => Err(error),
            },
        })
        // After an error nothing that follows can be believed to begin where an event does.
        .take_while(move |event| {
            let go_on = !over;
            over |= event.is_err();
            std::future::ready(go_on)
        })
        .boxed()
}

/// The answer to a question whose own answer is not read.
pub(super) fn too_large(asked: RequestId, largest: usize) -> ServerJsonRpcMessage {
    let words = format!("its answer is larger than {} MB", largest >> 20);
    ServerJsonRpcMessage::error(ErrorData::internal_error(words, None), Some(asked))
}

/// The same bytes, as long as no event among them is too large.
fn bounded(
    pieces: impl Stream<Item = Result<Bytes, Broken>> + Send + 'static,
    largest: usize,
) -> impl Stream<Item = Result<Bytes, Broken>> + Send + 'static {
    stream::unfold(
        (pieces.boxed(), Some(Measure::default())),
        move |(mut pieces, measure)| async move {
            let mut measure = measure?;
            let piece = match pieces.next().await? {
                Ok(piece) => piece,
                Err(error) => return Some((Err(error), (pieces, None))),
            };
            if piece.iter().any(|byte| measure.add(*byte) > largest) {
                return Some((Err(Broken::TooLarge(largest)), (pieces, None)));
            }
            Some((Ok(piece), (pieces, Some(measure))))
        },
    )
}

/// How much of an event is held so far. Comments are let go with their line.
#[derive(Debug, Default)]
struct Measure {
    event: usize,
    line: usize,
    comment: bool,
    after_return: bool,
}

impl Measure {
    fn add(&mut self, byte: u8) -> usize {
        let second = std::mem::replace(&mut self.after_return, byte == b'\r');
        match byte {
            b'\n' if second => {}
            b'\n' | b'\r' => {
                self.event = match self.line {
                    0 => 0,
                    _ if self.comment => self.event,
                    line => self.event + line,
                };
                self.line = 0;
                self.comment = false;
            }
            byte => {
                self.comment |= self.line == 0 && byte == b':';
                self.line += 1;
            }
        }
        self.event + self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest(stream: &str) -> usize {
        let mut measure = Measure::default();
        stream.bytes().map(|byte| measure.add(byte)).max().unwrap()
    }

    #[test]
    fn an_event_is_measured_from_blank_line_to_blank_line() {
        for (stream, bytes) in [
            ("data: 12\n\ndata: 123\n\n", 9),
            ("data: 12\r\n\r\ndata: 123\r\n\r\n", 9),
            ("data: 12\r\rdata: 1\r\r", 8),
            ("data: 1\ndata: 2\n\n", 14),
            (": 0123456789\n: 0123456789\ndata: 1\n\n", 12),
            ("data: 0123456789", 16),
        ] {
            assert_eq!(largest(stream), bytes, "{stream:?}");
        }
    }

    #[tokio::test]
    async fn an_endless_event_ends_its_stream() {
        let pieces = stream::repeat_with(|| Ok(Bytes::from_static(b"data: 0123456789")));
        let told: Vec<_> = bounded(pieces, 100).collect().await;
        assert_eq!(told.iter().filter(|piece| piece.is_ok()).count(), 6);
        assert!(matches!(told.last(), Some(Err(Broken::TooLarge(100)))));
        assert_eq!(told.len(), 7);
    }
}
