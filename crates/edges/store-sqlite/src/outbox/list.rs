//! Messages with their whole history, for people.

use chat::{Receipt, Step};
use outbox::{AttemptRow, Death, ListFilter, MessageRow, PartRow, PartState, QueueDepth};
use rusqlite::{Row, params};
use waybill::{AccountId, MessageId, ProfileId, Timestamp};

use super::words;
use crate::desk::Desk;
use crate::error::{Trouble, sound};
use crate::value::{number, parse, read, time};

/// How many are listed when nobody says.
const USUAL: usize = 100;

struct MessageColumns {
    rowid: i64,
    id: String,
    kind: String,
    waybill: String,
    created_at: i64,
    expires_at: i64,
    source: String,
    ordinal: i64,
}

fn message_columns(row: &Row<'_>) -> rusqlite::Result<MessageColumns> {
    Ok(MessageColumns {
        rowid: row.get(0)?,
        id: row.get(1)?,
        kind: row.get(2)?,
        waybill: row.get(3)?,
        created_at: row.get(4)?,
        expires_at: row.get(5)?,
        source: row.get(6)?,
        ordinal: row.get(7)?,
    })
}

/// The newest messages that the filter lets through. One that can't be read is left out here, with a word in the log; `show`
/// says what is wrong with it.
pub(super) fn list(desk: &Desk<'_>, filter: &ListFilter) -> Result<Vec<MessageRow>, Trouble> {
    let most = if filter.most == 0 { USUAL } else { filter.most };
    let rows = desk.all(
        &question(filter),
        params![
            filter.profile.as_ref().map(ProfileId::as_str),
            filter.account.as_ref().map(AccountId::as_str),
            filter.state.map(PartState::name),
            filter.conversation,
            filter.before.map(|id| id.to_string()),
            i64::try_from(most).unwrap_or(i64::MAX),
        ],
        message_columns,
    )?;
    sound(rows.into_iter().map(|columns| message(desk, columns)))
}

/// What answers a filter. A conversation is found by its lanes; whatever did not arrive by the few parts that are in its state.
/// What is left, all messages and those of an account or a profile that arrived, is met soon on the way from the newest one.
pub(super) fn question(filter: &ListFilter) -> String {
    let state = filter.state.map(among);
    let few = state.is_some_and(|(few, _)| few == Few::Yes);
    let lanes = match (&filter.account, &filter.conversation) {
        (Some(_), Some(_)) => Some("l.account = ?2 AND l.conversation = ?4"),
        // Lanes are found by their account first, and accounts are few.
        (None, Some(_)) => {
            Some("l.account IN (SELECT account FROM account) AND l.conversation = ?4")
        }
        (Some(_), None) if few => Some("l.account = ?2"),
        (Some(_) | None, None) => None,
    };
    let place = match (lanes, state) {
        (Some(lanes), Some((_, state))) => {
            format!(
                "id IN (SELECT p.message FROM lane l CROSS JOIN part p ON p.lane = l.id WHERE {lanes} AND {state})"
            )
        }
        (Some(lanes), None) => {
            format!(
                "id IN (SELECT p.message FROM lane l CROSS JOIN part p ON p.lane = l.id WHERE {lanes})"
            )
        }
        (None, Some((Few::Yes, state))) => {
            format!("id IN (SELECT p.message FROM part p WHERE {state})")
        }
        (None, Some((Few::No, state))) => {
            format!("EXISTS (SELECT 1 FROM part p WHERE p.message = m.id AND {state})")
        }
        (None, None) => "1".to_owned(),
    };
    format!(
        "SELECT id, message_id, kind, waybill, created_at, expires_at, source, ordinal FROM message m
         WHERE {place} AND (?1 IS NULL OR profile = ?1) AND (?2 IS NULL OR account = ?2)
           AND (?5 IS NULL OR id < (SELECT id FROM message WHERE message_id = ?5))
         ORDER BY id DESC LIMIT ?6"
    )
}

