//! How attempts end.

use std::collections::HashMap;
use std::time::Duration;

use chat::{Fault, FaultKind, ThrottleScope};
use outbox::{Claimed, Crash, Decision, Gate, PartState, Settlement};
use rusqlite::params;
use waybill::{AccountId, ChatKey, MessageId, Timestamp};

use super::claim::claim_lane;
use super::gathering::tell;
use super::lane::{self, Lane, Wait};
use super::words;
use crate::desk::Desk;
use crate::error::Trouble;
use crate::value::{json, ms};

/// Longest wait that a platform is taken at its word for (as `outbox::decide` does).
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

/// A move that leads nowhere is tried again after this long, until the message is too old: the chat may still settle.
const SENSELESS_MOVE: jiff::SignedDuration = jiff::SignedDuration::from_mins(5);

struct Part {
    id: i64,
    lane: Lane,
    /// Whether its account rests.
    rests: bool,
}

/// Writes a settlement down; claims what may go next.
pub(super) fn settle(desk: &Desk<'_>, settlement: &Settlement) -> Result<Vec<Claimed>, Trouble> {
    let Some(part) = running(desk, settlement)? else {
        evidence(desk, settlement)?;
        return Ok(Vec::new());
    };
    end_attempt(desk, part.id, settlement)?;
    let (mut claimed, notice) = match &settlement.notice {
        Some(notice) => tell(desk, notice, settlement.at)?,
        None => (Vec::new(), None),
    };
    let next = apply(desk, &part, settlement, notice)?;
    if notice.is_some() {
        failpoint::point("C14");
    }
    account_after(desk, &part, settlement)?;
    claimed.extend(match next {
        Next::Go(lane) => claim_lane(desk, lane, settlement.at)?,
        Next::Wait => {
            lane::recompute(desk, part.lane)?;
            None
        }
    });
    Ok(claimed)
}

/// What the attempt said of its chat and its account, whatever became of the part itself.
fn account_after(desk: &Desk<'_>, part: &Part, settlement: &Settlement) -> Result<(), Trouble> {
    let Some(fault) = &settlement.fault else {
        return if part.rests {
            lane::answered(desk, part.lane)
        } else {
            Ok(())
        };
    };
    if let FaultKind::Throttled { after, scope } = &fault.kind {
        let wait = (*after).min(LONGEST_WAIT);
        let until = settlement.at.checked_add(wait).unwrap_or(Timestamp::MAX);
        match scope {
            ThrottleScope::Account => lane::gate(desk, part.lane, Wait::Throttled, until)?,
            ThrottleScope::Part | ThrottleScope::Lane => lane::throttle(desk, part.lane, until)?,
        }
    }
    if !part.rests {
        return Ok(());
    }
    if answered(fault) {
        return lane::answered(desk, part.lane);
    }
    // It was no use as a probe: the next one goes when this part's own wait is over.
    let next = match &settlement.decision {
        Decision::Retry { at, .. } | Decision::Unknown { at } => *at,
        Decision::Sent { .. }
        | Decision::Advance { .. }
        | Decision::Plainer
        | Decision::Ask
        | Decision::Resend { .. }
        | Decision::Hold
        | Decision::Redirect { .. }
        | Decision::Dead { .. } => settlement.at,
    };
    lane::probed(desk, part.lane, next)
}

pub(super) const SENDING: &str = "SELECT DISTINCT lane FROM part WHERE state = 'sending'";

/// At start: nobody knows what became of attempts that were running.
pub(super) fn recover(
    desk: &Desk<'_>,
    now: Timestamp,
    settle: &HashMap<AccountId, Duration>,
) -> Result<usize, Trouble> {
    lane::clamp(desk, now)?;
    let lanes = desk.all(SENDING, [], |row| row.get::<_, Lane>(0))?;
    let mut found = 0;
    for lane in lanes {
        let account: Option<String> =
            desk.first("SELECT account FROM lane WHERE id = ?1", [lane], |row| {
                row.get(0)
            })?;
        let account = account.and_then(|account| account.parse::<AccountId>().ok());
        let wait = account.and_then(|account| settle.get(&account).copied());
        let wait = i64::try_from(wait.unwrap_or_default().as_millis()).unwrap_or(i64::MAX);
        // From when the attempt began, but never further off than the wait itself: clocks are set.
        found += desk.run(
            "UPDATE part SET state = 'unknown', may_be_repeat = 1, next_at = min(?2 + ?3, max(?2, ?3 + coalesce(
               (SELECT max(started_at) FROM attempt WHERE part = part.id), 0)))
             WHERE lane = ?1 AND state = 'sending'",
            [lane, ms(now), wait],
        )?;
        lane::recompute(desk, lane)?;
    }
    Ok(found)
}

