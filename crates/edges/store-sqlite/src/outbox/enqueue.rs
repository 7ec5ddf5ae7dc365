//! New messages take their places in their lanes.

use outbox::{Claimed, NewMessage};
use rusqlite::params;
use waybill::Timestamp;

use super::claim::claim_lane;
use super::lane::{self, Lane};
use super::words;
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
        supersede(desk, message, row, lane)?;
        let was_idle = lane::head(desk, lane)?.is_none();
        store_parts(desk, message, row, lane, now)?;
        if was_idle {
            claimed.extend(claim_lane(desk, lane, now)?);
        }
    }
    Ok(claimed)
}

/// `None`: the same step stored it before.
fn store(desk: &Desk<'_>, message: &NewMessage) -> Result<Option<i64>, Trouble> {
    let fresh = desk.run(
        "INSERT INTO message(message_id, source, ordinal, kind, profile, account, waybill, created_at, expires_at,
                             replaces, when_unknown)
         VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT(source, ordinal) DO NOTHING",
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
            message.replaces,
            words::when_unknown_name(message.when_unknown),
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
            "INSERT INTO part(message, n, lane, seq, op, way, key, state, next_at)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, 'queued', ?8)",
            params![
                row,
                place + 1,
                lane,
                first + place,
                json(&part.op)?,
                words::way_name(part.way),
                part.key.to_string(),
                ms(now)
            ],
        )?;
    }
    Ok(())
}

/// Of messages with one name the newest wins: what of older ones was not seen yet, not even as a placeholder, is not sent any
/// more.
fn supersede(desk: &Desk<'_>, message: &NewMessage, row: i64, lane: Lane) -> Result<(), Trouble> {
    let Some(name) = &message.replaces else {
        return Ok(());
    };
    let older = desk.run(
        "UPDATE part SET state = 'superseded' WHERE lane = ?1 AND state IN ('queued','retry')
         AND may_be_repeat = 0 AND step IS NULL
         AND message IN (SELECT id FROM message WHERE replaces = ?2 AND id <> ?3)",
        params![lane, name, row],
    )?;
    if older > 0 {
        lane::recompute(desk, lane)?;
    }
    Ok(())
}
