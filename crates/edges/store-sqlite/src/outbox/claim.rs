//! Claims: a part becomes `sending`, with its attempt row, before it may go on the wire.

use chat::{Fault, FaultKind, IdempotencyKey, Op, Step};
use outbox::{Claimed, Claims, PartState, Pass, Waiting};
use rusqlite::{Row, params};
use waybill::{AccountId, ChatKey, MessageId, Timestamp, Waybill};

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
            lane::not_ready(desk, lane)?;
            Ok(None)
        }
    }
}

/// Claims the head of a lane, if it is due and neither its account nor its chat has to wait; keeps `ready_at` right either way.
fn claim_head(desk: &Desk<'_>, lane: Lane, now: Timestamp) -> Result<Option<Claimed>, Trouble> {
    let mut opens = None;
    while let Some(candidate) = candidate(desk, lane)? {
        if candidate.head.state == PartState::Sending || candidate.head.next_at > ms(now) {
            break;
        }
        let entry = candidate.entry.at(now);
        if entry == Entry::Closed {
            break;
        }
        let chat = candidate.chat.read(lane)?;
        match desk.pass(&chat, now) {
            Pass::Go => {}
            Pass::Full => break,
            Pass::NotBefore(at) => {
                opens = Some(at);
                break;
            }
        }
        match load(candidate.columns, &candidate.head, chat.clone(), now) {
            Ok(claimed) => {
                let claimed = Claimed {
                    account_rests: entry == Entry::Probe,
                    ..claimed
                };
                if entry == Entry::Probe {
                    lane::probe(desk, lane, now)?;
                }
                start(desk, lane, &candidate.head, &claimed, now)?;
                return Ok(Some(claimed));
            }
            Err(trouble) => {
                desk.undo(&chat);
                hold(desk, &candidate.head, trouble)?;
            }
        }
    }
    lane::recompute(desk, lane)?;
    if let Some(opens) = opens {
        lane::not_before(desk, lane, opens)?;
    }
    Ok(None)
}

/// A lane's head, and all that decides whether and how it goes.
struct Candidate {
    head: Head,
    entry: lane::Gates,
    chat: lane::Address,
    /// Apart: what is damaged in a part or its message is its own trouble, not the lane's.
    columns: rusqlite::Result<Columns>,
}

/// One question, since it is asked once for every part that is sent.
pub(super) const CANDIDATE: &str = "SELECT p.id, p.state, p.next_at,
      max(a.throttled_until, a.resting_until, l.not_before), a.resting_until, l.account, l.conversation, l.thread,
      p.n, p.op, p.key, p.attempts, p.tries, p.may_be_repeat, p.way, p.step, p.rendition, p.crashes,
      m.message_id, m.kind, m.waybill, m.expires_at, m.source, m.ordinal, m.when_unknown,
      (SELECT started_at FROM attempt WHERE part = p.id ORDER BY n LIMIT 1)
    FROM lane l CROSS JOIN part p LEFT JOIN account a ON a.account = l.account LEFT JOIN message m ON m.id = p.message
    WHERE l.id = ?1 AND p.lane = l.id AND p.state IN ('queued','sending','retry','unknown') ORDER BY p.seq LIMIT 1";

fn candidate(desk: &Desk<'_>, lane: Lane) -> Result<Option<Candidate>, Trouble> {
    let found = desk.first(CANDIDATE, [lane], |row| {
        let state: String = row.get(1)?;
        let gates = lane::Gates {
            opens: row.get(3)?,
            resting: row.get(4)?,
        };
        let address = lane::Address {
            account: row.get(5)?,
            conversation: row.get(6)?,
            thread: row.get(7)?,
        };
        Ok((
            row.get(0)?,
            state,
            row.get(2)?,
            gates,
            address,
            columns(row),
        ))
    })?;
    let Some((part, state, next_at, entry, chat, columns)) = found else {
        return Ok(None);
    };
    let state = parse(format!("part {part}"), &state)?;
    Ok(Some(Candidate {
        head: Head {
            part,
            state,
            next_at,
        },
        entry,
        chat,
        columns,
    }))
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

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok(Columns {
        n: row.get(8)?,
        op: row.get(9)?,
        key: row.get(10)?,
        attempts: row.get(11)?,
        tries: row.get(12)?,
        may_be_repeat: row.get(13)?,
        way: row.get(14)?,
        step: row.get(15)?,
        rendition: row.get(16)?,
        crashes: row.get(17)?,
        message: row.get(18)?,
        kind: row.get(19)?,
        waybill: row.get(20)?,
        expires_at: row.get(21)?,
        source: row.get(22)?,
        ordinal: row.get(23)?,
        when_unknown: row.get(24)?,
        first_at: row.get(25)?,
    })
}

/// The part as it will be once it was claimed.
fn load(
    columns: rusqlite::Result<Columns>,
    head: &Head,
    chat: ChatKey,
    now: Timestamp,
) -> Result<Claimed, Trouble> {
    let row = || format!("part {}", head.part);
    let found = columns?;
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
    lane::not_ready(desk, lane)
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
