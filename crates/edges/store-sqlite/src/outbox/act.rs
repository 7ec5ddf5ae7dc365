//! What the owner wants with a parcel.

use outbox::{Acted, MessageKind, PartState, Verb};
use rusqlite::params;
use waybill::{MessageId, Timestamp};

use super::lane::{self, Lane};
use crate::desk::Desk;
use crate::error::Trouble;
use crate::value::{ms, number, parse};

/// A millisecond count of an hour.
const HOUR_MS: i64 = 3_600_000;

struct Row {
    id: i64,
    n: u32,
    lane: Lane,
    state: PartState,
}

/// Applies a verb to all parts of a message, or to one; `None`: there is none.
pub(super) fn act(
    desk: &Desk<'_>,
    id: MessageId,
    part: Option<u32>,
    verb: Verb,
    now: Timestamp,
) -> Result<Option<Acted>, Trouble> {
    let found: Option<(i64, String)> = desk.first(
        "SELECT id, kind FROM message WHERE message_id = ?1",
        [id.to_string()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let Some((message, kind)) = found else {
        return Ok(None);
    };
    let kind: MessageKind = parse(id, &kind)?;
    let rows = parts(desk, message, part)?;
    if rows.is_empty() {
        return Ok(None);
    }
    let mut acted = Acted::default();
    for row in rows {
        match verb.applied(row.state) {
            Some(state) => {
                put(desk, &row, state, now)?;
                acted.changed.push((row.n, state));
                desk.run(
                    "UPDATE dead SET resolved_at = ?2, resolution = ?3 WHERE part = ?1",
                    params![row.id, ms(now), verb.name()],
                )?;
            }
            None => acted.left.push((row.n, row.state)),
        }
    }
    if verb == Verb::Retry && !acted.changed.is_empty() {
        // Asked for again, it is as young as a new one.
        desk.run(
            "UPDATE message SET expires_at = max(expires_at, ?2) WHERE id = ?1",
            [message, ms(now) + kind.most_hours() * HOUR_MS],
        )?;
    }
    desk.wake();
    Ok(Some(acted))
}

fn parts(desk: &Desk<'_>, message: i64, part: Option<u32>) -> Result<Vec<Row>, Trouble> {
    let rows: Vec<(i64, i64, Lane, String)> = desk.all(
        "SELECT id, n, lane, state FROM part WHERE message = ?1 AND (?2 IS NULL OR n = ?2) ORDER BY n",
        params![message, part],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    rows.into_iter()
        .map(|(id, n, lane, state)| {
            Ok(Row {
                id,
                n: number("part", n)?,
                lane,
                state: parse("part", &state)?,
            })
        })
        .collect()
}

fn put(desk: &Desk<'_>, row: &Row, state: PartState, now: Timestamp) -> Result<(), Trouble> {
    let in_line = row.state.blocks_lane();
    match state {
        PartState::Queued if !in_line => {
            // Its place has been passed: it goes to the end, to where the chat lives now.
            let target = lane::follow(desk, row.lane)?;
            let place = lane::places(desk, target, 1)?;
            desk.run(
                "UPDATE part SET state = 'queued', lane = ?2, seq = ?3, next_at = ?4, tries = 0, crashes = 0, step = NULL
                 WHERE id = ?1",
                params![row.id, target, place, ms(now)],
            )?;
            lane::recompute(desk, target)
        }
        PartState::Unknown => {
            // The platform may still be at work on it: its time to settle is kept.
            desk.run(
                "UPDATE part SET tries = 0, crashes = 0 WHERE id = ?1",
                [row.id],
            )?;
            lane::recompute(desk, row.lane)
        }
        PartState::Queued => {
            desk.run(
                "UPDATE part SET state = ?2, next_at = ?3, tries = 0, crashes = 0 WHERE id = ?1",
                params![row.id, state.name(), ms(now)],
            )?;
            lane::recompute(desk, row.lane)
        }
        PartState::Sending
        | PartState::Retry
        | PartState::Held
        | PartState::Sent
        | PartState::Failed
        | PartState::Expired
        | PartState::Cancelled
        | PartState::Superseded => {
            desk.run(
                "UPDATE part SET state = ?2 WHERE id = ?1",
                params![row.id, state.name()],
            )?;
            if in_line {
                lane::recompute(desk, row.lane)?;
            }
            Ok(())
        }
    }
}
