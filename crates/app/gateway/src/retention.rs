//! Lets go of what is kept no longer: a little each minute, and the bytes that nobody names each hour.
//!
//! A clock that is wrong must not delete what is young. So nothing goes before the clock has agreed with the time that passes
//! for some minutes, as long as it may take until a machine that starts is told the time; and after a jump again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use admin::LetGo;
use session::{Chore, Collected, Cutoffs, RetentionStore, StoreError};
use settings::Retention;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};
use waybill::{Clock, Conversation, Timestamp};

/// Between two looks, and from the start to the first one.
const EVERY: Duration = Duration::from_secs(60);
/// For so long the clock has to run evenly before it is believed. Time services set the clock of a machine that starts within
/// it, once there is a network.
const EVENLY: Duration = Duration::from_secs(300);
/// Looks from one walk over everything to the next: an hour.
const WALK: u32 = 60;
/// Steps of one look: with 500 rows each, more than comes in a minute at any platform's rate.
const STEPS: u32 = 40;
/// Rest between two steps: whoever waits for the writer comes first.
const REST: Duration = Duration::from_millis(20);
/// How far the clock and the time that passed may differ.
const DRIFT: Duration = Duration::from_secs(30);

/// What was let go since the start.
#[derive(Debug, Default)]
struct Counts {
    rows: BTreeMap<&'static str, u64>,
    files: Collected,
}

/// The counts, as others see them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tallies(Arc<Mutex<Counts>>);

impl Tallies {
    /// The counts by now.
    pub(crate) fn counts(&self) -> LetGo {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = Chore::ALL.map(Chore::name);
        LetGo {
            rows: rows
                .into_iter()
                .map(|name| (name, counts.rows.get(name).copied().unwrap_or(0)))
                .collect(),
            removed: counts.files.removed,
            freed: counts.files.freed,
            kept: counts.files.kept,
            bytes: counts.files.bytes,
        }
    }

