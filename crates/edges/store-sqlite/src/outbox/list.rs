//! Messages with their whole history, for people.

use chat::Receipt;
use outbox::{AttemptRow, ListFilter, MessageRow, PartRow, PartState};
use rusqlite::{Row, params};
use waybill::{AccountId, MessageId, ProfileId, Timestamp};

use crate::desk::Desk;
use crate::error::{Trouble, sound};
use crate::value::{number, parse, read, time};

/// How many are listed when nobody says.
const USUAL: usize = 100;

type MessageColumns = (i64, String, String, String, i64, i64);

fn message_columns(row: &Row<'_>) -> rusqlite::Result<MessageColumns> {
    Ok((
        row.get(0)?,
        row.get(1)?,
        row.get(2)?,
        row.get(3)?,
        row.get(4)?,
        row.get(5)?,
    ))
}

/// The newest messages that the filter lets through. One that can't be read is left out here, with a word in the log; `show`
/// says what is wrong with it.
pub(super) fn list(desk: &Desk<'_>, filter: &ListFilter) -> Result<Vec<MessageRow>, Trouble> {
    let most = if filter.most == 0 { USUAL } else { filter.most };
    let rows = desk.all(
        "SELECT id, message_id, kind, waybill, created_at, expires_at FROM message m
         WHERE (?1 IS NULL OR profile = ?1) AND (?2 IS NULL OR account = ?2)
           AND (?3 IS NULL OR EXISTS (SELECT 1 FROM part p WHERE p.message = m.id AND p.state = ?3))
         ORDER BY id DESC LIMIT ?4",
        params![
            filter.profile.as_ref().map(ProfileId::as_str),
            filter.account.as_ref().map(AccountId::as_str),
            filter.state.map(PartState::name),
            i64::try_from(most).unwrap_or(i64::MAX),
        ],
        message_columns,
    )?;
    sound(rows.into_iter().map(|columns| message(desk, columns)))
}

/// One message.
pub(super) fn show(desk: &Desk<'_>, id: MessageId) -> Result<Option<MessageRow>, Trouble> {
    let found = desk.first(
        "SELECT id, message_id, kind, waybill, created_at, expires_at FROM message WHERE message_id = ?1",
        [id.to_string()],
        message_columns,
    )?;
    found.map(|columns| message(desk, columns)).transpose()
}

fn message(desk: &Desk<'_>, columns: MessageColumns) -> Result<MessageRow, Trouble> {
    let (rowid, id, kind, waybill, created_at, expires_at) = columns;
    let row = id.as_str();
    Ok(MessageRow {
        id: parse(row, &id)?,
        waybill: read(row, &waybill)?,
        kind: parse(row, &kind)?,
        created_at: time(row, created_at)?,
        expires_at: time(row, expires_at)?,
        parts: parts(desk, rowid, row)?,
    })
}

struct PartColumns {
    id: i64,
    n: i64,
    op: String,
    key: String,
    state: String,
    tries: i64,
    next_at: i64,
    receipt: Option<String>,
    fault: Option<String>,
    may_be_repeat: bool,
}

fn parts(desk: &Desk<'_>, message: i64, name: &str) -> Result<Vec<PartRow>, Trouble> {
    let rows = desk.all(
        "SELECT id, n, op, key, state, tries, next_at, receipt, fault, may_be_repeat FROM part
         WHERE message = ?1 ORDER BY n",
        [message],
        |row| {
            Ok(PartColumns {
                id: row.get(0)?,
                n: row.get(1)?,
                op: row.get(2)?,
                key: row.get(3)?,
                state: row.get(4)?,
                tries: row.get(5)?,
                next_at: row.get(6)?,
                receipt: row.get(7)?,
                fault: row.get(8)?,
                may_be_repeat: row.get(9)?,
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
        op: read(&row, &columns.op)?,
        key: parse(&row, &columns.key)?,
        state: parse(&row, &columns.state)?,
        tries: number(&row, columns.tries)?,
        next_at: time(&row, columns.next_at)?,
        receipt: columns.receipt.map(Receipt::new),
        fault: columns.fault.map(|fault| read(&row, &fault)).transpose()?,
        may_be_repeat: columns.may_be_repeat,
        attempts: attempts(desk, columns.id, &row)?,
    })
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
