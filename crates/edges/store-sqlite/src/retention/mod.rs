//! What goes when its time is over, in small steps.
//!
//! A step looks for what may go on a reading connection, so that a long search holds up no writer, and asks again, row by row,
//! in the transaction that changes it: what became open in between stays. Rows are walked in the order of their numbers, so
//! that no index is needed that only this room would use.

mod collect;
mod conversations;
mod events;
mod messages;
mod shrink;
#[cfg(test)]
mod tests;
mod words;

use async_trait::async_trait;
use outbox::StoreError;
use session::{Chore, Collected, Cutoffs, RetentionStore, Shrunk, Step};
use waybill::Timestamp;

use crate::desk::Desk;
use crate::error::Trouble;
use crate::store::Store;

/// Rows that one step changes or deletes, about: some milliseconds of the writer.
const ROWS: usize = 500;
/// Rows that one step looks at.
const LOOKED: i64 = 5_000;

#[async_trait]
impl RetentionStore for Store {
    async fn tidy(&self, chore: Chore, cutoffs: &Cutoffs, after: i64) -> Result<Step, StoreError> {
        let cutoffs = cutoffs.clone();
        match chore {
            Chore::PartWords => words::tidy(self, &cutoffs, after).await,
            Chore::Messages => messages::tidy(self, &cutoffs, after).await,
            Chore::EventWords => events::tidy_words(self, &cutoffs, after).await,
            Chore::Events => events::tidy(self, &cutoffs, after).await,
            Chore::Transcripts => conversations::tidy_turns(self, &cutoffs, after).await,
            Chore::WebChats => conversations::tidy_web(self, &cutoffs, after).await,
        }
    }

    async fn collect(&self, before: Timestamp) -> Result<Collected, StoreError> {
        collect::collect(self, before).await
    }

    async fn shrink(&self) -> Result<Shrunk, StoreError> {
        shrink::shrink(self).await
    }
}

/// What a search found.
struct Found {
    /// Rows that may go, in the order of their numbers.
    rows: Vec<i64>,
    /// Where the next search begins.
    next: Option<i64>,
}

/// Looks through a stretch of a table for rows that may go. `fits` takes numbers after ?1 and up to ?2, and the moments from
/// ?3 on.
fn find(
    desk: &Desk<'_>,
    table: &'static str,
    fits: &str,
    after: i64,
    moments: &[i64],
) -> Result<Found, Trouble> {
    let last: Option<i64> = desk
        .first(
            &format!(
                "SELECT max(id) FROM (SELECT id FROM {table} WHERE id > ?1 ORDER BY id LIMIT ?2)"
            ),
            [after, LOOKED],
            |row| row.get(0),
        )?
        .flatten();
    let Some(last) = last else {
        return Ok(Found {
            rows: Vec::new(),
            next: None,
        });
    };
    let bounds = [after, last];
    let limit = i64::try_from(ROWS).unwrap_or(i64::MAX);
    let rows: Vec<i64> = desk.all(
        &format!("{fits} ORDER BY 1 LIMIT {limit}"),
        rusqlite::params_from_iter(bounds.iter().chain(moments)),
        |row| row.get(0),
    )?;
    let next = if rows.len() == ROWS {
        rows.last().copied()
    } else {
        Some(last)
    };
    Ok(Found { rows, next })
}

/// Does the step: searches, and lets `change` have what was found and still fits, row by row, until it changed enough.
async fn step<C>(
    store: &Store,
    table: &'static str,
    fits: &'static str,
    after: i64,
    moments: Vec<i64>,
    change: C,
) -> Result<Step, StoreError>
where
    C: Fn(&Desk<'_>, i64) -> Result<usize, Trouble> + Send + 'static,
{
    let asked = moments.clone();
    let Found { rows, next } = store
        .read(move |desk| find(desk, table, fits, after, &asked))
        .await?;
    if rows.is_empty() {
        return Ok(Step { rows: 0, next });
    }
    store
        .write(move |desk| apply(desk, fits, &moments, rows, next, change))
        .await
}

fn apply<C>(
    desk: &Desk<'_>,
    fits: &str,
    moments: &[i64],
    rows: Vec<i64>,
    next: Option<i64>,
    change: C,
) -> Result<Step, Trouble>
where
    C: Fn(&Desk<'_>, i64) -> Result<usize, Trouble>,
{
    let mut step = Step { rows: 0, next };
    for row in rows {
        if step.rows >= ROWS as u64 {
            // The next step finds it again, and what is behind it.
            step.next = Some(row - 1);
            break;
        }
        if still(desk, fits, row, moments)? {
            step.rows += change(desk, row)? as u64;
        }
    }
    Ok(step)
}

/// Whether a row still fits, now that nobody else writes.
fn still(desk: &Desk<'_>, fits: &str, row: i64, moments: &[i64]) -> Result<bool, Trouble> {
    let bounds = [row - 1, row];
    let there = desk.first(
        fits,
        rusqlite::params_from_iter(bounds.iter().chain(moments)),
        |_row| Ok(()),
    )?;
    Ok(there.is_some())
}
