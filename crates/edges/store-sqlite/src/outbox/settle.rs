//! How an attempt ended, written down with everything that follows from it.

use chat::{Fault, FaultKind};
use outbox::{Claimed, Decision, Gate, PartState, Settlement};
use rusqlite::params;
use waybill::{ChatKey, Timestamp};

use super::claim::claim_head;
use super::enqueue::enqueue;
use super::lane::{self, Lane, Wait};
use crate::desk::Desk;
use crate::error::Trouble;
use crate::value::{json, ms};

/// A move that leads nowhere is tried again after this long, until the message is too old: the chat may still settle.
const SENSELESS_MOVE: jiff::SignedDuration = jiff::SignedDuration::from_mins(5);

struct Part {
    id: i64,
    lane: Lane,
}

/// Writes a settlement down; claims what may go next.
pub(super) fn settle(desk: &Desk<'_>, settlement: &Settlement) -> Result<Vec<Claimed>, Trouble> {
    let Some(part) = running(desk, settlement)? else {
        evidence(desk, settlement)?;
        return Ok(Vec::new());
    };
    end_attempt(desk, part.id, settlement)?;
    let next = apply(desk, &part, settlement)?;
    let mut claimed = match &settlement.notice {
        Some(notice) => enqueue(desk, std::slice::from_ref(notice), settlement.at)?,
        None => Vec::new(),
    };
    claimed.extend(match next {
        Next::Go(lane) => claim_head(desk, lane, settlement.at)?,
        Next::Wait => {
            lane::recompute(desk, part.lane)?;
            None
        }
    });
    Ok(claimed)
}

pub(super) const SENDING: &str = "SELECT DISTINCT lane FROM part WHERE state = 'sending'";

/// At start: nobody knows what became of attempts that were running.
pub(super) fn recover(desk: &Desk<'_>, now: Timestamp) -> Result<usize, Trouble> {
    let lanes = desk.all(SENDING, [], |row| row.get::<_, Lane>(0))?;
    let found = desk.run(
        "UPDATE part SET state = 'unknown', next_at = ?1, may_be_repeat = 1 WHERE state = 'sending'",
        [ms(now)],
    )?;
    for lane in lanes {
        lane::recompute(desk, lane)?;
    }
    Ok(found)
}

/// The part, if this attempt is its running one.
fn running(desk: &Desk<'_>, settlement: &Settlement) -> Result<Option<Part>, Trouble> {
    desk.first(
        "SELECT p.id, p.lane FROM message m JOIN part p ON p.message = m.id
         WHERE m.message_id = ?1 AND p.n = ?2 AND p.state = 'sending' AND p.attempts = ?3",
        params![
            settlement.message.to_string(),
            settlement.part,
            settlement.attempt
        ],
        |row| {
            Ok(Part {
                id: row.get(0)?,
                lane: row.get(1)?,
            })
        },
    )
}

/// The attempt is over for the store already: its end is kept, and changes nothing.
fn evidence(desk: &Desk<'_>, settlement: &Settlement) -> Result<(), Trouble> {
    let part = desk.first(
        "SELECT p.id FROM message m JOIN part p ON p.message = m.id WHERE m.message_id = ?1 AND p.n = ?2",
        params![settlement.message.to_string(), settlement.part],
        |row| row.get(0),
    )?;
    let kept = match part {
        Some(part) => end_attempt(desk, part, settlement)?,
        None => 0,
    };
    tracing::warn!(
        message = %settlement.message, part = settlement.part, attempt = settlement.attempt, kept = kept > 0,
        "an attempt ended that was not the running one"
    );
    Ok(())
}

fn end_attempt(desk: &Desk<'_>, part: i64, settlement: &Settlement) -> Result<usize, Trouble> {
    let outcome = match (&settlement.decision, &settlement.fault) {
        (_, Some(fault)) => fault.kind.name(),
        (Decision::Sent { .. }, None) => "sent",
        (Decision::Unknown { .. }, None) => "unknown",
        (Decision::Retry { .. } | Decision::Redirect { .. } | Decision::Resend { .. }, None) => {
            "not_sent"
        }
        (Decision::Dead { state, .. }, None) => state.name(),
    };
    desk.run(
        "UPDATE attempt SET ended_at = ?3, outcome = ?4, detail = ?5 WHERE part = ?1 AND n = ?2 AND ended_at IS NULL",
        params![part, settlement.attempt, ms(settlement.at), outcome, settlement.fault.as_ref().map(words)],
    )
}

fn words(fault: &Fault) -> String {
    match &fault.code {
        Some(code) => format!("{code}: {}", fault.text),
        None => fault.text.clone(),
    }
}

/// What may happen to the lane now.
enum Next {
    /// The head of this lane may go.
    Go(Lane),
    /// It waits for its time.
    Wait,
}

