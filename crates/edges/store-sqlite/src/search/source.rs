//! The transcripts, as the index and its hits need them.

use std::collections::BTreeSet;

use model::{Content, Message};
use rusqlite::{Row, params};
use session::{Passage, Recalled, Said, Within};
use waybill::{ProfileId, SessionKey, TurnId};

use super::index::{Batch, Line, Mark};
use crate::desk::Desk;
use crate::error::{Trouble, sound};
use crate::value::{parse, time};

/// Most characters of a message that are indexed.
const INDEXED: usize = 40_000;
/// Stretches of one chat that are searched, the latest.
const STRETCHES: i64 = 1_000;
/// Entries that are looked at for the words around one: most are calls and results.
const LOOKED: i64 = 400;

/// Runs of jobs and delegated tasks: nobody's conversation.
fn is_hidden(key: &str) -> bool {
    key.starts_with("cron:") || key.starts_with("child:")
}

/// What people and the agent said in a message, if anything.
fn said(message: &str) -> Option<(Said, String)> {
    let message = serde_json::from_str(message).ok()?;
    let (said, text) = match message {
        Message::User { content } => {
            let texts: Vec<String> = content
                .into_iter()
                .filter_map(|content| match content {
                    Content::Text { text } => Some(text),
                    Content::Image { .. } => None,
                })
                .collect();
            (Said::Person, texts.join("\n"))
        }
        Message::Assistant { text, .. } => (Said::Agent, text),
        Message::Tool { .. } => return None,
    };
    (!text.trim().is_empty()).then_some((said, text))
}

/// The entries after a mark, at most `most` of them looked at.
pub(super) fn after(desk: &Desk<'_>, mark: &Mark, most: usize) -> Result<Batch, Trouble> {
    if mark.id > 0 {
        let turn: Option<String> =
            desk.first("SELECT turn FROM entry WHERE id = ?1", [mark.id], |row| {
                row.get(0)
            })?;
        if turn.as_ref() != Some(&mark.turn) {
            return Ok(Batch {
                other: true,
                lines: Vec::new(),
                last: None,
                more: true,
            });
        }
    }
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut last = None;
    // One message is in memory at a time: those with pictures are large.
    let lines: Vec<Option<Line>> = desk.all(
        "SELECT e.id, e.turn, e.session, s.profile, s.key, e.message FROM entry e LEFT JOIN session s ON s.id = e.session
         WHERE e.id > ?1 ORDER BY e.id LIMIT ?2",
        [mark.id, limit],
        |row| {
            let id = row.get(0)?;
            last = Some(Mark { id, turn: row.get(1)? });
            line(id, row)
        },
    )?;
    Ok(Batch {
        other: false,
        more: lines.len() == most,
        lines: lines.into_iter().flatten().collect(),
        last,
    })
}

fn line(id: i64, row: &Row<'_>) -> rusqlite::Result<Option<Line>> {
    let (profile, key): (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
    let (Some(profile), Some(key)) = (profile, key) else {
        return Ok(None);
    };
    if is_hidden(&key) {
        return Ok(None);
    }
    let message = row.get_ref(5)?.as_str()?;
    let session = row.get(2)?;
    Ok(said(message).map(|(_, text)| Line {
        id,
        session,
        profile,
        text: text.chars().take(INDEXED).collect(),
    }))
}

/// Which of these are no entries any more.
pub(super) fn gone(desk: &Desk<'_>, ids: Vec<i64>) -> Result<Vec<i64>, Trouble> {
    let list = serde_json::to_string(&ids)
        .map_err(|error| Trouble::refused(format!("numbers can't be written: {error}")))?;
    let there: BTreeSet<i64> = desk
        .all(
            "SELECT id FROM entry WHERE id IN (SELECT value FROM json_each(?1))",
            [list],
            |row| row.get(0),
        )?
        .into_iter()
        .collect();
    Ok(ids.into_iter().filter(|id| !there.contains(id)).collect())
}

pub(crate) const STRETCHES_OF: &str =
    "SELECT id FROM session WHERE profile = ?1 AND key = ?2 ORDER BY started_at DESC LIMIT ?3";

/// The stretches of a conversation, the latest first.
pub(super) fn stretches(
    desk: &Desk<'_>,
    profile: &ProfileId,
    key: &SessionKey,
) -> Result<Vec<String>, Trouble> {
    desk.all(
        STRETCHES_OF,
        params![profile.as_str(), key.to_string(), STRETCHES],
        |row| row.get(0),
    )
}

/// An entry with its conversation.
struct Columns {
    id: i64,
    turn: String,
    session: String,
    profile: String,
    key: String,
    message: String,
    at: i64,
}

const ENTRY: &str = "SELECT e.id, e.turn, e.session, s.profile, s.key, e.message, e.at
    FROM entry e JOIN session s ON s.id = e.session";

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok(Columns {
        id: row.get(0)?,
        turn: row.get(1)?,
        session: row.get(2)?,
        profile: row.get(3)?,
        key: row.get(4)?,
        message: row.get(5)?,
        at: row.get(6)?,
    })
}

