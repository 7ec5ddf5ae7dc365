//! `GET /metrics`: numbers for a monitor, in Prometheus text. `docs/metrics.md` lists each.
//!
//! It needs no cookie, as probes have none; so it tells names of accounts and counts, never a chat's id, and nobody's words.
//! Nothing is counted here: all is read from who knows it, at most once a second, since a reading walks over every open part and
//! anybody may ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use model::Cost;
use outbox::{PartState, QueueDepth, Tallied};
use prometheus_client::encoding::{EncodeLabelSet, prometheus_text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::Mutex;
use tokio::time::Instant;
use waybill::Timestamp;

use crate::error::Refused;
use crate::options::{AccountHealth, LetGo, Money, Options};
use crate::router::Surface;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Account {
    account: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InState {
    account: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    account: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Waits {
    account: String,
    why: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Done {
    chore: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    version: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Used {
    profile: String,
    model: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UsedTokens {
    profile: String,
    model: String,
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InPeriod {
    profile: String,
    period: &'static str,
}

type Dollars = Gauge<f64, AtomicU64>;
type Seconds = Gauge<f64, AtomicU64>;

/// What is known at the moment of asking.
struct Reading {
    now: Timestamp,
    started_at: Timestamp,
    depths: Vec<QueueDepth>,
    attempts: Vec<Tallied>,
    accounts: Vec<AccountHealth>,
    aside: u64,
    let_go: LetGo,
    money: Vec<Money>,
}

/// For how long an answer is given again.
const FRESH: Duration = Duration::from_secs(1);

/// The last answer, and when it was made. Who makes the next one holds it, so that one reading is under way and no more; the
/// others wait and get the same.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<Option<(Instant, String)>>);

/// `GET /metrics`.
pub(crate) async fn metrics(State(surface): State<Arc<Surface>>) -> Result<Response, Refused> {
    let mut kept = surface.metrics.0.lock().await;
    let text = match &*kept {
        Some((made, text)) if made.elapsed() < FRESH => text.clone(),
        Some(_) | None => {
            let text = read(&surface.options).await?;
            *kept = Some((Instant::now(), text.clone()));
            text
        }
    };
    drop(kept);
    let kind = HeaderValue::from_static(prometheus_text::CONTENT_TYPE);
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

async fn read(options: &Options) -> Result<String, Refused> {
    let reading = Reading {
        now: options.clock.now(),
        started_at: options.started_at,
        depths: options.outbox.depths().await?,
        attempts: options.tally.counts(),
        accounts: options.status.accounts(),
        aside: options.inbox.poisoned().await?,
        let_go: options.status.let_go(),
        money: options.money.money(),
    };
    reading
        .text()
        .map_err(|error| Refused::unavailable(format!("no metrics: {error}")))
}

/// A float holds every millionth up to nine thousand million of them.
fn dollars(cost: Cost) -> f64 {
    cost.0 as f64 / 1_000_000.0
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    Duration::try_from(to.duration_since(from))
        .unwrap_or(Duration::ZERO)
        .as_secs_f64()
}

impl Reading {
    fn text(&self) -> Result<String, std::fmt::Error> {
        let mut registry = Registry::default();
        self.process(&mut registry);
        self.queues(&mut registry);
        self.ends(&mut registry);
        self.health(&mut registry);
        self.retention(&mut registry);
        self.models(&mut registry);
        self.spending(&mut registry);
        let mut text = String::new();
        prometheus_text::encode(&mut text, &registry)?;
        Ok(text)
    }

    fn process(&self, registry: &mut Registry) {
        let build = Family::<Build, Gauge>::default();
        let version = env!("CARGO_PKG_VERSION");
        build.get_or_create(&Build { version }).set(1);
        registry.register("tidings_build_info", "The release that runs", build);
        let started = Seconds::default();
        // Exact: milliseconds of this millennium fit into a float's 53 bits.
        started.set(self.started_at.as_millisecond() as f64 / 1_000.0);
        registry.register(
            "process_start_time_seconds",
            "When the process started, in seconds since 1970",
            started,
        );
    }

    /// Every account that is known by anything, so that a quiet one has its zeros.
    fn names(&self) -> BTreeSet<&str> {
        let queued = self.depths.iter().map(|depth| depth.account.as_str());
        let known = self.accounts.iter().map(|one| one.account.as_str());
        queued.chain(known).collect()
    }

    fn queues(&self, registry: &mut Registry) {
        let open = Family::<InState, Gauge>::default();
        let oldest = Family::<Account, Seconds>::default();
        let waits = Family::<Waits, Seconds>::default();
        let by_name: BTreeMap<&str, &QueueDepth> = self
            .depths
            .iter()
            .map(|depth| (depth.account.as_str(), depth))
            .collect();
        for name in self.names() {
            let depth = by_name.get(name).copied();
            let account = name.to_owned();
            for state in PartState::ALL.into_iter().filter(|state| !state.is_end()) {
                let state = state.name();
                let count = depth.and_then(|depth| depth.open.get(state)).copied();
                let labels = InState {
                    account: account.clone(),
                    state,
                };
                let count = i64::try_from(count.unwrap_or_default()).unwrap_or(i64::MAX);
                open.get_or_create(&labels).set(count);
            }
            let age = depth
                .and_then(|depth| depth.oldest)
                .map_or(0.0, |oldest| seconds(oldest, self.now));
            let labels = Account {
                account: account.clone(),
            };
            oldest.get_or_create(&labels).set(age);
            let whys = [
                ("throttled", depth.and_then(|depth| depth.throttled_until)),
                ("resting", depth.and_then(|depth| depth.resting_until)),
            ];
            for (why, until) in whys {
                let labels = Waits {
                    account: account.clone(),
                    why,
                };
                let left = until.map_or(0.0, |until| seconds(self.now, until));
                waits.get_or_create(&labels).set(left);
            }
        }
        registry.register(
            "tidings_outbox_open",
            "Parts that are not at their end, by state",
            open,
        );
        registry.register(
            "tidings_outbox_oldest_age_seconds",
            "How long ago the message of the oldest open part was made",
            oldest,
        );
        registry.register(
            "tidings_account_waits_seconds",
            "For how long the account still sends nothing",
            waits,
        );
    }

    fn ends(&self, registry: &mut Registry) {
        let attempts = Family::<Ended, Counter>::default();
        for one in &self.attempts {
            let labels = Ended {
                account: one.account.to_string(),
                outcome: one.outcome,
            };
            attempts.get_or_create(&labels).inc_by(one.count);
        }
        registry.register(
            "tidings_outbox_attempts",
            "Attempts that ended since the start, by how",
            attempts,
        );
        let aside = Gauge::<i64>::default();
        aside.set(i64::try_from(self.aside).unwrap_or(i64::MAX));
        registry.register(
            "tidings_inbox_put_aside",
            "Events that could not be understood, were put aside and are still kept",
            aside,
        );
    }

    fn health(&self, registry: &mut Registry) {
        let up = Family::<Account, Gauge>::default();
        for one in &self.accounts {
            let labels = Account {
                account: one.account.to_string(),
            };
            up.get_or_create(&labels).set(one.up.into());
        }
        registry.register(
            "tidings_account_up",
            "Whether the account works: 1, or 0 from its trouble, or its start, to its next good sign",
            up,
        );
    }

    /// What was asked of models since the start.
    fn models(&self, registry: &mut Registry) {
        let calls = Family::<Used, Counter>::default();
        let unpriced = Family::<Used, Counter>::default();
        let tokens = Family::<UsedTokens, Counter>::default();
        let cost = Family::<Used, Counter<f64, AtomicU64>>::default();
        for money in &self.money {
            for (model, total) in &money.routes {
                let used = Used {
                    profile: money.profile.to_string(),
                    model: model.clone(),
                };
                calls.get_or_create(&used).inc_by(total.calls);
                unpriced.get_or_create(&used).inc_by(total.unpriced);
                cost.get_or_create(&used).inc_by(dollars(total.cost));
                let cached = total.usage.cached.min(total.usage.input);
                for (kind, count) in [
                    ("fresh", total.usage.input - cached),
                    ("cached", cached),
                    ("output", total.usage.output),
                ] {
                    let labels = UsedTokens {
                        profile: used.profile.clone(),
                        model: used.model.clone(),
                        kind,
                    };
                    tokens.get_or_create(&labels).inc_by(count);
                }
            }
        }
        registry.register(
            "tidings_model_calls",
            "Calls that models answered since the start",
            calls,
        );
        registry.register(
            "tidings_model_calls_unpriced",
            "Of those, calls whose cost is unknown",
            unpriced,
        );
        registry.register(
            "tidings_model_tokens",
            "Tokens that they read afresh, read from a cache, and wrote since the start",
            tokens,
        );
        registry.register(
            "tidings_model_cost_usd",
            "US dollars that calls with a known price cost since the start",
            cost,
        );
    }

    /// How much of its money each profile has spent.
    fn spending(&self, registry: &mut Registry) {
        let spent = Family::<InPeriod, Dollars>::default();
        let limit = Family::<InPeriod, Dollars>::default();
        for money in &self.money {
            for (period, total, cap) in [
                ("day", &money.day, money.limits.day),
                ("month", &money.month, money.limits.month),
            ] {
                let labels = InPeriod {
                    profile: money.profile.to_string(),
                    period,
                };
                spent.get_or_create(&labels).set(dollars(total.cost));
                if let Some(cap) = cap {
                    limit.get_or_create(&labels).set(dollars(cap));
                }
            }
        }
        registry.register(
            "tidings_spent_usd",
            "US dollars that the profile spent in this day or month (UTC), as far as prices are known",
            spent,
        );
        registry.register(
            "tidings_spent_limit_usd",
            "US dollars that it may spend in it, where there is a limit",
            limit,
        );
    }

    fn retention(&self, registry: &mut Registry) {
        let rows = Family::<Done, Counter>::default();
        for (chore, count) in &self.let_go.rows {
            rows.get_or_create(&Done { chore }).inc_by(*count);
        }
        registry.register(
            "tidings_retention_rows",
            "Rows that were kept long enough and changed or went since the start",
            rows,
        );
        for (name, help, count) in [
            (
                "tidings_blobs_removed",
                "Captured files that nothing named and that went since the start",
                self.let_go.removed,
            ),
            (
                "tidings_blobs_freed_bytes",
                "The bytes of those",
                self.let_go.freed,
            ),
        ] {
            let counter = Counter::<u64>::default();
            counter.inc_by(count);
            registry.register(name, help, counter);
        }
        for (name, help, count) in [
            (
                "tidings_blobs",
                "Captured files that the last hourly look left",
                self.let_go.kept,
            ),
            (
                "tidings_blobs_bytes",
                "The bytes of those",
                self.let_go.bytes,
            ),
        ] {
            let gauge = Gauge::<i64>::default();
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
            registry.register(name, help, gauge);
        }
    }
}