/// Whether few parts are in a state, beside all that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Few {
    Yes,
    No,
}

/// The condition for a state, in the words of the index that holds its parts.
fn among(state: PartState) -> (Few, &'static str) {
    match state {
        PartState::Queued | PartState::Sending | PartState::Retry | PartState::Unknown => (
            Few::Yes,
            "p.state IN ('queued','sending','retry','unknown') AND p.state = ?3",
        ),
        PartState::Held => (Few::Yes, "p.state = 'held'"),
        PartState::Failed | PartState::Expired | PartState::Cancelled | PartState::Superseded => (
            Few::Yes,
            "p.state IN ('failed','expired','cancelled','superseded') AND p.state = ?3",
        ),
        PartState::Sent => (Few::No, "p.state = ?3"),
    }
}

/// One message.
pub(super) fn show(desk: &Desk<'_>, id: MessageId) -> Result<Option<MessageRow>, Trouble> {
    let found = desk.first(
        "SELECT id, message_id, kind, waybill, created_at, expires_at, source, ordinal FROM message WHERE message_id = ?1",
        [id.to_string()],
        message_columns,
    )?;
    found.map(|columns| message(desk, columns)).transpose()
}

/// How each account's queue looks.
pub(super) fn depths(desk: &Desk<'_>) -> Result<Vec<QueueDepth>, Trouble> {
    let accounts: Vec<(String, i64, i64)> = desk.all(
        "SELECT account, throttled_until, resting_until FROM account ORDER BY account",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let until = |at: i64| (at > 0).then(|| time("account", at)).transpose();
    accounts
        .into_iter()
        .map(|(account, throttled, resting)| {
            let mut depth = QueueDepth {
                account: parse("account", &account)?,
                open: std::collections::BTreeMap::new(),
                oldest: None,
                throttled_until: until(throttled)?,
                resting_until: until(resting)?,
            };
            for sql in [OPEN_DEPTH, HELD_DEPTH] {
                let rows: Vec<(String, i64, i64)> = desk.all(sql, [&account], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })?;
                for (state, count, oldest) in rows {
                    let state: PartState = parse("part.state", &state)?;
                    depth
                        .open
                        .insert(state.name(), u64::try_from(count).unwrap_or(0));
                    let oldest = time("message.created_at", oldest)?;
                    depth.oldest = Some(depth.oldest.map_or(oldest, |known| known.min(oldest)));
                }
            }
            Ok(depth)
        })
        .collect()
}

const OPEN_DEPTH: &str = "SELECT p.state, count(*), min(m.created_at)
    FROM lane l JOIN part p ON p.lane = l.id JOIN message m ON m.id = p.message
    WHERE l.account = ?1 AND p.state IN ('queued','sending','retry','unknown') GROUP BY p.state";
const HELD_DEPTH: &str = "SELECT p.state, count(*), min(m.created_at)
    FROM lane l JOIN part p ON p.lane = l.id JOIN message m ON m.id = p.message
    WHERE l.account = ?1 AND p.state = 'held' GROUP BY p.state";

fn message(desk: &Desk<'_>, columns: MessageColumns) -> Result<MessageRow, Trouble> {
    let row = columns.id.as_str();
    Ok(MessageRow {
        id: parse(row, &columns.id)?,
        waybill: read(row, &columns.waybill)?,
        kind: parse(row, &columns.kind)?,
        source: columns.source,
        ordinal: number(row, columns.ordinal)?,
        created_at: time(row, columns.created_at)?,
        expires_at: time(row, columns.expires_at)?,
        parts: parts(desk, columns.rowid, row)?,
    })
}

struct PartColumns {
    id: i64,
    n: i64,
    place: i64,
    op: String,
    way: String,
    step: Option<String>,
    key: String,
    rendition: i64,
    state: String,
    tries: i64,
    next_at: i64,
    receipt: Option<String>,
    fault: Option<String>,
    may_be_repeat: bool,
    forgotten: bool,
}

