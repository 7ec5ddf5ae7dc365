//! New messages take their places in their lanes.

use outbox::{Claimed, NewMessage};
use rusqlite::params;
use waybill::Timestamp;

use super::claim::claim_head;
use super::lane::{self, Lane};
use crate::desk::Desk;
use crate::error::Trouble;
use crate::value::{json, ms};

/// Stores messages and claims the first part of each lane that was idle.
pub(crate) fn enqueue(
    desk: &Desk<'_>,
    messages: &[NewMessage],
    now: Timestamp,
) -> Result<Vec<Claimed>, Trouble> {
    let mut claimed = Vec::new();
    for message in messages {
        let Some(row) = store(desk, message)? else {
            continue;
        };
        let lane = lane::of(desk, message.waybill.chat())?;
        let was_idle = lane::head(desk, lane)?.is_none();
        store_parts(desk, message, row, lane, now)?;
        if was_idle {
            claimed.extend(claim_head(desk, lane, now)?);
        }
    }
    Ok(claimed)
}

/// `None`: the same step stored it before.
fn store(desk: &Desk<'_>, message: &NewMessage) -> Result<Option<i64>, Trouble> {
    let fresh = desk.run(
        "INSERT INTO message(message_id, source, ordinal, kind, profile, account, waybill, created_at, expires_at)
         VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(source, ordinal) DO NOTHING",
        params![
            message.id.to_string(),
            message.source,
            message.ordinal,
            message.kind.name(),
            message.waybill.profile().as_str(),
            message.waybill.account().as_str(),
            json(&message.waybill)?,
            ms(message.created_at),
            ms(message.expires_at),
        ],
    )?;
    if fresh == 0 {
        return Ok(None);
    }
    desk.first(
        "SELECT id FROM message WHERE source = ?1 AND ordinal = ?2",
        params![message.source, message.ordinal],
        |row| row.get(0),
    )
}

fn store_parts(
    desk: &Desk<'_>,
    message: &NewMessage,
    row: i64,
    lane: Lane,
    now: Timestamp,
) -> Result<(), Trouble> {
    let first = lane::places(desk, lane, message.parts.len())?;
    for (part, place) in message.parts.iter().zip(0_i64..) {
        desk.run(
            "INSERT INTO part(message, n, lane, seq, op, key, state, next_at) VALUES(?1, ?2, ?3, ?4, ?5, ?6, 'queued', ?7)",
            params![row, place + 1, lane, first + place, json(&part.op)?, part.key.to_string(), ms(now)],
        )?;
    }
    Ok(())
}
