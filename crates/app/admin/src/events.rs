//! What moves in a conversation, as server-sent events.
//!
//! Types: `entry` (with the entry's id, which a page gives back when it comes again), `preview`, `clear`, `activity`,
//! `questions`, `idle`.
//! A stream begins with what was missed and how things stand; it ends when the listener lagged too far behind, after a
//! while, or when we stop: the page comes again, and nothing is lost.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use chat_web::{Live, Snapshot, Subscription};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use session::Visible;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::asked::Asked;
use crate::conversations::{ENTRIES, find};
use crate::error::Refused;
use crate::router::Surface;
use crate::serve::told;
use crate::view::{EntryView, Form, html};

/// A growing answer is drawn at most this often: a model writes faster than a page can be read.
const FRAME: Duration = Duration::from_millis(60);
/// After this long a page has to come again, and to show its cookie again.
const LONGEST: Duration = Duration::from_secs(30 * 60);
/// A sign of life, so that a page can tell a quiet conversation from a lost connection.
const HEARTBEAT: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
pub(crate) struct Place {
    after: Option<i64>,
    #[serde(default)]
    form: Form,
}

/// `GET /api/conversations/ID/events?after=ENTRY&form=html|markdown`.
pub(crate) async fn events(
    State(surface): State<Arc<Surface>>,
    Asked(Path(id)): Asked<Path<String>>,
    Asked(Query(place)): Asked<Query<Place>>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let found = find(&surface, id).await?;
    let seen = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok()?.parse().ok());
    let after = seen.max(place.after).unwrap_or(0);
    // First the subscription, then the log: what comes in between is in both, and is sent once.
    let subscription = surface.options.web.subscribe(&found.conversation);
    let missed = surface
        .options
        .visible
        .entries(&found.conversation, after, ENTRIES)
        .await?;
    let feed = Feed::new(
        subscription,
        missed,
        after,
        place.form,
        surface.stopping.clone(),
    );
    let stream = stream::unfold(feed, |mut feed| async move {
        let event = feed.next().await?;
        Some((Ok::<_, Infallible>(event), feed))
    });
    Ok(Sse::new(stream)
        .keep_alive(KeepAlive::new().interval(HEARTBEAT))
        .into_response())
}

fn event(kind: &str, data: &Value) -> Event {
    Event::default().event(kind).data(data.to_string())
}

struct Feed {
    subscription: Subscription,
    stopping: watch::Receiver<bool>,
    ready: VecDeque<Event>,
    /// The newest entry that was sent.
    newest: i64,
    form: Form,
    /// The answer so far, not drawn yet.
    preview: Option<String>,
    drawn_at: Instant,
    ends_at: Instant,
}

impl Feed {
    fn new(
        subscription: Subscription,
        missed: Vec<Visible>,
        after: i64,
        form: Form,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let now = Instant::now();
        let mut feed = Self {
            subscription,
            stopping,
            ready: VecDeque::new(),
            newest: after,
            form,
            preview: None,
            drawn_at: now,
            ends_at: now + LONGEST,
        };
        for entry in &missed {
            feed.entry(entry, None);
        }
        let Snapshot {
            preview,
            run,
            questions,
        } = feed.subscription.snapshot.clone();
        feed.ready
            .push_back(event("questions", &json!({ "questions": questions })));
        feed.ready
            .push_back(event("activity", &json!({ "run": run })));
        match preview {
            Some(text) => feed.draw(&text),
            None => feed.ready.push_back(event("clear", &json!({}))),
        }
        if !run.busy {
            feed.ready.push_back(event("idle", &json!({})));
        }
        feed
    }

    fn entry(&mut self, entry: &Visible, message: Option<String>) {
        if entry.id <= self.newest {
            return;
        }
        self.newest = entry.id;
        let view = EntryView::of(entry, message, self.form);
        let data = serde_json::to_string(&view).unwrap_or_default();
        self.ready.push_back(
            Event::default()
                .event("entry")
                .id(entry.id.to_string())
                .data(data),
        );
    }

    fn draw(&mut self, markdown: &str) {
        self.drawn_at = Instant::now();
        let preview = match self.form {
            Form::Html => json!({ "html": html(markdown) }),
            Form::Markdown => json!({ "markdown": markdown }),
        };
        self.ready.push_back(event("preview", &preview));
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            tokio::select! {
                biased;
                () = told(&mut self.stopping) => return None,
                () = tokio::time::sleep_until(self.ends_at) => return None,
                () = tokio::time::sleep_until(self.drawn_at + FRAME), if self.preview.is_some() => {
                    if let Some(text) = self.preview.take() {
                        self.draw(&text);
                    }
                }
                live = self.subscription.next() => match live {
                    Live::Preview(text) => self.preview = Some(text),
                    Live::Clear => {
                        self.preview = None;
                        self.ready.push_back(event("clear", &json!({})));
                    }
                    Live::Entry { entry, message } => self.entry(&entry, message),
                    Live::Busy { after } => self.ready.push_back(event("activity", &json!({ "busy": { "after": after } }))),
                    Live::Step(step) => self.ready.push_back(event("activity", &json!({ "step": step }))),
                    Live::Questions(questions) => self.ready.push_back(event("questions", &json!({ "questions": questions }))),
                    Live::Idle => self.ready.push_back(event("idle", &json!({}))),
                    Live::Missed => return None,
                },
            }
        }
    }
}