fn parts(desk: &Desk<'_>, message: i64, name: &str) -> Result<Vec<PartRow>, Trouble> {
    let rows = desk.all(
        "SELECT id, n, seq, op, way, step, key, rendition, state, tries, next_at, receipt, fault, may_be_repeat, forgotten
         FROM part WHERE message = ?1 ORDER BY n",
        [message],
        |row| {
            Ok(PartColumns {
                id: row.get(0)?,
                n: row.get(1)?,
                place: row.get(2)?,
                op: row.get(3)?,
                way: row.get(4)?,
                step: row.get(5)?,
                key: row.get(6)?,
                rendition: row.get(7)?,
                state: row.get(8)?,
                tries: row.get(9)?,
                next_at: row.get(10)?,
                receipt: row.get(11)?,
                fault: row.get(12)?,
                may_be_repeat: row.get(13)?,
                forgotten: row.get(14)?,
            })
        },
    )?;
    rows.into_iter()
        .map(|columns| part(desk, columns, name))
        .collect()
}

fn part(desk: &Desk<'_>, columns: PartColumns, message: &str) -> Result<PartRow, Trouble> {
    let row = format!("{message}, part {}", columns.n);
    Ok(PartRow {
        n: number(&row, columns.n)?,
        place: columns.place,
        op: read(&row, &columns.op)?,
        way: words::way(&row, &columns.way)?,
        step: columns.step.map(Step::new),
        key: parse(&row, &columns.key)?,
        rendition: number(&row, columns.rendition)?,
        state: parse(&row, &columns.state)?,
        tries: number(&row, columns.tries)?,
        next_at: time(&row, columns.next_at)?,
        receipt: columns.receipt.map(Receipt::new),
        fault: columns.fault.map(|fault| read(&row, &fault)).transpose()?,
        may_be_repeat: columns.may_be_repeat,
        forgotten: columns.forgotten,
        death: death(desk, columns.id, &row)?,
        attempts: attempts(desk, columns.id, &row)?,
    })
}

fn death(desk: &Desk<'_>, part: i64, row: &str) -> Result<Option<Death>, Trouble> {
    type Columns = (String, i64, Option<String>, Option<i64>, Option<String>);
    let found: Option<Columns> = desk.first(
        // The notice's id is known while it is gathered, but it is no message yet.
        "SELECT reason, at, CASE WHEN NOT EXISTS(SELECT 1 FROM gathering WHERE message_id = notice) THEN notice END,
           resolved_at, resolution FROM dead WHERE part = ?1",
        [part],
        |columns| {
            Ok((
                columns.get(0)?,
                columns.get(1)?,
                columns.get(2)?,
                columns.get(3)?,
                columns.get(4)?,
            ))
        },
    )?;
    let Some((reason, at, notice, resolved_at, resolution)) = found else {
        return Ok(None);
    };
    let resolved = match (resolution, resolved_at) {
        (Some(resolution), Some(at)) => Some((resolution, time(row, at)?)),
        (Some(_) | None, _) => None,
    };
    Ok(Some(Death {
        reason,
        at: time(row, at)?,
        notice: notice.map(|notice| parse(row, &notice)).transpose()?,
        resolved,
    }))
}

fn attempts(desk: &Desk<'_>, part: i64, name: &str) -> Result<Vec<AttemptRow>, Trouble> {
    type Columns = (i64, i64, Option<i64>, Option<String>, Option<String>);
    let rows: Vec<Columns> = desk.all(
        "SELECT n, started_at, ended_at, outcome, detail FROM attempt WHERE part = ?1 ORDER BY n",
        [part],
        |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
            ))
        },
    )?;
    rows.into_iter()
        .map(|(n, started_at, ended_at, outcome, detail)| {
            let at = |ms: i64| -> Result<Timestamp, Trouble> { time(name, ms) };
            Ok(AttemptRow {
                n: number(name, n)?,
                started_at: at(started_at)?,
                ended_at: ended_at.map(at).transpose()?,
                outcome,
                detail,
            })
        })
        .collect()
}
