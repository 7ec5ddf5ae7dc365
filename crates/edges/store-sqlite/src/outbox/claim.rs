//! Claims: a part becomes `sending`, with its attempt row, before it may go on the wire.

use chat::{Fault, FaultKind, IdempotencyKey, Op, Step};
use outbox::{Claimed, Claims, PartState, Pass, Waiting};
use rusqlite::params;
use waybill::{AccountId, MessageId, Timestamp, Waybill};

use super::lane::{self, Entry, Head, Lane};
use super::{gathering, words};
use crate::desk::Desk;
use crate::error::Trouble;
use crate::value::{json, ms, number, parse, read, time};

pub(super) const ACCOUNTS: &str =
    "SELECT account, max(throttled_until, resting_until), resting_until FROM account";

pub(super) const DUE_LANES: &str = "SELECT id, ready_at FROM lane
    WHERE account = ?1 AND ready_at <= ?2 ORDER BY ready_at LIMIT ?3";

pub(super) const NEXT_READY: &str =
    "SELECT min(ready_at) FROM lane WHERE account = ?1 AND ready_at > ?2";

pub(super) const FIRST_READY: &str =
    "SELECT min(ready_at) FROM lane WHERE account = ?1 AND ready_at IS NOT NULL";

/// Claims the heads of due lanes, `most` in all. Accounts take turns, so that one with many lanes holds up no other; within
/// an account the lane that waited longest goes first.
pub(super) fn claim(desk: &Desk<'_>, now: Timestamp, most: usize) -> Result<Claims, Trouble> {
    let mut claims = Claims {
        parts: gathering::release(desk, now)?,
        ..Claims::default()
    };
    let mut next: Vec<i64> = gathering::next_due(desk)?.into_iter().collect();
    let accounts: Vec<(String, i64, i64)> = desk.all(ACCOUNTS, [], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    let mut open = Vec::new();
    let mut due: Vec<(usize, i64, Lane)> = Vec::new();
    for (account, gate, resting) in accounts {
        let id: AccountId = parse("account", &account)?;
        let (room, opens) = desk.room(&id, now);
        let gate = opens.map_or(gate, |opens| gate.max(ms(opens)));
        if gate > ms(now) {
            let first: Option<i64> = desk
                .first(FIRST_READY, [&account], |row| row.get(0))?
                .flatten();
            next.extend(first.map(|first| first.max(gate)));
            continue;
        }
        // An account whose rest is over gets one probe; what comes of it opens the account or lets it rest on.
        let room = if resting > 0 { room.min(1) } else { room };
        let room = room.min(most);
        // One more than there are places, to know whether others wait.
        let limit = i64::try_from(room).unwrap_or(i64::MAX).saturating_add(1);
        let mut lanes = desk.all(DUE_LANES, params![account, ms(now), limit], |row| {
            Ok((row.get::<_, i64>(1)?, row.get::<_, Lane>(0)?))
        })?;
        if lanes.len() > room {
            lanes.truncate(room);
            claims.waiting = Waiting::Some;
        }
        due.extend(
            lanes
                .into_iter()
                .enumerate()
                .map(|(rank, (ready, lane))| (rank, ready, lane)),
        );
        open.push(account);
    }
    due.sort_unstable();
    for (_, _, lane) in due {
        if claims.parts.len() >= most {
            claims.waiting = Waiting::Some;
            break;
        }
        claims.parts.extend(claim_lane(desk, lane, now)?);
    }
    for account in open {
        let later: Option<Option<i64>> =
            desk.first(NEXT_READY, params![account, ms(now)], |row| row.get(0))?;
        next.extend(later.flatten());
    }
    claims.next = next
        .into_iter()
        .min()
        .map(|at| time("lane.ready_at", at))
        .transpose()?;
    Ok(claims)
}

/// Claims the head of a lane as [`claim_head`] does; a lane that can't be read is left alone, and others go on.
pub(super) fn claim_lane(
    desk: &Desk<'_>,
    lane: Lane,
    now: Timestamp,
) -> Result<Option<Claimed>, Trouble> {
    match claim_head(desk, lane, now) {
        Ok(claimed) => Ok(claimed),
        Err(trouble) => {
            let damage = trouble.damage()?;
            tracing::error!(
                lane,
                reason = damage.0,
                "a lane can't be read; what waits in it stays there"
            );
            desk.run("UPDATE lane SET ready_at = NULL WHERE id = ?1", [lane])?;
            Ok(None)
        }
    }
}

/// Claims the head of a lane, if it is due and neither its account nor its chat has to wait; keeps `ready_at` right either way.
fn claim_head(desk: &Desk<'_>, lane: Lane, now: Timestamp) -> Result<Option<Claimed>, Trouble> {
    let mut opens = None;
    while let Some(head) = lane::head(desk, lane)? {
        if head.state == PartState::Sending || head.next_at > ms(now) {
            break;
        }
        let entry = lane::entry(desk, lane, now)?;
        if entry == Entry::Closed {
            break;
        }
        let chat = lane::chat(desk, lane)?;
        match desk.pass(&chat, now) {
            Pass::Go => {}
            Pass::Full => break,
            Pass::NotBefore(at) => {
                opens = Some(at);
                break;
            }
        }
        match load(desk, chat, &head, now) {
            Ok(claimed) => {
                let claimed = Claimed {
                    account_rests: entry == Entry::Probe,
                    ..claimed
                };
                if entry == Entry::Probe {
                    lane::probe(desk, lane, now)?;
                }
                start(desk, lane, &head, &claimed, now)?;
                return Ok(Some(claimed));
            }
            Err(trouble) => {
                desk.undo(&lane::chat(desk, lane)?);
                hold(desk, &head, trouble)?;
            }
        }
    }
    lane::recompute(desk, lane)?;
    if let Some(opens) = opens {
        lane::not_before(desk, lane, opens)?;
    }
    Ok(None)
}

struct Columns {
    n: i64,
    op: String,
    key: String,
    attempts: i64,
    tries: i64,
    may_be_repeat: bool,
    way: String,
    step: Option<String>,
    rendition: i64,
    crashes: i64,
    message: String,
    kind: String,
    waybill: String,
    expires_at: i64,
    source: String,
    ordinal: i64,
    when_unknown: String,
    first_at: Option<i64>,
}

const LOAD: &str = "SELECT p.n, p.op, p.key, p.attempts, p.tries, p.may_be_repeat, p.way, p.step, p.rendition, p.crashes,
      m.message_id, m.kind, m.waybill, m.expires_at, m.source, m.ordinal, m.when_unknown,
      (SELECT started_at FROM attempt WHERE part = p.id ORDER BY n LIMIT 1)
    FROM part p JOIN message m ON m.id = p.message WHERE p.id = ?1";

/// The part as it will be once it was claimed.
fn load(
    desk: &Desk<'_>,
    chat: waybill::ChatKey,
    head: &Head,
    now: Timestamp,
) -> Result<Claimed, Trouble> {
    let part = head.part;
    let row = || format!("part {part}");
    let columns = desk.first(LOAD, [part], |row| {
        Ok(Columns {
            n: row.get(0)?,
            op: row.get(1)?,
            key: row.get(2)?,
            attempts: row.get(3)?,
            tries: row.get(4)?,
            may_be_repeat: row.get(5)?,
            way: row.get(6)?,
            step: row.get(7)?,
            rendition: row.get(8)?,
            crashes: row.get(9)?,
            message: row.get(10)?,
            kind: row.get(11)?,
            waybill: row.get(12)?,
            expires_at: row.get(13)?,
            source: row.get(14)?,
            ordinal: row.get(15)?,
            when_unknown: row.get(16)?,
            first_at: row.get(17)?,
        })
    })?;
    let found = columns.ok_or_else(|| Trouble::unreadable(row(), "its message is missing"))?;
    let waybill: Waybill = read(row(), &found.waybill)?;
    Ok(Claimed {
        message: parse::<MessageId>(row(), &found.message)?,
        part: number(row(), found.n)?,
        attempt: number(row(), found.attempts + 1)?,
        waybill: waybill.redirected(chat),
        kind: parse(row(), &found.kind)?,
        op: read::<Op>(row(), &found.op)?,
        way: words::way(&row(), &found.way)?,
        step: found.step.map(Step::new),
        key: parse::<IdempotencyKey>(row(), &found.key)?,
        rendition: number(row(), found.rendition)?,
        source: found.source,
        ordinal: number(row(), found.ordinal)?,
        came_from: head.state,
        tries: number(row(), found.tries + 1)?,
        crashes: number(row(), found.crashes)?,
        may_be_repeat: found.may_be_repeat,
        account_rests: false,
        when_unknown: words::when_unknown(&row(), &found.when_unknown)?,
        first_at: found
            .first_at
            .map(|at| time(row(), at))
            .transpose()?
            .unwrap_or(now),
        expires_at: time(row(), found.expires_at)?,
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