impl Columns {
    /// Whether it may be read from there. What the index says of it is not asked.
    fn is_within(&self, within: &Within) -> bool {
        let chat = match within {
            Within::Profile(_) => true,
            Within::Chat(_, key) => self.key == key.to_string(),
        };
        chat && self.profile == within.profile().as_str() && !is_hidden(&self.key)
    }

    /// What it says; none if that is nothing.
    fn passage(&self) -> Result<Option<Passage>, Trouble> {
        let row = format!("entry {} of the transcript", self.id);
        let Some((said, text)) = said(&self.message) else {
            return Ok(None);
        };
        Ok(Some(Passage {
            id: self.id,
            key: parse(&row, &self.key)?,
            session: parse(&row, &self.session)?,
            said,
            text,
            at: time(&row, self.at)?,
        }))
    }
}

/// The entries of hits, one of each stretch, in the order of the hits.
pub(super) fn passages(
    desk: &Desk<'_>,
    within: &Within,
    but: TurnId,
    hits: &[i64],
    mark: i64,
    most: usize,
) -> Result<Recalled, Trouble> {
    let but = but.to_string();
    let mut known = BTreeSet::new();
    let mut found = Recalled::default();
    for id in hits {
        if found.passages.len() == most {
            break;
        }
        let entry = desk.first(&format!("{ENTRY} WHERE e.id = ?1"), [id], columns)?;
        let Some(entry) = entry.filter(|entry| entry.is_within(within) && entry.turn != but) else {
            continue;
        };
        let passages = sound(entry.passage().transpose().into_iter())?;
        for passage in passages {
            if known.insert(passage.session) {
                found.passages.push(passage);
            }
        }
    }
    let newest: Option<i64> = desk
        .first("SELECT max(id) FROM entry", [], |row| row.get(0))?
        .flatten();
    let behind = newest.unwrap_or(0).saturating_sub(mark).max(0);
    found.behind = u64::try_from(behind).unwrap_or(0);
    Ok(found)
}

/// An entry and what was said before and after it; none if it can't be read from there.
pub(super) fn around(
    desk: &Desk<'_>,
    within: &Within,
    id: i64,
    span: usize,
) -> Result<Option<Vec<Passage>>, Trouble> {
    let entry = desk.first(&format!("{ENTRY} WHERE e.id = ?1"), [id], columns)?;
    let Some(entry) = entry.filter(|entry| entry.is_within(within)) else {
        return Ok(None);
    };
    let side = |order: &str| {
        let rows = desk.all(
            &format!("{ENTRY} WHERE e.session = ?1 AND e.id {order} LIMIT ?3"),
            params![entry.session, id, LOOKED],
            columns,
        )?;
        let passages = rows.iter().filter_map(|row| row.passage().transpose());
        sound(passages.take(span))
    };
    let mut all = side("< ?2 ORDER BY e.id DESC")?;
    all.reverse();
    all.extend(sound(entry.passage().transpose().into_iter())?);
    all.extend(side("> ?2 ORDER BY e.id")?);
    Ok(Some(all))
}
