//! Notices that would come too thick: the first few of a lane come at once, what follows is gathered and comes as one.
//!
//! Two profiles' sentences never mix. A row that is damaged loses its own sentences at most, and says so: it keeps no claim
//! from its work.

use chat::{Body, Op, Way, WhenUnknown};
use outbox::{Claimed, Gathered, MessageKind, NewMessage, NewPart, Notice};
use rusqlite::params;
use waybill::{MessageId, ProfileScope, Timestamp, Waybill};

use super::enqueue::enqueue;
use super::lane::{self, Lane};
use crate::desk::Desk;
use crate::error::Trouble;
use crate::value::{json, ms, parse, read};

/// Notices of one lane that come at once within [`WHILE_MS`]; the next ones are gathered.
const AT_ONCE: i64 = 3;
/// A stretch of notices, in milliseconds: five minutes (outbox theory A.10).
const WHILE_MS: i64 = 5 * 60 * 1_000;

/// Puts a notice on its way: into one that was not sent yet, alone, or to those that are gathered. Returns what was claimed,
/// and the message that tells it or will.
pub(super) fn tell(
    desk: &Desk<'_>,
    notice: &Notice,
    now: Timestamp,
) -> Result<(Vec<Claimed>, Option<MessageId>), Trouble> {
    let lane = lane::of(desk, notice.message.waybill.chat())?;
    if let Some(joined) = join(desk, lane, notice)? {
        return Ok((Vec::new(), Some(joined)));
    }
    if turn(desk, lane, now)? == Turn::Gathered {
        desk.wake();
        return Ok((Vec::new(), gather(desk, lane, notice)?));
    }
    let claimed = enqueue(desk, std::slice::from_ref(&notice.message), now)?;
    if may_join(notice) {
        note_lines(desk, notice.message.id, &Gathered::new(&notice.line))?;
    }
    Ok((claimed, Some(notice.message.id)))
}

/// Whether nothing of it is lost as one sentence of several.
fn may_join(notice: &Notice) -> bool {
    notice.message.parts.len() == 1 && Gathered::takes_whole(&notice.line)
}

fn note_lines(desk: &Desk<'_>, id: MessageId, lines: &Gathered) -> Result<(), Trouble> {
    desk.run(
        "UPDATE message SET lines = ?2 WHERE message_id = ?1",
        params![id.to_string(), json(lines)?],
    )?;
    Ok(())
}

/// A notice of the lane that never was on the wire, as it is stored.
struct Waiting {
    part: i64,
    id: String,
    lines: String,
    op: String,
}

/// Adds a sentence to such a notice of the same profile. A damaged one is left as it is.
fn join(desk: &Desk<'_>, lane: Lane, notice: &Notice) -> Result<Option<MessageId>, Trouble> {
    if !may_join(notice) {
        return Ok(None);
    }
    let waiting = desk.first(
        "SELECT p.id, m.message_id, m.lines, p.op FROM part p JOIN message m ON m.id = p.message
         WHERE p.lane = ?1 AND p.state IN ('queued','sending','retry','unknown')
           AND p.state = 'queued' AND p.attempts = 0 AND m.lines IS NOT NULL AND m.profile = ?2
         ORDER BY p.seq DESC LIMIT 1",
        params![lane, notice.message.waybill.profile().as_str()],
        |row| {
            Ok(Waiting {
                part: row.get(0)?,
                id: text(row, 1),
                lines: text(row, 2),
                op: text(row, 3),
            })
        },
    )?;
    let Some(waiting) = waiting else {
        return Ok(None);
    };
    let (id, mut lines, op) = match opened(&waiting) {
        Ok(opened) => opened,
        Err(trouble) => {
            drop(trouble.damage()?);
            return Ok(None);
        }
    };
    lines.add(&notice.line);
    desk.run(
        "UPDATE part SET op = ?2 WHERE id = ?1",
        params![waiting.part, json(&outbox::gather(&lines, &op))?],
    )?;
    note_lines(desk, id, &lines)?;
    Ok(Some(id))
}

