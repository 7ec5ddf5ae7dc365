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

/// What a round that succeeded says of our ears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// Updates came, or the poll waited as long as it was asked to.
    Heard,
    /// An empty answer at once: whoever else polls with our token may have been pushed out for this moment only.
    Answered,
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
    /// The stored cursor, until we know which bot we are.
    cursor: Option<String>,
    /// The next offset; `None` before this bot's first update ever.
    offset: Option<i64>,
    told: Told,
    failures: u32,
    /// When the last poll had its answer: the only proof that we hear.
    heard_at: Instant,
    /// When somebody else last read our updates.
    disputed_at: Option<Instant>,
    webhook_removed: bool,
}

pub(crate) async fn listen(telegram: &Telegram, sink: &dyn InboundSink) -> Infallible {
    let mut listener = Listener {
        telegram,
        sink,
        cursor: None,
        offset: None,
        told: Told::Nothing,
        failures: 0,
        heard_at: Instant::now(),
        disputed_at: None,
        webhook_removed: false,
    };
    listener.resume().await;
    loop {
        match listener.round().await {
            Ok(proof) => listener.well(proof),
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
                    self.cursor = cursor;
                    self.failures = 0;
                    return;
                }
                Err(error) => self.stumbled(Stumble::Store(error)).await,
            }
        }
    }

    async fn round(&mut self) -> Result<Proof, Stumble> {
        let me = self.telegram.me().await.map_err(Stumble::Fault)?;
        if let Some(cursor) = self.cursor.take() {
            self.offset = offset(me.id, &cursor);
            if self.offset.is_none() {
                tracing::info!(account = %self.telegram.name(), "the account has another bot than before; its unread messages are read from the beginning");
            }
        }
        let (begun, wait) = (Instant::now(), self.wait());
        let updates = self.poll(wait).await.map_err(Stumble::Fault)?;
        if updates.is_empty() {
            let waited = begun.elapsed() >= wait / 2;
            if !waited {
                // A server that does not wait must not make us run in circles.
                tokio::time::sleep(self.telegram.options().pace.network_first).await;
            }
            return Ok(if waited && !wait.is_zero() {
                Proof::Heard
            } else {
                Proof::Answered
            });
        }
        let (events, next) = self.read(&me, &updates);
        let cursor = next.map(|offset| format!("{}:{offset}", me.id));
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
        Ok(Proof::Heard)
    }

    /// How long the next poll may wait for news.
    fn wait(&self) -> Duration {
        let long = match self.told {
            Told::Well => self.failures == 0,
            // A poll that does not wait always wins against another poller, and proves nothing.
            Told::Ill(Setback::Conflict) => true,
            // After a start or a failure the first poll does not wait, so that good news is told at once.
            Told::Nothing | Told::Ill(_) => false,
        };
        if long {
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

    fn well(&mut self, proof: Proof) {
        if self.told == Told::Ill(Setback::Conflict) && proof == Proof::Answered && self.disputed()
        {
            return;
        }
        self.failures = 0;
        self.heard_at = Instant::now();
        if self.told != Told::Well {
            self.told = Told::Well;
            self.sink.health(self.telegram.name(), Ok(()));
        }
    }

    /// Whether less than a poll's time has passed since somebody else read our updates.
    fn disputed(&self) -> bool {
        self.disputed_at
            .is_some_and(|at| at.elapsed() < self.telegram.options().poll)
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
        if setback == Setback::Conflict {
            self.disputed_at = Some(Instant::now());
        }
        tracing::debug!(account = %self.telegram.name(), failures = self.failures, fault = fault.text, "listening failed");
        let new = !matches!(&self.told, Told::Ill(told) if same(*told, setback));
        if setback == Setback::Conflict && fault.text.contains("webhook") && !self.webhook_removed {
            self.told = Told::Ill(setback);
            self.remove_webhook().await;
        } else if new && (self.failures >= setback.told_from() || self.deaf()) {
            self.told = Told::Ill(setback);
            self.sink.health(self.telegram.name(), Err(fault.clone()));
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

/// Where a stored cursor says that the bot goes on; none if it is another bot's. A bare number is an older gateway's.
fn offset(bot: i64, cursor: &str) -> Option<i64> {
    match cursor.split_once(':') {
        Some((whose, offset)) if whose.parse() == Ok(bot) => offset.parse().ok(),
        Some(_anothers) => None,
        None => cursor.parse().ok(),
    }
}

/// The same kind of setback, whatever times it names.
fn same(one: Setback, other: Setback) -> bool {
    std::mem::discriminant(&one) == std::mem::discriminant(&other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_the_bots_that_left_it() {
        assert_eq!(offset(777, "777:42"), Some(42));
        assert_eq!(offset(888, "777:42"), None);
        assert_eq!(offset(888, "42"), Some(42), "an older gateway's");
        for nonsense in ["", "x", ":42", "777:", "777:x", "777:1:2"] {
            assert_eq!(offset(777, nonsense), None, "{nonsense}");
        }
    }
}
