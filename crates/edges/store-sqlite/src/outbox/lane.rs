//! Lanes and accounts: who has to wait, and until when.

use outbox::PartState;
use rusqlite::params;
use waybill::{ChatKey, Conversation, Thread, Timestamp};

use crate::desk::Desk;
use crate::error::Trouble;
use crate::value::{ms, parse};

/// A lane's row.
pub(super) type Lane = i64;

/// The first part of a lane that is not at its end.
pub(super) struct Head {
    pub(super) part: i64,
    pub(super) state: PartState,
    pub(super) next_at: i64,
}

pub(super) const HEAD: &str = "SELECT id, state, next_at FROM part
    WHERE lane = ?1 AND state IN ('queued','sending','retry','unknown') ORDER BY seq LIMIT 1";

/// Chats that moved on from chats that moved on: more than platforms ever make.
const MOST_MOVES: usize = 64;

/// The lane of a chat, or of where the platform moved the chat to; made if there is none.
pub(super) fn of(desk: &Desk<'_>, chat: &ChatKey) -> Result<Lane, Trouble> {
    let (mut lane, mut moved) = exact(desk, chat)?;
    for _ in 0..MOST_MOVES {
        let Some(next) = moved else { break };
        lane = next;
        moved = desk
            .first("SELECT moved_to FROM lane WHERE id = ?1", [lane], |row| {
                row.get(0)
            })?
            .flatten();
    }
    Ok(lane)
}

