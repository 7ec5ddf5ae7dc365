//! Claims: a part becomes `sending`, with its attempt row, before it may go on the wire.

use chat::{Fault, FaultKind, IdempotencyKey, Op};
use outbox::{Claimed, PartState};
use rusqlite::params;
use waybill::{MessageId, Timestamp, Waybill};

use super::lane::{self, Head, Lane};
use crate::desk::Desk;
use crate::error::Trouble;
use crate::value::{json, ms, number, parse, read, time};

pub(super) const OPEN_ACCOUNTS: &str =
    "SELECT account FROM account WHERE throttled_until <= ?1 AND resting_until <= ?1";

pub(super) const DUE_LANES: &str = "SELECT id, ready_at FROM lane
    WHERE account = ?1 AND ready_at <= ?2 ORDER BY ready_at LIMIT ?3";

/// Claims the heads of due lanes, `most` in all. Accounts take turns, so that one with many lanes holds up no other; within
/// an account the lane that waited longest goes first.
pub(super) fn claim(desk: &Desk<'_>, now: Timestamp, most: usize) -> Result<Vec<Claimed>, Trouble> {
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut due: Vec<(usize, i64, Lane)> = Vec::new();
    for account in desk.all(OPEN_ACCOUNTS, [ms(now)], |row| row.get::<_, String>(0))? {
        let lanes = desk.all(DUE_LANES, params![account, ms(now), limit], |row| {
            Ok((row.get::<_, i64>(1)?, row.get::<_, Lane>(0)?))
        })?;
        due.extend(
            lanes
                .into_iter()
                .enumerate()
                .map(|(rank, (ready, lane))| (rank, ready, lane)),
        );
    }
    due.sort_unstable();
    let mut claimed = Vec::new();
    for (_, _, lane) in due {
        if claimed.len() >= most {
            break;
        }
        claimed.extend(claim_head(desk, lane, now)?);
    }
    Ok(claimed)
}

/// Claims the head of a lane, if it is due and its account need not wait; keeps `ready_at` right either way.
pub(super) fn claim_head(
    desk: &Desk<'_>,
    lane: Lane,
    now: Timestamp,
) -> Result<Option<Claimed>, Trouble> {
    while let Some(head) = lane::head(desk, lane)? {
        if head.state == PartState::Sending
            || head.next_at > ms(now)
            || lane::is_gated(desk, lane, now)?
        {
            break;
        }
        match load(desk, lane, &head) {
            Ok(claimed) => {
                start(desk, lane, &head, &claimed, now)?;
                return Ok(Some(claimed));
            }
            Err(trouble) => hold(desk, &head, trouble)?,
        }
    }
    lane::recompute(desk, lane)?;
    Ok(None)
}

/// The part as it will be once it was claimed.
fn load(desk: &Desk<'_>, lane: Lane, head: &Head) -> Result<Claimed, Trouble> {
    let part = head.part;
    let row = || format!("part {part}");
    type Columns = (
        i64,
        String,
        String,
        i64,
        i64,
        bool,
        String,
        String,
        String,
        i64,
    );
    let columns: Option<Columns> = desk.first(
        "SELECT p.n, p.op, p.key, p.attempts, p.tries, p.may_be_repeat, m.message_id, m.kind, m.waybill, m.expires_at
         FROM part p JOIN message m ON m.id = p.message WHERE p.id = ?1",
        [part],
        |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
                row.get(6)?,
                row.get(7)?,
                row.get(8)?,
                row.get(9)?,
            ))
        },
    )?;
    let (n, op, key, attempts, tries, may_be_repeat, message, kind, waybill, expires_at) =
        columns.ok_or_else(|| Trouble::unreadable(row(), "its message is missing"))?;
    let waybill: Waybill = read(row(), &waybill)?;
    Ok(Claimed {
        message: parse::<MessageId>(row(), &message)?,
        part: number(row(), n)?,
        attempt: number(row(), attempts + 1)?,
        waybill: waybill.redirected(lane::chat(desk, lane)?),
        kind: parse(row(), &kind)?,
        op: read::<Op>(row(), &op)?,
        key: parse::<IdempotencyKey>(row(), &key)?,
        came_from: head.state,
        tries: number(row(), tries + 1)?,
        may_be_repeat,
        expires_at: time(row(), expires_at)?,
    })
}

fn start(
    desk: &Desk<'_>,
    lane: Lane,
    head: &Head,
    claimed: &Claimed,
    now: Timestamp,
) -> Result<(), Trouble> {
    desk.run(
        "UPDATE part SET state = 'sending', attempts = ?2, tries = ?3 WHERE id = ?1",
        params![head.part, claimed.attempt, claimed.tries],
    )?;
    desk.run(
        "INSERT INTO attempt(part, n, started_at) VALUES(?1, ?2, ?3)",
        params![head.part, claimed.attempt, ms(now)],
    )?;
    desk.run("UPDATE lane SET ready_at = NULL WHERE id = ?1", [lane])?;
    Ok(())
}

/// A part that can't be read waits for the owner; its lane goes on. Only damage is held: trouble with the database itself
/// is passed up.
fn hold(desk: &Desk<'_>, head: &Head, trouble: Trouble) -> Result<(), Trouble> {
    let damage = trouble.damage()?;
    let fault = Fault::new(FaultKind::PermItem, damage.0);
    desk.run(
        "UPDATE part SET state = 'held', fault = ?2 WHERE id = ?1",
        params![head.part, json(&fault)?],
    )?;
    Ok(())
}
