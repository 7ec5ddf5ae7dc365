//! Tokens and money, at rest.

use async_trait::async_trait;
use model::{Cost, Usage};
use outbox::StoreError;
use rusqlite::{Row, params};
use session::{Day, Ledger, LedgerRow, Spent, Total, TurnCommit};
use waybill::{ProfileId, SessionId, Timestamp};

use crate::desk::Desk;
use crate::error::Trouble;
use crate::store::Store;
use crate::value::parse;

/// Sums stay within what a column holds: over it they stand still, which no price and no person reaches.
const ADD: &str =
    "INSERT INTO ledger(day, profile, route, calls, unpriced, input, cached, output, cost)
     VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
     ON CONFLICT(day, profile, route) DO UPDATE SET
       calls = min(calls, 9223372036854775807 - ?4) + ?4,
       unpriced = min(unpriced, 9223372036854775807 - ?5) + ?5,
       input = min(input, 9223372036854775807 - ?6) + ?6,
       cached = min(cached, 9223372036854775807 - ?7) + ?7,
       output = min(output, 9223372036854775807 - ?8) + ?8,
       cost = min(cost, 9223372036854775807 - ?9) + ?9";

#[async_trait]
impl Ledger for Store {
    async fn spent(&self, profile: &ProfileId, since: Timestamp) -> Result<Total, StoreError> {
        let profile = profile.clone();
        self.read(move |desk| {
            let rows = desk.all(
                "SELECT calls, unpriced, input, cached, output, cost FROM ledger WHERE day >= ?1 AND profile = ?2",
                params![Day::of(since).number(), profile.as_str()],
                |row| total(row, 0),
            )?;
            Ok(sum(rows))
        })
        .await
    }

    async fn session(&self, session: SessionId) -> Result<Total, StoreError> {
        self.read(move |desk| {
            let rows = desk.all(
                "SELECT calls, unpriced, input, cached, output, cost FROM turn WHERE session = ?1",
                [session.to_string()],
                |row| total(row, 0),
            )?;
            Ok(sum(rows))
        })
        .await
    }

    async fn rows(&self, since: Timestamp) -> Result<Vec<LedgerRow>, StoreError> {
        self.read(move |desk| {
            let rows: Vec<(i64, String, String, Total)> = desk.all(
                "SELECT day, profile, route, calls, unpriced, input, cached, output, cost FROM ledger
                 WHERE day >= ?1 ORDER BY day DESC, profile, route",
                [Day::of(since).number()],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, total(row, 3)?)),
            )?;
            rows.into_iter().map(read).collect()
        })
        .await
    }
}

fn read((day, profile, route, total): (i64, String, String, Total)) -> Result<LedgerRow, Trouble> {
    let row = format!("the ledger's row of day {day}, {profile}, {route}");
    Ok(LedgerRow {
        day: Day::numbered(day)
            .ok_or_else(|| Trouble::unreadable(&row, "the day can't be named".to_owned()))?,
        profile: parse(&row, &profile)?,
        route,
        total,
    })
}

/// Six columns from `first` on.
fn total(row: &Row<'_>, first: usize) -> rusqlite::Result<Total> {
    // A negative number was never written; read as nothing, it makes no sum smaller.
    let get = |column: usize| -> rusqlite::Result<u64> {
        let value: i64 = row.get(first + column)?;
        rusqlite::Result::Ok(u64::try_from(value).unwrap_or(0))
    };
    Ok(Total {
        calls: get(0)?,
        unpriced: get(1)?,
        usage: Usage {
            input: get(2)?,
            cached: get(3)?,
            output: get(4)?,
        },
        cost: Cost(get(5)?),
    })
}

fn sum(rows: Vec<Total>) -> Total {
    rows.into_iter().fold(Total::default(), |mut all, one| {
        all += one;
        all
    })
}

/// Counts what a turn spent, in the transaction that ends it.
pub(crate) fn add(desk: &Desk<'_>, commit: &TurnCommit) -> Result<(), Trouble> {
    let day = Day::of(commit.at).number();
    let profile = commit.scope.profile().as_str();
    for spent in &commit.spent {
        desk.run(
            ADD,
            params![
                day,
                profile,
                spent.route,
                spent.calls,
                spent.unpriced,
                whole(spent.usage.input),
                whole(spent.usage.cached),
                whole(spent.usage.output),
                cost(spent)
            ],
        )?;
    }
    Ok(())
}

fn cost(spent: &Spent) -> i64 {
    whole(spent.cost.unwrap_or_default().0)
}

pub(crate) fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
