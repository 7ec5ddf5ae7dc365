//! Messages that are done, with everything that hangs on them.

use outbox::StoreError;
use session::{Cutoffs, Step};

use super::step;
use crate::desk::Desk;
use crate::error::Trouble;
use crate::store::Store;
use crate::value::ms;

/// Messages ?1 < id <= ?2 of which every part is at its end, and at which nothing happened since ?3; since ?4 if one of their
/// deaths was left alone. An ended part has no place in its lane's order any more, so none is kept for it.
pub(super) const FITS: &str = "SELECT m.id FROM message m
    WHERE m.id > ?1 AND m.id <= ?2 AND m.created_at < max(?3, ?4)
      AND NOT EXISTS (SELECT 1 FROM part p WHERE p.message = m.id
          AND p.state NOT IN ('sent','failed','expired','cancelled','superseded'))
      AND max(m.created_at,
          coalesce((SELECT max(coalesce(a.ended_at, a.started_at)) FROM part p JOIN attempt a ON a.part = p.id
              WHERE p.message = m.id), 0),
          coalesce((SELECT max(max(d.at, coalesce(d.resolved_at, 0))) FROM part p JOIN dead d ON d.part = p.id
              WHERE p.message = m.id), 0))
        < CASE WHEN EXISTS (SELECT 1 FROM part p JOIN dead d ON d.part = p.id
              WHERE p.message = m.id AND d.resolved_at IS NULL) THEN ?4 ELSE ?3 END";

/// The lane of a message, if it is one of a single request by the API: nothing comes there any more.
const LANE: &str = "SELECT l.id FROM part p JOIN lane l ON l.id = p.lane
    WHERE p.message = ?1 AND l.account = 'api' AND l.conversation GLOB '*/~*' LIMIT 1";
const EMPTY_LANE: &str =
    "DELETE FROM lane WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM part WHERE lane = ?1)";

/// What removes a message, in this order.
pub(super) const DELETES: [&str; 4] = [
    "DELETE FROM dead WHERE part IN (SELECT id FROM part WHERE message = ?1)",
    "DELETE FROM attempt WHERE part IN (SELECT id FROM part WHERE message = ?1)",
    "DELETE FROM part WHERE message = ?1",
    "DELETE FROM message WHERE id = ?1",
];

pub(super) async fn tidy(store: &Store, cutoffs: &Cutoffs, after: i64) -> Result<Step, StoreError> {
    let moments = vec![ms(cutoffs.sent), ms(cutoffs.dead)];
    step(store, "message", FITS, after, moments, remove).await
}

fn remove(desk: &Desk<'_>, message: i64) -> Result<usize, Trouble> {
    let lane: Option<i64> = desk.first(LANE, [message], |row| row.get(0))?;
    let mut rows = 0;
    for sql in DELETES {
        rows += desk.run(sql, [message])?;
    }
    if let Some(lane) = lane {
        rows += desk.run(EMPTY_LANE, [lane])?;
    }
    Ok(rows)
}