fn exact(desk: &Desk<'_>, chat: &ChatKey) -> Result<(Lane, Option<Lane>), Trouble> {
    let account = chat.account.as_str();
    let thread = chat.thread.as_ref().map_or("", Thread::as_str);
    let found = desk.first(
        "SELECT id, moved_to FROM lane WHERE account = ?1 AND conversation = ?2 AND thread = ?3",
        params![account, chat.conversation.as_str(), thread],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if let Some(found) = found {
        return Ok(found);
    }
    desk.run(
        "INSERT INTO account(account) VALUES(?1) ON CONFLICT DO NOTHING",
        [account],
    )?;
    let lane = desk.insert(
        "INSERT INTO lane(account, conversation, thread) VALUES(?1, ?2, ?3)",
        params![account, chat.conversation.as_str(), thread],
    )?;
    Ok((lane, None))
}

/// The lane itself, or where the platform moved its chat to.
pub(super) fn follow(desk: &Desk<'_>, lane: Lane) -> Result<Lane, Trouble> {
    of(desk, &chat(desk, lane)?)
}

/// Points one chat's lane to another's for all that comes. The other one is an end from now on, so no circle can form.
pub(super) fn point(desk: &Desk<'_>, from: Lane, to: &ChatKey) -> Result<Lane, Trouble> {
    let (target, _) = exact(desk, to)?;
    desk.run("UPDATE lane SET moved_to = NULL WHERE id = ?1", [target])?;
    desk.run(
        "UPDATE lane SET moved_to = ?2 WHERE id = ?1",
        [from, target],
    )?;
    Ok(target)
}

/// The chat of a lane.
pub(super) fn chat(desk: &Desk<'_>, lane: Lane) -> Result<ChatKey, Trouble> {
    let found = desk.first(
        "SELECT account, conversation, thread FROM lane WHERE id = ?1",
        [lane],
        |columns| {
            Ok(Address {
                account: columns.get(0)?,
                conversation: columns.get(1)?,
                thread: columns.get(2)?,
            })
        },
    )?;
    found
        .ok_or_else(|| Trouble::unreadable(format!("lane {lane}"), "it is missing"))?
        .read(lane)
}

/// A chat as a lane's columns.
pub(super) struct Address {
    pub(super) account: String,
    pub(super) conversation: String,
    pub(super) thread: String,
}

impl Address {
    pub(super) fn read(self, lane: Lane) -> Result<ChatKey, Trouble> {
        let row = || format!("lane {lane}");
        let conversation = Conversation::new(self.conversation)
            .map_err(|error| Trouble::unreadable(row(), error))?;
        let chat = ChatKey::new(parse(row(), &self.account)?, conversation);
        if self.thread.is_empty() {
            return Ok(chat);
        }
        let thread = Thread::new(self.thread).map_err(|error| Trouble::unreadable(row(), error))?;
        Ok(chat.in_thread(thread))
    }
}

/// The lane's head.
pub(super) fn head(desk: &Desk<'_>, lane: Lane) -> Result<Option<Head>, Trouble> {
    let found: Option<(i64, String, i64)> = desk.first(HEAD, [lane], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    let Some((part, state, next_at)) = found else {
        return Ok(None);
    };
    Ok(Some(Head {
        part,
        state: parse(format!("part {part}"), &state)?,
        next_at,
    }))
}

/// Takes the next places at the end of the lane.
pub(super) fn places(desk: &Desk<'_>, lane: Lane, count: usize) -> Result<i64, Trouble> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let first = desk
        .first("SELECT next_seq FROM lane WHERE id = ?1", [lane], |row| {
            row.get(0)
        })?
        .unwrap_or(1);
    desk.run(
        "UPDATE lane SET next_seq = ?2 WHERE id = ?1",
        [lane, first + count],
    )?;
    Ok(first)
}

/// Makes `ready_at` anew from the head.
pub(super) fn recompute(desk: &Desk<'_>, lane: Lane) -> Result<(), Trouble> {
    let ready = head(desk, lane)?
        .filter(|head| head.state != PartState::Sending)
        .map(|head| head.next_at);
    // Of a time and none, SQLite's max is none: nothing open is not ready.
    desk.run(
        "UPDATE lane SET ready_at = max(?2, not_before) WHERE id = ?1 AND ready_at IS NOT max(?2, not_before)",
        params![lane, ready],
    )?;
    if ready.is_some() {
        desk.wake();
    }
    Ok(())
}

/// Whether the lane's account lets an attempt begin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// It does.
    Open,
    /// Its rest is over: this attempt finds out whether it works again.
    Probe,
    /// It has to wait.
    Closed,
}

/// How long others wait for what a probe finds out, in milliseconds: longer than an attempt without a file may take.
const PROBE_MS: i64 = 75_000;

/// Until when a lane and its account wait.
pub(super) struct Gates {
    /// When the last of them opens; none is said for an account that has no row.
    pub(super) opens: Option<i64>,
    /// Until when the account rests; 0 if it does not.
    pub(super) resting: Option<i64>,
}

impl Gates {
    pub(super) fn at(&self, now: Timestamp) -> Entry {
        if self.opens.is_some_and(|opens| opens > ms(now)) {
            Entry::Closed
        } else if self.resting.is_some_and(|resting| resting > 0) {
            Entry::Probe
        } else {
            Entry::Open
        }
    }
}

/// The platform asked the chat to wait: nothing of it goes before then, in no thread, whatever becomes of the part that met
/// it.
pub(super) fn throttle(desk: &Desk<'_>, lane: Lane, until: Timestamp) -> Result<(), Trouble> {
    let threads = desk.all(
        "SELECT t.id FROM lane l JOIN lane t ON t.account = l.account AND t.conversation = l.conversation WHERE l.id = ?1",
        [lane],
        |row| row.get::<_, Lane>(0),
    )?;
    for thread in threads {
        desk.run(
            "UPDATE lane SET not_before = max(not_before, ?2), ready_at = max(ready_at, ?2) WHERE id = ?1",
            [thread, ms(until)],
        )?;
    }
    Ok(())
}

/// An attempt of an account that rests said nothing about it: the next probe goes then.
pub(super) fn probed(desk: &Desk<'_>, lane: Lane, next: Timestamp) -> Result<(), Trouble> {
    desk.run(
        "UPDATE account SET resting_until = ?2
         WHERE account = (SELECT account FROM lane WHERE id = ?1) AND resting_until > 0",
        [lane, ms(next)],
    )?;
    Ok(())
}

/// One attempt goes; the account's other lanes wait for what comes of it.
pub(super) fn probe(desk: &Desk<'_>, lane: Lane, now: Timestamp) -> Result<(), Trouble> {
    desk.run(
        "UPDATE account SET resting_until = ?2 WHERE account = (SELECT account FROM lane WHERE id = ?1)",
        [lane, ms(now) + PROBE_MS],
    )?;
    Ok(())
}

/// The chat's window opens then; nothing of the lane goes before.
pub(super) fn not_before(desk: &Desk<'_>, lane: Lane, at: Timestamp) -> Result<(), Trouble> {
    desk.run(
        "UPDATE lane SET ready_at = max(ready_at, ?2) WHERE id = ?1 AND ready_at IS NOT NULL",
        [lane, ms(at)],
    )?;
    Ok(())
}

/// Nothing of the lane may begin now.
pub(super) fn not_ready(desk: &Desk<'_>, lane: Lane) -> Result<(), Trouble> {
    desk.run(
        "UPDATE lane SET ready_at = NULL WHERE id = ?1 AND ready_at IS NOT NULL",
        [lane],
    )?;
    Ok(())
}

/// Why an account has to wait.
#[derive(Clone, Copy)]
pub(super) enum Wait {
    /// The platform said so.
    Throttled,
    /// Its login does not work.
    Resting,
}

/// Makes all of the lane's account wait.
pub(super) fn gate(
    desk: &Desk<'_>,
    lane: Lane,
    wait: Wait,
    until: Timestamp,
) -> Result<(), Trouble> {
    let sql = match wait {
        Wait::Throttled => {
            "UPDATE account SET throttled_until = max(throttled_until, ?2)
             WHERE account = (SELECT account FROM lane WHERE id = ?1)"
        }
        Wait::Resting => {
            "UPDATE account SET resting_until = ?2
             WHERE account = (SELECT account FROM lane WHERE id = ?1)"
        }
    };
    desk.run(sql, [lane, ms(until)])?;
    Ok(())
}

/// The lane's account, which rests, answered: its rest is over.
pub(super) fn answered(desk: &Desk<'_>, lane: Lane) -> Result<(), Trouble> {
    let account: Option<String> =
        desk.first("SELECT account FROM lane WHERE id = ?1", [lane], |row| {
            row.get(0)
        })?;
    account.map_or(Ok(()), |account| open_account(desk, &account))
}

/// Ends an account's rest, also that of the parts whose refusal began it. What the platform asked to wait for still waits.
pub(super) fn open_account(desk: &Desk<'_>, account: &str) -> Result<(), Trouble> {
    desk.run(
        "UPDATE account SET resting_until = 0 WHERE account = ?1",
        [account],
    )?;
    let lanes = desk.all(
        "SELECT id FROM lane WHERE account = ?1 AND ready_at IS NOT NULL",
        [account],
        |row| row.get::<_, Lane>(0),
    )?;
    for lane in lanes {
        let rested = desk.run(
            "UPDATE part SET next_at = 0 WHERE lane = ?1 AND state IN ('queued','sending','retry','unknown')
             AND state = 'retry' AND fault ->> '$.kind' IN ('perm_account','not_sent')",
            [lane],
        )?;
        if rested > 0 {
            recompute(desk, lane)?;
        }
    }
    desk.wake();
    Ok(())
}

/// The longest wait that anything is given, in milliseconds: a day, which is the most that a platform is taken at its word for.
const LONGEST_MS: i64 = 24 * 3_600_000;

/// At start: what waits longer than anything may was written by a clock that ran ahead. It waits the longest there is.
pub(super) fn clamp(desk: &Desk<'_>, now: Timestamp) -> Result<(), Trouble> {
    let longest = ms(now).saturating_add(LONGEST_MS);
    desk.run(
        "UPDATE account SET throttled_until = min(throttled_until, ?1), resting_until = min(resting_until, ?1)
         WHERE throttled_until > ?1 OR resting_until > ?1",
        [longest],
    )?;
    let ahead = desk.all(
        "SELECT id FROM lane WHERE ready_at > ?1",
        [longest],
        |row| row.get::<_, Lane>(0),
    )?;
    for lane in ahead {
        desk.run(
            "UPDATE lane SET not_before = min(not_before, ?2) WHERE id = ?1",
            [lane, longest],
        )?;
        desk.run(
            "UPDATE part SET next_at = min(next_at, ?2) WHERE lane = ?1 AND state IN ('queued','sending','retry','unknown')",
            [lane, longest],
        )?;
        recompute(desk, lane)?;
    }
    Ok(())
}
