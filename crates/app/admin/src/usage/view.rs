//! Usage as programs read it.

use model::Cost;
use policy::budget::{self, Cap, Spending};
use serde::{Deserialize, Serialize};
use session::{Day, LedgerRow, Total};
use waybill::Timestamp;

use crate::error::Refused;
use crate::options::Money;
use crate::router::Surface;

/// Days of one answer, where nothing else is asked for.
pub(super) const USUAL_DAYS: u32 = 30;
/// Most days of one answer.
pub(crate) const MOST_DAYS: u32 = 366;

/// The query.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Wanted {
    days: Option<u32>,
}

impl Wanted {
    /// How many days, today included.
    pub(super) fn days(&self) -> Result<u32, String> {
        let days = self.days.unwrap_or(USUAL_DAYS);
        if (1..=MOST_DAYS).contains(&days) {
            Ok(days)
        } else {
            Err(format!(
                "days = {days}: between 1 and {MOST_DAYS} can be asked for"
            ))
        }
    }
}

/// What calls came to.
#[derive(Debug, Serialize)]
pub(crate) struct Sum {
    calls: u64,
    unpriced_calls: u64,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    usd: f64,
}

impl From<Total> for Sum {
    fn from(total: Total) -> Self {
        Self {
            calls: total.calls,
            unpriced_calls: total.unpriced,
            input_tokens: total.usage.input,
            cached_tokens: total.usage.cached,
            output_tokens: total.usage.output,
            usd: usd(total.cost),
        }
    }
}

/// Dollars. A float holds every millionth up to nine thousand million of them.
fn usd(cost: Cost) -> f64 {
    cost.0 as f64 / 1_000_000.0
}

/// A cap, and how full it is.
#[derive(Debug, Serialize)]
pub(crate) struct Filled {
    cap: &'static str,
    spent_usd: f64,
    limit_usd: f64,
    percent: u64,
    /// Milliseconds since 1970.
    resets: Option<i64>,
}

/// A profile.
#[derive(Debug, Serialize)]
pub(crate) struct Profile {
    profile: String,
    usd_per_turn: Option<f64>,
    caps: Vec<Filled>,
    today: Sum,
    month: Sum,
}

/// What one model was used for by one profile on one day.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    day: String,
    profile: String,
    model: String,
    #[serde(flatten)]
    sum: Sum,
}

/// All of it.
#[derive(Debug, Serialize)]
pub(crate) struct Usage {
    days: u32,
    profiles: Vec<Profile>,
    rows: Vec<Row>,
}

/// What is known of the last days.
pub(super) struct Known {
    pub(super) now: Timestamp,
    pub(super) days: u32,
    pub(super) money: Vec<Money>,
    pub(super) rows: Vec<LedgerRow>,
}

impl Known {
    pub(super) async fn read(surface: &Surface, days: u32) -> Result<Self, Refused> {
        let now = surface.options.clock.now();
        let since = Day::of(now).back(days.saturating_sub(1)).begins();
        Ok(Self {
            now,
            days,
            money: surface.options.money.money(),
            rows: surface.options.ledger.rows(since).await?,
        })
    }

    pub(super) fn view(self) -> Usage {
        let now = self.now;
        let profiles = self.money.into_iter().map(|money| Profile {
            caps: filled(&money, now)
                .map(|filled| Filled {
                    cap: filled.cap.key(),
                    spent_usd: usd(filled.spent),
                    limit_usd: usd(filled.limit),
                    percent: filled.percent(),
                    resets: filled.resets.map(Timestamp::as_millisecond),
                })
                .collect(),
            usd_per_turn: money.limits.turn.map(usd),
            profile: money.profile.to_string(),
            today: money.day.into(),
            month: money.month.into(),
        });
        let rows = self.rows.into_iter().map(|row| Row {
            day: row.day.to_string(),
            profile: row.profile.to_string(),
            model: row.route,
            sum: row.total.into(),
        });
        Usage {
            days: self.days,
            profiles: profiles.collect(),
            rows: rows.collect(),
        }
    }
}

/// The caps that are shared by a profile's turns: a turn's own is another one for each.
pub(super) fn filled(money: &Money, now: Timestamp) -> impl Iterator<Item = budget::Filled> {
    let spending = Spending {
        turn: Cost(0),
        day: money.day.cost,
        month: money.month.cost,
    };
    let all: Vec<budget::Filled> = budget::all(&spending, &money.limits, now).collect();
    all.into_iter().filter(|filled| filled.cap != Cap::Turn)
}
