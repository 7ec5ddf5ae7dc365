//! Money that was spent, as tests and the preview want it.

use async_trait::async_trait;
use model::{Cost, Usage};
use policy::budget::Limits;
use session::{Day, Ledger, LedgerRow, StoreError, Total};
use tidings_admin as admin;
use waybill::{ProfileId, SessionId, Timestamp};

/// A ledger that stands.
#[derive(Debug, Default)]
pub(crate) struct Coins {
    pub(crate) money: Vec<admin::Money>,
    pub(crate) rows: Vec<LedgerRow>,
}

/// So many calls, thousands of tokens that were read, of which so many from a cache, and thousandths of a dollar; `None` for a model
/// without a price.
pub(crate) fn total(calls: u64, read: u64, cached: u64, cost: Option<u64>) -> Total {
    Total {
        calls,
        unpriced: if cost.is_some() { 0 } else { calls },
        usage: Usage {
            input: read * 1_000,
            cached: cached * 1_000,
            output: read * 30,
        },
        cost: Cost(cost.unwrap_or_default() * 1_000),
    }
}

pub(crate) fn row(now: Timestamp, ago: u32, profile: &str, route: &str, total: Total) -> LedgerRow {
    LedgerRow {
        day: Day::of(now).back(ago),
        profile: profile.parse().unwrap(),
        route: route.to_owned(),
        total,
    }
}

/// Dollars by thousandths.
fn cap(thousandths: u64) -> Option<Cost> {
    (thousandths > 0).then_some(Cost(thousandths * 1_000))
}

pub(crate) fn money(profile: &str, caps: [u64; 3], day: Total, month: Total) -> admin::Money {
    let [turn, of_day, of_month] = caps.map(cap);
    admin::Money {
        profile: profile.parse().unwrap(),
        limits: Limits {
            turn,
            day: of_day,
            month: of_month,
        },
        day,
        month,
        routes: vec![("far/model".to_owned(), day)],
    }
}

impl admin::MoneyPort for Coins {
    fn money(&self) -> Vec<admin::Money> {
        self.money.clone()
    }
}

#[async_trait]
impl Ledger for Coins {
    async fn spent(&self, _: &ProfileId, _: Timestamp) -> Result<Total, StoreError> {
        Ok(Total::default())
    }

    async fn session(&self, _: SessionId) -> Result<Total, StoreError> {
        Ok(Total::default())
    }

    async fn rows(&self, since: Timestamp) -> Result<Vec<LedgerRow>, StoreError> {
        let since = Day::of(since);
        let rows = self.rows.iter().filter(|row| row.day >= since);
        Ok(rows.cloned().collect())
    }
}