fn opened(waiting: &Waiting) -> Result<(MessageId, Gathered, Op), Trouble> {
    let row = format!("notice {}", waiting.id);
    Ok((
        parse(&row, &waiting.id)?,
        read(&row, &waiting.lines)?,
        read(&row, &waiting.op)?,
    ))
}

/// A column's text; what is none reads as nothing or with signs in its place, so that it is refused later and not here.
fn text(row: &rusqlite::Row<'_>, column: usize) -> String {
    let bytes = row
        .get_ref(column)
        .ok()
        .and_then(|value| value.as_bytes().ok());
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

/// How a notice goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    AtOnce,
    /// There were enough of them: it waits with others.
    Gathered,
}

fn turn(desk: &Desk<'_>, lane: Lane, now: Timestamp) -> Result<Turn, Trouble> {
    let (since, count) = noticed(desk, lane)?;
    let fresh = since > ms(now) || since + WHILE_MS <= ms(now);
    if !fresh && count >= AT_ONCE {
        return Ok(Turn::Gathered);
    }
    let (since, count) = if fresh {
        (ms(now), 1)
    } else {
        (since, count + 1)
    };
    desk.run(
        "UPDATE lane SET noticed_since = ?2, noticed = ?3 WHERE id = ?1",
        [lane, since, count],
    )?;
    Ok(Turn::AtOnce)
}

/// Since when the lane's stretch of notices lasts, and how many came at once in it.
fn noticed(desk: &Desk<'_>, lane: Lane) -> Result<(i64, i64), Trouble> {
    let found = desk.first(
        "SELECT noticed_since, noticed FROM lane WHERE id = ?1",
        [lane],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    Ok(found.unwrap_or((0, 0)))
}

/// Puts a sentence to those of its lane and profile; returns the message that will tell them all.
fn gather(desk: &Desk<'_>, lane: Lane, notice: &Notice) -> Result<Option<MessageId>, Trouble> {
    let profile = notice.message.waybill.profile().as_str();
    let others: Option<(i64, String, String)> = desk.first(
        "SELECT rowid, message_id, lines FROM gathering WHERE lane = ?1 AND profile = ?2",
        params![lane, profile],
        |row| Ok((row.get(0)?, text(row, 1), text(row, 2))),
    )?;
    let Some((row, id, lines)) = others else {
        let (since, _) = noticed(desk, lane)?;
        desk.run(
            "INSERT INTO gathering(lane, profile, message_id, message, lines, due_at) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                lane,
                profile,
                notice.message.id.to_string(),
                json(&notice.message)?,
                json(&Gathered::new(&notice.line))?,
                since + WHILE_MS
            ],
        )?;
        return Ok(Some(notice.message.id));
    };
    let mut lines = sound_lines(&id, &lines)?.unwrap_or_else(|| Gathered::new(&outbox::lost()));
    lines.add(&notice.line);
    desk.run(
        "UPDATE gathering SET lines = ?2 WHERE rowid = ?1",
        params![row, json(&lines)?],
    )?;
    // One whose id can't be read is told under another.
    Ok(id.parse().ok())
}

/// `None`: they are damaged.
fn sound_lines(id: &str, lines: &str) -> Result<Option<Gathered>, Trouble> {
    match read(format!("the sentences of notice {id}"), lines) {
        Ok(lines) => Ok(Some(lines)),
        Err(trouble) => {
            drop(trouble.damage()?);
            Ok(None)
        }
    }
}

pub(super) const NEXT_DUE: &str = "SELECT min(due_at) FROM gathering";

/// When the next gathered notice goes.
pub(super) fn next_due(desk: &Desk<'_>) -> Result<Option<i64>, Trouble> {
    Ok(desk.first(NEXT_DUE, [], |row| row.get(0))?.flatten())
}

/// Those whose time has come. None waits longer than a stretch: one that does was written by a clock that ran ahead.
pub(super) const DUE: &str =
    "SELECT rowid, lane, profile, message_id, message, lines FROM gathering
    WHERE due_at <= ?1 OR due_at > ?2";

/// Gathered sentences, as they are stored.
struct Row {
    row: i64,
    lane: Lane,
    profile: String,
    id: String,
    message: String,
    lines: String,
}

