//! What moves in a conversation, event by event. A stream that ends is begun again where it was.

use std::collections::VecDeque;
use std::time::Duration;

use net::Response;
use net::sse::{Decoder, Event};

use super::Conversation;
use super::door::Door;
use crate::exit::Failure;

/// Largest event: an entry or a preview with the longest text.
const LARGEST: usize = 16 << 20;
/// The gateway gives a sign of life each 15 s.
const SILENCE: Duration = Duration::from_secs(60);
/// Between two tries.
const REST: Duration = Duration::from_millis(500);
/// Tries in a row, at most.
const TRIES: u32 = 20;

/// The events of a conversation.
pub(crate) struct Stream<'a> {
    door: &'a Door,
    path: String,
    open: Option<(Response, Decoder)>,
    waiting: VecDeque<Event>,
    newest: i64,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(door: &'a Door, conversation: &Conversation) -> Self {
        Self {
            door,
            path: format!(
                "/api/conversations/{}/events?form=markdown",
                conversation.id
            ),
            open: None,
            waiting: VecDeque::new(),
            newest: conversation.newest,
        }
    }

    /// The next event.
    pub(crate) async fn next(&mut self) -> Result<Event, Failure> {
        let mut tries = 0;
        loop {
            if let Some(event) = self.waiting.pop_front() {
                if let Some(id) = event.id.as_deref().and_then(|id| id.parse().ok()) {
                    self.newest = id;
                }
                return Ok(event);
            }
            match self.more().await {
                Ok(()) => {}
                Err(failure) if tries >= TRIES => return Err(failure),
                Err(_again) => {
                    self.open = None;
                    tries += 1;
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }

    async fn more(&mut self) -> Result<(), Failure> {
        if self.open.is_none() {
            let path = format!("{}&after={}", self.path, self.newest);
            let answer = self.door.open_get(&path).await?;
            self.open = Some((answer, Decoder::new(LARGEST)));
        }
        let Some((answer, decoder)) = &mut self.open else {
            return Ok(());
        };
        let failed =
            |reason: String| Failure::Failed(format!("the gateway's stream broke off: {reason}"));
        let bytes = answer.chunk_within(SILENCE).await;
        match bytes.map_err(|error| failed(error.to_string()))? {
            Some(bytes) => {
                let events = decoder.feed(&bytes);
                let events = events.map_err(|error| failed(error.to_string()))?;
                self.waiting.extend(events);
                Ok(())
            }
            None => Err(failed("it ended".to_owned())),
        }
    }
}