    fn add(&self, add: impl FnOnce(&mut Counts)) {
        add(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The service.
pub(crate) struct Keeper {
    pub(crate) store: Arc<dyn RetentionStore>,
    pub(crate) retention: Retention,
    /// Conversations of the web chat that notices need.
    pub(crate) homes: BTreeSet<Conversation>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tallies: Tallies,
}

/// How far the walks have come: the chores that are not done, and where each goes on.
type Walks = BTreeMap<usize, i64>;

impl Keeper {
    /// Tidies for ever; returns only when the store is closed.
    pub(crate) async fn run(&self) -> String {
        // The doubt is left out by a proof that has no minutes to spend.
        let evenly = if failpoint::skips("clock-doubt") {
            Duration::ZERO
        } else {
            EVENLY
        };
        let mut watch = Watch::new(self.clock.now(), evenly);
        let mut looks = interval_at(Instant::now() + evenly.min(EVERY), EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut walks = Walks::new();
        let mut until_walk = 0;
        loop {
            looks.tick().await;
            let now = self.clock.now();
            if !watch.believes(now) {
                continue;
            }
            let whole = until_walk == 0;
            if whole {
                walks = (0..Chore::ALL.len()).map(|chore| (chore, 0)).collect();
                until_walk = WALK;
            }
            until_walk -= 1;
            match self.look(now, &mut walks, whole).await {
                Ok(()) => {}
                Err(error @ StoreError::Closed) => return error.to_string(),
                Err(
                    error @ (StoreError::Full(_)
                    | StoreError::Failed(_)
                    | StoreError::Unreadable { .. }),
                ) => tracing::warn!(%error, "tidying stopped; it goes on in a minute"),
            }
        }
    }

    async fn look(&self, now: Timestamp, walks: &mut Walks, whole: bool) -> Result<(), StoreError> {
        let cutoffs = self.cutoffs(now);
        let mut left = STEPS;
        for (place, chore) in Chore::ALL.into_iter().enumerate() {
            let rows = self.tidy(chore, place, &cutoffs, walks, &mut left).await?;
            if rows > 0 {
                tracing::info!(
                    chore = chore.name(),
                    rows,
                    "what was kept long enough is gone"
                );
            }
        }
        if whole {
            self.collect(now).await?;
            self.shrink().await?;
        }
        Ok(())
    }

    async fn tidy(
        &self,
        chore: Chore,
        place: usize,
        cutoffs: &Cutoffs,
        walks: &mut Walks,
        left: &mut u32,
    ) -> Result<u64, StoreError> {
        let mut rows = 0;
        while let (Some(after), true) = (walks.get(&place).copied(), *left > 0) {
            *left -= 1;
            let step = self.store.tidy(chore, cutoffs, after).await?;
            rows += step.rows;
            self.tallies
                .add(|counts| *counts.rows.entry(chore.name()).or_default() += step.rows);
            match step.next {
                Some(next) => walks.insert(place, next),
                None => walks.remove(&place),
            };
            if step.rows > 0 {
                sleep(REST).await;
            }
        }
        Ok(rows)
    }

    async fn collect(&self, now: Timestamp) -> Result<(), StoreError> {
        let found = self
            .store
            .collect(before(now, self.retention.blob_grace))
            .await?;
        let Collected {
            removed,
            freed,
            kept,
            bytes,
            failed,
        } = found;
        if removed > 0 || failed > 0 {
            tracing::info!(
                removed,
                freed,
                kept,
                bytes,
                failed,
                "files that nothing names are gone"
            );
        }
        self.tallies.add(|counts| {
            counts.files.removed += removed;
            counts.files.freed += freed;
            counts.files.kept = kept;
            counts.files.bytes = bytes;
        });
        Ok(())
    }

    async fn shrink(&self) -> Result<(), StoreError> {
        let mut pages = 0;
        for _ in 0..STEPS {
            let shrunk = self.store.shrink().await?;
            pages += shrunk.pages;
            if !shrunk.more {
                break;
            }
            sleep(REST).await;
        }
        if pages > 0 {
            tracing::info!(pages, "the database gave space back to the disk");
        }
        Ok(())
    }

    fn cutoffs(&self, now: Timestamp) -> Cutoffs {
        let kept = &self.retention;
        Cutoffs {
            words: before(now, kept.words),
            sent: before(now, kept.sent),
            dead: before(now, kept.dead),
            events: before(now, kept.inbox),
            ignored: before(now, kept.ignored),
            conversations: kept.conversations.map(|span| before(now, span)),
            homes: self.homes.clone(),
        }
    }
}

/// So long before now; the beginning of time where there was no such moment.
fn before(now: Timestamp, span: Duration) -> Timestamp {
    now.checked_sub(span).unwrap_or(Timestamp::MIN)
}

/// Two clocks, one of which can't jump.
struct Watch {
    read: Timestamp,
    at: Instant,
    /// Since when they agree.
    since: Instant,
    /// For how long they have to.
    evenly: Duration,
}

impl Watch {
    fn new(now: Timestamp, evenly: Duration) -> Self {
        let at = Instant::now();
        Self {
            read: now,
            at,
            since: at,
            evenly,
        }
    }

    /// Whether the clock has moved as the time did, from each reading to the next, for long enough. A machine that slept looks
    /// like a clock that jumped.
    fn believes(&mut self, now: Timestamp) -> bool {
        let at = Instant::now();
        let passed = i128::try_from(at.duration_since(self.at).as_millis()).unwrap_or(i128::MAX);
        let moved = i128::from(now.as_millisecond()) - i128::from(self.read.as_millisecond());
        if moved.saturating_sub(passed).unsigned_abs() > DRIFT.as_millis() {
            tracing::warn!(
                seconds = self.evenly.as_secs(),
                "the clock jumped; nothing is let go before it ran evenly for so long"
            );
            self.since = at;
        }
        (self.read, self.at) = (now, at);
        at.duration_since(self.since) >= self.evenly
    }
}

#[cfg(test)]
mod tests;