/// Puts gathered notices whose time has come into their lanes.
pub(super) fn release(desk: &Desk<'_>, now: Timestamp) -> Result<Vec<Claimed>, Trouble> {
    let due = desk.all(DUE, [ms(now), ms(now) + WHILE_MS], |row| {
        Ok(Row {
            row: row.get(0)?,
            lane: row.get(1)?,
            profile: text(row, 2),
            id: text(row, 3),
            message: text(row, 4),
            lines: text(row, 5),
        })
    })?;
    let mut claimed = Vec::new();
    for row in due {
        desk.run("DELETE FROM gathering WHERE rowid = ?1", [row.row])?;
        desk.run(
            "UPDATE lane SET noticed_since = ?2, noticed = 1 WHERE id = ?1",
            [row.lane, ms(now)],
        )?;
        let (message, lines) = match composed(desk, &row, now) {
            Ok(composed) => composed,
            Err(trouble) => {
                let damage = trouble.damage()?;
                // The deaths that it told of are in the list, as deaths of which nobody was told.
                tracing::error!(
                    lane = row.lane,
                    profile = row.profile,
                    reason = damage.0,
                    "gathered notices are lost"
                );
                desk.run("UPDATE dead SET notice = NULL WHERE notice = ?1", [&row.id])?;
                continue;
            }
        };
        claimed.extend(enqueue(desk, std::slice::from_ref(&message), now)?);
        note_lines(desk, message.id, &lines)?;
    }
    Ok(claimed)
}

/// The message of gathered sentences, of whatever can be read of them.
fn composed(desk: &Desk<'_>, row: &Row, now: Timestamp) -> Result<(NewMessage, Gathered), Trouble> {
    let (mut message, first) = match stored(row) {
        Ok(stored) => stored,
        Err(trouble) => {
            drop(trouble.damage()?);
            (bare(desk, row, now)?, None)
        }
    };
    let lines = sound_lines(&row.id, &row.lines)?.unwrap_or_else(|| match &first {
        Some(first) => {
            let mut lines = Gathered::new(first);
            lines.add(&outbox::lost());
            lines
        }
        None => Gathered::new(&outbox::lost()),
    });
    // One that was long enough for two parts says it in one now.
    message.parts.truncate(1);
    for part in &mut message.parts {
        part.op = outbox::gather(&lines, &part.op);
    }
    Ok((message, lines))
}

/// The message as it was gathered, and its own words.
fn stored(row: &Row) -> Result<(NewMessage, Option<String>), Trouble> {
    let name = || format!("gathered notice {}", row.id);
    let message: NewMessage = read(name(), &row.message)?;
    match message.parts.first().map(|part| &part.op) {
        Some(Op::Text(body) | Op::Question { body, .. }) => {
            let words = body.text().to_owned();
            Ok((message, Some(words)))
        }
        Some(Op::File { .. }) => Ok((message, None)),
        None => Err(Trouble::unreadable(name(), "it has no part")),
    }
}

/// A message for the same owner where the stored one is damaged. Markdown is what every channel shows.
fn bare(desk: &Desk<'_>, row: &Row, now: Timestamp) -> Result<NewMessage, Trouble> {
    let name = format!("gathered notice {}", row.id);
    let id: MessageId = parse(&name, &row.id)?;
    let scope = ProfileScope::enter(parse(&name, &row.profile)?);
    let source = format!("gathered:{id}");
    let kind = MessageKind::Notice;
    let old = jiff::SignedDuration::from_hours(kind.most_hours());
    Ok(NewMessage {
        id,
        waybill: Waybill::operator(&scope, lane::chat(desk, row.lane)?),
        kind,
        parts: vec![NewPart {
            op: Op::Text(Body::Markdown(String::new())),
            way: Way::Direct,
            // The id is nobody else's: the installation's is not needed.
            key: outbox::key::part_key("", &source, 0, 1, 0),
        }],
        source,
        ordinal: 0,
        when_unknown: WhenUnknown::Repeat,
        replaces: None,
        created_at: now,
        expires_at: now.checked_add(old).unwrap_or(Timestamp::MAX),
    })
}
