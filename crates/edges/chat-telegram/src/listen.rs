//! The long poll: one request in flight, and the offset moves only after the events are durable.

use std::convert::Infallible;
use std::time::Duration;

use chat::{Event, Fault, FaultKind, InboundSink};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::Telegram;
use crate::classify::Effect;
use crate::inbound::Me;
use crate::pace::Setback;
use crate::update::{KINDS, event};

/// What the owner was told last.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    Nothing,
    Well,
    Ill(Setback),
}

/// Why a round did not succeed.
enum Stumble {
    /// The platform or the way to it.
    Fault(Fault),
    /// Our own store: nothing is acknowledged, and the same events come again.
    Store(chat::SinkError),
}

struct Listener<'a> {
    telegram: &'a Telegram,
    sink: &'a dyn InboundSink,
    /// The next offset; `None` before the first update ever.
    offset: Option<i64>,
    told: Told,
    failures: u32,
    /// When the last poll had its answer: the only proof that we hear.
    heard_at: Instant,
    webhook_removed: bool,
}

pub(crate) async fn listen(telegram: &Telegram, sink: &dyn InboundSink) -> Infallible {
    let mut listener = Listener {
        telegram,
        sink,
        offset: None,
        told: Told::Nothing,
        failures: 0,
        heard_at: Instant::now(),
        webhook_removed: false,
    };
    listener.resume().await;
    loop {
        match listener.round().await {
            Ok(()) => listener.well(),
            Err(stumble) => listener.stumbled(stumble).await,
        }
    }
}

impl Listener<'_> {
    /// Finds where to go on. Without the cursor nothing is polled: it would hand out what was handled long ago.
    async fn resume(&mut self) {
        loop {
            match self.sink.cursor(self.telegram.name()).await {
                Ok(cursor) => {
                    self.offset = cursor.and_then(|text| text.parse().ok());
                    self.failures = 0;
                    return;
                }
                Err(error) => self.stumbled(Stumble::Store(error)).await,
            }
        }
    }

    async fn round(&mut self) -> Result<(), Stumble> {
        let me = self.telegram.me().await.map_err(Stumble::Fault)?;
        let (begun, wait) = (Instant::now(), self.wait());
        let updates = self.poll(wait).await.map_err(Stumble::Fault)?;
        if updates.is_empty() {
            if begun.elapsed() < wait / 2 {
                // A server that does not wait must not make us run in circles.
                tokio::time::sleep(self.telegram.options().pace.network_first).await;
            }
            return Ok(());
        }
        let (events, next) = self.read(&me, &updates);
        let cursor = next.map(|offset| offset.to_string());
        self.sink
            .accept(self.telegram.name(), events, cursor)
            .await
            .map_err(Stumble::Store)?;
        if next.is_none() {
            // Nothing can be acknowledged, so the same comes again: at least not at full speed.
            let text = "Telegram sent updates without numbers";
            return Err(Stumble::Fault(Fault::new(FaultKind::TempReject, text)));
        }
        self.offset = next;
        Ok(())
    }

    /// How long the next poll may wait for news.
    fn wait(&self) -> Duration {
        // After a start or a failure the first poll does not wait, so that good news is told at once.
        if self.told == Told::Well && self.failures == 0 {
            self.telegram.options().poll
        } else {
            Duration::ZERO
        }
    }

    async fn poll(&self, wait: Duration) -> Result<Vec<Box<RawValue>>, Fault> {
        let patience = wait + self.telegram.options().poll_grace;
        let mut parameters =
            json!({"timeout": wait.as_secs(), "limit": 100, "allowed_updates": KINDS});
        if let (Some(offset), Some(fields)) = (self.offset, parameters.as_object_mut()) {
            fields.insert("offset".to_owned(), offset.into());
        }
        self.telegram
            .api()
            .wait("getUpdates", &parameters, patience)
            .await
    }

    /// Every update as an event, and the offset after them.
    fn read(&self, me: &Me, updates: &[Box<RawValue>]) -> (Vec<Event>, Option<i64>) {
        let mut next = None;
        let mut events = Vec::with_capacity(updates.len());
        for (index, raw) in updates.iter().enumerate() {
            let fallback = format!("{}:{index}", self.offset.unwrap_or_default());
            let (number, event) = event(me, self.telegram.name(), raw.get(), &fallback);
            if let Err(reason) = &event.parsed {
                tracing::warn!(account = %self.telegram.name(), key = event.key, reason, "an update was set aside");
            }
            next = next.max(number.and_then(|number| number.checked_add(1)));
            events.push(event);
        }
        // Without a single number we step over one update at a time: a poisoned one must not stand in the way.
        (
            events,
            next.or(self.offset.map(|offset| offset.saturating_add(1))),
        )
    }

    fn well(&mut self) {
        self.failures = 0;
        self.heard_at = Instant::now();
        if self.told != Told::Well {
            self.told = Told::Well;
            self.sink.health(self.telegram.name(), Ok(()));
        }
    }

    async fn stumbled(&mut self, stumble: Stumble) {
        self.failures = self.failures.saturating_add(1);
        let setback = match &stumble {
            Stumble::Store(error) => {
                tracing::warn!(account = %self.telegram.name(), %error, "events wait at Telegram");
                Setback::Network
            }
            Stumble::Fault(fault) => self.fault(fault).await,
        };
        let pace = self.telegram.options().pace;
        let wait = pace.wait(setback, self.failures, self.telegram.chance());
        tokio::time::sleep(wait).await;
    }

    async fn fault(&mut self, fault: &Fault) -> Setback {
        let setback = Setback::of(fault);
        tracing::debug!(account = %self.telegram.name(), failures = self.failures, fault = fault.text, "listening failed");
        let new = !matches!(&self.told, Told::Ill(told) if same(*told, setback));
        if new && (self.failures >= setback.told_from() || self.deaf()) {
            self.told = Told::Ill(setback);
            self.sink.health(self.telegram.name(), Err(fault.clone()));
        }
        if setback == Setback::Conflict && fault.text.contains("webhook") && !self.webhook_removed {
            self.remove_webhook().await;
        }
        setback
    }

    /// Two polls' time without an answer.
    fn deaf(&self) -> bool {
        let options = self.telegram.options();
        self.heard_at.elapsed() >= 2 * (options.poll + options.poll_grace)
    }

    /// Once per start: if it comes back, somebody else wants it, and the owner has to decide.
    async fn remove_webhook(&mut self) {
        self.webhook_removed = true;
        let parameters = json!({"drop_pending_updates": false});
        let removed: Result<bool, Fault> = self
            .telegram
            .api()
            .call(Effect::Repeatable, "deleteWebhook", &parameters)
            .await;
        let text = match removed {
            Ok(_) => {
                "a webhook was set for this bot; it was removed, because the bot is polled here"
                    .to_owned()
            }
            Err(fault) => format!(
                "a webhook is set for this bot and could not be removed: {}",
                fault.text
            ),
        };
        tracing::warn!(account = %self.telegram.name(), "{text}");
        self.sink.health(
            self.telegram.name(),
            Err(Fault::new(FaultKind::TempReject, text).with_code(409)),
        );
    }
}

/// The same kind of setback, whatever times it names.
fn same(one: Setback, other: Setback) -> bool {
    std::mem::discriminant(&one) == std::mem::discriminant(&other)
}
