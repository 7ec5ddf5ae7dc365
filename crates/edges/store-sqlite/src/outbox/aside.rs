//! Parts that can't be read: set aside by a claim, told to the owner afterwards.

use outbox::{Aside, Claimed, Notice};
use rusqlite::params;
use waybill::Timestamp;

use super::gathering::tell;
use crate::desk::Desk;
use crate::error::Trouble;
use crate::value::ms;

pub(super) const UNTOLD: &str =
    "SELECT p.id, coalesce(m.message_id, '?'), m.profile, coalesce(p.fault ->> '$.text', '?')
    FROM part p LEFT JOIN message m ON m.id = p.message
    WHERE p.state = 'held' AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.part = p.id) LIMIT 100";

/// Those of which nobody was told.
pub(super) fn untold(desk: &Desk<'_>) -> Result<Vec<Aside>, Trouble> {
    type Columns = (i64, String, Option<String>, String);
    let rows: Vec<Columns> = desk.all(UNTOLD, [], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    Ok(rows
        .into_iter()
        .map(|(row, message, profile, reason)| Aside {
            row,
            message,
            profile: profile.and_then(|profile| profile.parse().ok()),
            reason,
        })
        .collect())
}

/// Somebody is told, or there is nobody.
pub(super) fn told_of(
    desk: &Desk<'_>,
    aside: &Aside,
    notice: Option<&Notice>,
    now: Timestamp,
) -> Result<Vec<Claimed>, Trouble> {
    let (claimed, told) = match notice {
        Some(notice) => tell(desk, notice, now)?,
        None => (Vec::new(), None),
    };
    desk.run(
        "INSERT INTO dead(part, reason, at, notice) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(part) DO NOTHING",
        params![
            aside.row,
            aside.reason,
            ms(now),
            told.map(|told| told.to_string())
        ],
    )?;
    Ok(claimed)
}
