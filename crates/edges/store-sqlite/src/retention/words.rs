//! What sent parts showed.

use chat::{Body, Op};
use outbox::StoreError;
use rusqlite::params;
use session::{Cutoffs, Step};

use super::step;
use crate::desk::Desk;
use crate::error::Trouble;
use crate::store::Store;
use crate::value::{json, ms, read};

/// Parts ?1 < id <= ?2 that were done with before ?3. One that the owner may still ask for again keeps its words.
pub(super) const FITS: &str = "SELECT p.id FROM part p JOIN message m ON m.id = p.message
    WHERE p.id > ?1 AND p.id <= ?2 AND p.forgotten = 0 AND p.state IN ('sent','superseded') AND m.created_at < ?3
      AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.part = p.id AND coalesce(a.ended_at, a.started_at) >= ?3)";

pub(super) const FORGET: &str = "UPDATE part SET op = ?2, forgotten = 1 WHERE id = ?1";
pub(super) const LINES: &str = "UPDATE message SET lines = NULL WHERE id = ?1 AND lines IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM part WHERE message = ?1 AND forgotten = 0)";

pub(super) async fn tidy(store: &Store, cutoffs: &Cutoffs, after: i64) -> Result<Step, StoreError> {
    let moments = vec![ms(cutoffs.words)];
    step(store, "part", FITS, after, moments, forget).await
}

fn forget(desk: &Desk<'_>, part: i64) -> Result<usize, Trouble> {
    let Some((op, message)) = desk.first(
        "SELECT op, message FROM part WHERE id = ?1",
        [part],
        |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)),
    )?
    else {
        return Ok(0);
    };
    // One that can't be read was sent all the same; whatever its words are, they go.
    let op = read::<Op>(format!("part {part}"), &op)
        .unwrap_or_else(|_unreadable| Op::Text(Body::Markdown(String::new())));
    desk.run(FORGET, params![part, json(&outbox::forget(&op))?])?;
    desk.run(LINES, [message])?;
    Ok(1)
}