fn apply(desk: &Desk<'_>, part: &Part, settlement: &Settlement) -> Result<Next, Trouble> {
    let fault = settlement.fault.as_ref().map(json).transpose()?;
    match &settlement.decision {
        Decision::Sent { receipt } => {
            desk.run(
                "UPDATE part SET state = 'sent', receipt = ?2, fault = NULL WHERE id = ?1",
                params![part.id, receipt.as_str()],
            )?;
            Ok(Next::Go(part.lane))
        }
        Decision::Retry { at, counts, gate } => {
            retry(desk, part, fault.as_deref(), *at, *counts)?;
            if *gate == Gate::Account {
                let throttled = settlement
                    .fault
                    .as_ref()
                    .is_some_and(|fault| matches!(fault.kind, FaultKind::Throttled { .. }));
                let wait = if throttled {
                    Wait::Throttled
                } else {
                    Wait::Resting
                };
                lane::gate(desk, part.lane, wait, *at)?;
            }
            Ok(Next::Wait)
        }
        Decision::Unknown { at } => {
            desk.run(
                "UPDATE part SET state = 'unknown', next_at = ?2, may_be_repeat = 1, fault = ?3 WHERE id = ?1",
                params![part.id, ms(*at), fault],
            )?;
            Ok(Next::Wait)
        }
        Decision::Resend { .. } => Err(Trouble::refused(
            "a resend does not settle an attempt: this is a mistake in the program",
        )),
        Decision::Redirect { to } => redirect(desk, part, settlement, to, fault.as_deref()),
        Decision::Dead { state, lane: whole } => {
            bury(desk, part.id, *state, settlement)?;
            if *whole {
                let waiting = desk.all(
                    "SELECT id FROM part WHERE lane = ?1 AND state IN ('queued','sending','retry','unknown') ORDER BY seq",
                    [part.lane],
                    |row| row.get(0),
                )?;
                for id in waiting {
                    bury(desk, id, PartState::Failed, settlement)?;
                }
            }
            Ok(Next::Go(part.lane))
        }
    }
}

fn retry(
    desk: &Desk<'_>,
    part: &Part,
    fault: Option<&str>,
    at: Timestamp,
    counts: bool,
) -> Result<(), Trouble> {
    desk.run(
        "UPDATE part SET state = 'retry', next_at = ?2, tries = max(0, tries - ?3), fault = ?4 WHERE id = ?1",
        params![part.id, ms(at), i64::from(!counts), fault],
    )?;
    Ok(())
}

/// Moves the part and all that waits behind it to the other chat's lane, in their order, and whatever comes later too.
fn redirect(
    desk: &Desk<'_>,
    part: &Part,
    settlement: &Settlement,
    to: &ChatKey,
    fault: Option<&str>,
) -> Result<Next, Trouble> {
    let here = lane::chat(desk, part.lane)?;
    if *to == here || to.account != here.account {
        tracing::warn!(%here, %to, "a chat was said to have moved to itself or to another account");
        let later = settlement
            .at
            .checked_add(SENSELESS_MOVE)
            .unwrap_or(Timestamp::MAX);
        retry(desk, part, fault, later, true)?;
        return Ok(Next::Wait);
    }
    let target = lane::point(desk, part.lane, to)?;
    desk.run(
        "UPDATE part SET state = 'queued', next_at = ?2, fault = ?3 WHERE id = ?1",
        params![part.id, ms(settlement.at), fault],
    )?;
    let moving = desk.all(
        "SELECT id FROM part WHERE lane = ?1 AND state IN ('queued','sending','retry','unknown') ORDER BY seq",
        [part.lane],
        |row| row.get::<_, i64>(0),
    )?;
    let first = lane::places(desk, target, moving.len())?;
    for (id, place) in moving.into_iter().zip(first..) {
        desk.run(
            "UPDATE part SET lane = ?2, seq = ?3 WHERE id = ?1",
            [id, target, place],
        )?;
    }
    lane::recompute(desk, part.lane)?;
    Ok(Next::Go(target))
}

fn bury(
    desk: &Desk<'_>,
    part: i64,
    state: PartState,
    settlement: &Settlement,
) -> Result<(), Trouble> {
    desk.run(
        "UPDATE part SET state = ?2, fault = ?3 WHERE id = ?1",
        params![
            part,
            state.name(),
            settlement.fault.as_ref().map(json).transpose()?
        ],
    )?;
    let reason = settlement
        .fault
        .as_ref()
        .map_or_else(|| state.name().to_owned(), words);
    desk.run(
        "INSERT INTO dead(part, reason, at, notice) VALUES(?1, ?2, ?3, ?4)
         ON CONFLICT(part) DO UPDATE SET reason = excluded.reason, at = excluded.at, notice = excluded.notice",
        params![part, reason, ms(settlement.at), settlement.notice.as_ref().map(|notice| notice.id.to_string())],
    )?;
    Ok(())
}
