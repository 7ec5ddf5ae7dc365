//! An answer word by word, as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use chat_api::{Early, News, Waiting};
use futures_util::stream;
use serde_json::{Value, json};

use super::Refusal;
use super::answer::{self, Made};
use super::ask::{Patience, Stream};
use crate::router::Surface;

/// So long nothing is said, not even that all is well: a turn that fails at once is then answered with a status of its own.
const SILENT: Duration = Duration::from_secs(5);
/// A sign of life for proxies; clients pass over it.
const HEARTBEAT: Duration = Duration::from_secs(15);

pub(crate) async fn answer(
    surface: Arc<Surface>,
    waiting: Waiting,
    made: Made,
    wish: Stream,
) -> Result<Response, Refusal> {
    let mut feed = Feed {
        patience: Patience::new(surface.stopping.clone()),
        waiting,
        made,
        wish,
        early: Early::default(),
        ready: VecDeque::new(),
        state: State::Silent,
    };
    match tokio::time::timeout(SILENT, feed.fill()).await {
        Ok(filled) => filled?,
        Err(_still_working) => feed.begin(),
    }
    let events = stream::unfold(feed, |mut feed| async move {
        let event = feed.next().await?;
        Some((Ok::<_, Infallible>(event), feed))
    });
    Ok(Sse::new(events)
        .keep_alive(KeepAlive::new().interval(HEARTBEAT))
        .into_response())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was said.
    Silent,
    /// It has begun.
    Speaks,
    /// All that is left is ready.
    Over,
}

struct Feed {
    patience: Patience,
    waiting: Waiting,
    made: Made,
    wish: Stream,
    early: Early,
    ready: VecDeque<Event>,
    state: State,
}

impl Feed {
    fn say(&mut self, mut chunk: Value) {
        if self.wish == Stream::WordsAndUsage && chunk.get("usage").is_none() {
            chunk["usage"] = Value::Null;
        }
        self.ready
            .push_back(Event::default().data(chunk.to_string()));
    }

    fn begin(&mut self) {
        if self.state == State::Silent {
            self.state = State::Speaks;
            let role = json!({ "role": "assistant", "content": "" });
            self.say(self.made.chunk(role, Value::Null));
        }
    }

    fn words(&mut self, words: String) {
        if !words.is_empty() {
            self.begin();
            self.say(self.made.chunk(json!({ "content": words }), Value::Null));
        }
    }

    /// Waits until there is something to say. Can be dropped and called again.
    async fn fill(&mut self) -> Result<(), Refusal> {
        let (patience, waiting) = (&self.patience, &mut self.waiting);
        while self.ready.is_empty() {
            let news = patience.bound(async { Ok(waiting.next().await?) }).await?;
            match news {
                News::SoFar(text) => {
                    if let Some(words) = self.early.grow(&text) {
                        return {
                            self.words(words);
                            Ok(())
                        };
                    }
                }
                News::Answer(answer) => {
                    let told = answer::tell(&answer, &self.made)?;
                    self.begin();
                    let rest = std::mem::take(&mut self.early).finish(&told.text);
                    self.words(rest);
                    self.say(told.last(&self.made));
                    if self.wish == Stream::WordsAndUsage {
                        self.say(told.cost(&self.made));
                    }
                    self.ready.push_back(Event::default().data("[DONE]"));
                    self.state = State::Over;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    async fn next(&mut self) -> Option<Event> {
        if self.ready.is_empty()
            && self.state != State::Over
            && let Err(refusal) = self.fill().await
        {
            // The status is said already: clients read an error from the stream as well.
            self.state = State::Over;
            let error = Event::default().data(refusal.body().to_string());
            self.ready.push_back(error);
            self.ready.push_back(Event::default().data("[DONE]"));
        }
        self.ready.pop_front()
    }
}