/// The part, if this attempt is its running one.
fn running(desk: &Desk<'_>, settlement: &Settlement) -> Result<Option<Part>, Trouble> {
    desk.first(
        "SELECT p.id, p.lane, coalesce(a.resting_until, 0) > 0
         FROM message m JOIN part p ON p.message = m.id JOIN lane l ON l.id = p.lane
           LEFT JOIN account a ON a.account = l.account
         WHERE m.message_id = ?1 AND p.n = ?2 AND p.state = 'sending' AND (p.attempts = ?3 OR ?4)",
        params![
            settlement.message.to_string(),
            settlement.part,
            settlement.attempt,
            failpoint::skips("attempt-fence")
        ],
        |row| {
            Ok(Part {
                id: row.get(0)?,
                lane: row.get(1)?,
                rests: row.get(2)?,
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
        (_, Some(_)) if settlement.crash == Crash::Yes => "crashed",
        (_, Some(fault)) => fault.kind.name(),
        (Decision::Sent { .. }, None) => "sent",
        (Decision::Advance { .. }, None) => "step",
        (Decision::Unknown { .. } | Decision::Hold, None) => "unknown",
        (
            Decision::Retry { .. }
            | Decision::Redirect { .. }
            | Decision::Resend { .. }
            | Decision::Ask
            | Decision::Plainer,
            None,
        ) => "not_sent",
        (Decision::Dead { state, .. }, None) => state.name(),
    };
    desk.run(
        "UPDATE attempt SET ended_at = ?3, outcome = ?4, detail = ?5 WHERE part = ?1 AND n = ?2 AND ended_at IS NULL",
        params![part, settlement.attempt, ms(settlement.at), outcome, settlement.fault.as_ref().map(told)],
    )
}

/// Whether the platform answered, whatever it said of the part: its account works.
fn answered(fault: &Fault) -> bool {
    match fault.kind {
        FaultKind::TempReject
        | FaultKind::PermItem
        | FaultKind::PermChat
        | FaultKind::Moved { .. }
        | FaultKind::Duplicate { .. }
        | FaultKind::NoChange
        | FaultKind::Throttled { .. } => true,
        FaultKind::NotSent | FaultKind::PermAccount | FaultKind::Unknown => false,
    }
}

fn told(fault: &Fault) -> String {
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

fn apply(
    desk: &Desk<'_>,
    part: &Part,
    settlement: &Settlement,
    notice: Option<MessageId>,
) -> Result<Next, Trouble> {
    let fault = settlement.fault.as_ref().map(json).transpose()?;
    match &settlement.decision {
        Decision::Sent { receipt } => {
            desk.run(
                "UPDATE part SET state = 'sent', receipt = ?2, fault = NULL WHERE id = ?1",
                params![part.id, receipt.as_str()],
            )?;
            Ok(Next::Go(part.lane))
        }
        Decision::Advance { step } => {
            desk.run(
                "UPDATE part SET state = 'queued', step = ?2, next_at = ?3, tries = max(0, tries - 1), fault = NULL WHERE id = ?1",
                params![part.id, step.as_str(), ms(settlement.at)],
            )?;
            Ok(Next::Go(part.lane))
        }
        Decision::Plainer => {
            plainer(desk, part, settlement, fault.as_deref())?;
            Ok(Next::Go(part.lane))
        }
        Decision::Hold => {
            bury(desk, part.id, PartState::Held, settlement, notice)?;
            Ok(Next::Go(part.lane))
        }
        Decision::Retry { at, counts, gate } => {
            retry(desk, part, fault.as_deref(), *at, *counts)?;
            let throttled = settlement
                .fault
                .as_ref()
                .is_some_and(|fault| matches!(fault.kind, FaultKind::Throttled { .. }));
            if *gate == Gate::Account && !throttled {
                lane::gate(desk, part.lane, Wait::Resting, *at)?;
            }
            Ok(Next::Wait)
        }
        Decision::Unknown { at } => {
            unknown(desk, part, settlement, fault.as_deref(), *at)?;
            Ok(Next::Wait)
        }
        Decision::Resend { .. } | Decision::Ask => Err(Trouble::refused(
            "a resend or a question does not settle an attempt: this is a mistake in the program",
        )),
        Decision::Redirect { to } => redirect(desk, part, settlement, to, fault.as_deref()),
        Decision::Dead { state, lane: whole } => {
            bury(desk, part.id, *state, settlement, notice)?;
            if *whole {
                // Another profile's parts meet the same end by themselves, so that its own owner is told.
                let waiting = desk.all(
                    "SELECT p.id FROM part p JOIN message m ON m.id = p.message
                     WHERE p.lane = ?1 AND p.state IN ('queued','sending','retry','unknown')
                       AND m.profile = (SELECT o.profile FROM message o JOIN part q ON q.message = o.id WHERE q.id = ?2)
                     ORDER BY p.seq",
                    [part.lane, part.id],
                    |row| row.get(0),
                )?;
                for id in waiting {
                    bury(desk, id, PartState::Failed, settlement, notice)?;
                }
            }
            Ok(Next::Go(part.lane))
        }
    }
}

/// Nobody knows. Where the platform was not even reached, or had no time for the question, it was no try.
fn unknown(
    desk: &Desk<'_>,
    part: &Part,
    settlement: &Settlement,
    fault: Option<&str>,
    at: Timestamp,
) -> Result<(), Trouble> {
    let kind = settlement.fault.as_ref().map(|fault| &fault.kind);
    let no_try = matches!(
        kind,
        Some(FaultKind::Throttled { .. } | FaultKind::PermAccount | FaultKind::NotSent)
    );
    desk.run(
        "UPDATE part SET state = 'unknown', next_at = ?2, may_be_repeat = 1, fault = ?3, crashes = crashes + ?4,
           tries = max(0, tries - ?5) WHERE id = ?1",
        params![
            part.id,
            ms(at),
            fault,
            i64::from(settlement.crash == Crash::Yes),
            i64::from(no_try)
        ],
    )?;
    if matches!(kind, Some(FaultKind::PermAccount)) {
        lane::gate(desk, part.lane, Wait::Resting, at)?;
    }
    Ok(())
}

/// The plainer form takes the part's place in its lane.
fn plainer(
    desk: &Desk<'_>,
    part: &Part,
    settlement: &Settlement,
    fault: Option<&str>,
) -> Result<(), Trouble> {
    let Some(form) = &settlement.plainer else {
        return Err(Trouble::refused(
            "a plainer form was decided on and not given: this is a mistake in the program",
        ));
    };
    desk.run(
        "UPDATE part SET state = 'queued', op = ?2, way = ?3, key = ?4, step = NULL, rendition = rendition + 1,
           next_at = ?5, fault = ?6 WHERE id = ?1",
        params![
            part.id,
            json(&form.op)?,
            words::way_name(form.way),
            form.key.to_string(),
            ms(settlement.at),
            fault
        ],
    )?;
    Ok(())
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
    crate::moved::follow(desk, &here, to, settlement.at)?;
    desk.run(
        "UPDATE part SET state = 'queued', next_at = ?2, fault = ?3, step = NULL WHERE id = ?1",
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
    notice: Option<MessageId>,
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
        .map_or_else(|| state.name().to_owned(), told);
    desk.run(
        "INSERT INTO dead(part, reason, at, notice) VALUES(?1, ?2, ?3, ?4)
         ON CONFLICT(part) DO UPDATE SET reason = excluded.reason, at = excluded.at, notice = excluded.notice,
           resolved_at = NULL, resolution = NULL",
        params![part, reason, ms(settlement.at), notice.map(|notice| notice.to_string())],
    )?;
    Ok(())
}
