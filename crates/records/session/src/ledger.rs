//! What models were used for, by day: the ledger of money and tokens.

use std::fmt;
use std::ops::AddAssign;

use async_trait::async_trait;
use model::{Cost, Usage};
use waybill::{ProfileId, SessionId, Timestamp};

use crate::{Spent, StoreError};

/// Seconds of a day; a day of UTC has no others.
const DAY: i64 = 86_400;

/// A day of UTC. Prints as `2026-11-30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(i64);

impl Day {
    /// The day of a moment.
    #[must_use]
    pub fn of(at: Timestamp) -> Self {
        Self(at.as_millisecond().div_euclid(DAY * 1_000))
    }

    /// As a store keeps it: counted from 1970-01-01, which is 0.
    #[must_use]
    pub fn number(self) -> i64 {
        self.0
    }

    /// Of what a store kept; `None` for a day that nobody can name.
    #[must_use]
    pub fn numbered(number: i64) -> Option<Self> {
        let seconds = number.checked_mul(DAY)?;
        Timestamp::from_second(seconds).ok().map(|_| Self(number))
    }

    /// When it begins.
    #[must_use]
    pub fn begins(self) -> Timestamp {
        let seconds = self.0.saturating_mul(DAY);
        Timestamp::from_second(seconds).unwrap_or(Timestamp::MIN)
    }

    /// So many days before.
    #[must_use]
    pub fn back(self, days: u32) -> Self {
        Self(self.0.saturating_sub(i64::from(days)))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.begins().strftime("%Y-%m-%d"))
    }
}

/// What calls of models came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Total {
    /// Calls that were answered.
    pub calls: u64,
    /// Of those, ones of which nobody knows what they cost: they are not in `cost`.
    pub unpriced: u64,
    /// Tokens, by the providers' own counts.
    pub usage: Usage,
    /// What the others cost.
    pub cost: Cost,
}

impl Total {
    /// Of what a turn spent.
    #[must_use]
    pub fn of(spent: &[Spent]) -> Self {
        let mut total = Self::default();
        for one in spent {
            total += Self::from(one);
        }
        total
    }
}

impl From<&Spent> for Total {
    fn from(spent: &Spent) -> Self {
        Self {
            calls: spent.calls.into(),
            unpriced: spent.unpriced.into(),
            usage: spent.usage,
            cost: spent.cost.unwrap_or_default(),
        }
    }
}

impl AddAssign for Total {
    fn add_assign(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
        self.usage += other.usage;
        self.cost += other.cost;
    }
}

/// What one model was used for by one profile on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// The day on which the turns ended.
    pub day: Day,
    /// Whose turns.
    pub profile: ProfileId,
    /// [`model::ModelPort::name`].
    pub route: String,
    /// What it came to.
    pub total: Total,
}

/// The ledger at rest. It is written by [`crate::SessionStore::commit_turn`], in that transaction: a turn counts on the day on which it
/// ends, once, with all that it spent. Rows stay for ever: there is one for each day, profile and model.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// What a profile spent since the day of a moment, that day included.
    ///
    /// # Errors
    /// [`StoreError`] if it can't be read.
    async fn spent(&self, profile: &ProfileId, since: Timestamp) -> Result<Total, StoreError>;

    /// What the turns of one stretch of a conversation spent that have ended and are still kept.
    ///
    /// # Errors
    /// [`StoreError`] if it can't be read.
    async fn session(&self, session: SessionId) -> Result<Total, StoreError>;

    /// Every row since the day of a moment: the latest day first, then by profile and model.
    ///
    /// # Errors
    /// [`StoreError`] if it can't be read.
    async fn rows(&self, since: Timestamp) -> Result<Vec<LedgerRow>, StoreError>;
}

#[cfg(test)]
mod tests {
    use model::Price;

    use super::*;

    #[test]
    fn a_day_is_a_day_of_utc_also_before_1970() {
        for (at, day, number) in [
            ("1970-01-01T00:00:00Z", "1970-01-01", 0),
            ("1969-12-31T23:59:59.999Z", "1969-12-31", -1),
            ("2026-11-30T23:59:59.999Z", "2026-11-30", 20_787),
            ("2026-12-01T00:30:00+01:00", "2026-11-30", 20_787),
        ] {
            let found = Day::of(at.parse().unwrap());
            assert_eq!((found.to_string().as_str(), found.number()), (day, number));
            assert_eq!(Day::numbered(number), Some(found));
            assert_eq!(Day::of(found.begins()), found);
        }
        assert_eq!(Day::numbered(i64::MAX), None);
        assert_eq!(Day(20_787).back(30).to_string(), "2026-10-31");
    }

    #[test]
    fn what_has_no_price_is_counted_as_such_and_never_as_nothing() {
        let price = Price {
            input: 3_000_000,
            cached: 300_000,
            output: 15_000_000,
        };
        let usage = Usage {
            input: 1_000,
            cached: 0,
            output: 100,
        };
        let mut spent = Vec::new();
        Spent::count(&mut spent, "a/m", Some(usage), Some(price));
        Spent::count(&mut spent, "b/m", Some(usage), None);
        // A provider that says nothing of tokens: what it cost is not known either.
        Spent::count(&mut spent, "a/m", None, Some(price));
        let [first, second] = spent.as_slice() else {
            panic!("{spent:?}")
        };
        assert_eq!((first.calls, first.unpriced), (2, 1));
        assert_eq!(first.cost, Some(Cost(4_500)));
        assert_eq!((second.calls, second.unpriced, second.cost), (1, 1, None));
        let total = Total::of(&spent);
        assert_eq!((total.calls, total.unpriced), (3, 2));
        assert_eq!((total.usage.input, total.cost), (2_000, Cost(4_500)));
    }

    #[test]
    fn what_costs_nothing_by_its_price_is_counted() {
        let price = Price {
            input: 0,
            cached: 0,
            output: 0,
        };
        let mut spent = Vec::new();
        Spent::count(&mut spent, "home/m", Some(Usage::default()), Some(price));
        assert_eq!(spent.first().unwrap().cost, Some(Cost(0)));
        assert_eq!(Total::of(&spent).unpriced, 0);
    }
}
