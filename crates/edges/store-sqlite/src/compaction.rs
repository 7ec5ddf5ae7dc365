//! Summaries that stand for the older part of a conversation.

use model::{Content, Message};
use rusqlite::params;
use session::Entry;
use session::window::Compaction;
use waybill::{SessionId, Timestamp, TurnScope};

use crate::desk::Desk;
use crate::error::Trouble;
use crate::session::is_running;
use crate::value::{ms, parse, time};

/// What of a conversation is summarised.
#[derive(Default)]
pub(crate) struct Latest {
    /// The last entry that is; 0 for none.
    pub(crate) through: i64,
    /// The summary as the first message of the transcript.
    pub(crate) summary: Option<Entry>,
}

pub(crate) fn latest(desk: &Desk<'_>, session: SessionId) -> Result<Latest, Trouble> {
    type Columns = (i64, i64, String, String, i64);
    let found: Option<Columns> = desk.first(
        "SELECT id, through, turn, summary, at FROM compaction WHERE session = ?1 ORDER BY id DESC LIMIT 1",
        [session.to_string()],
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
    let Some((id, through, turn, text, at)) = found else {
        return Ok(Latest::default());
    };
    let row = format!("the summary {id}");
    Ok(Latest {
        through,
        summary: Some(Entry {
            turn: parse(&row, &turn)?,
            message: Message::User {
                content: vec![Content::Text { text }],
            },
            at: time(&row, at)?,
        }),
    })
}

pub(crate) fn write(
    desk: &Desk<'_>,
    scope: &TurnScope,
    compaction: &Compaction,
    now: Timestamp,
) -> Result<(), Trouble> {
    if !is_running(desk, scope.turn())? {
        return Err(Trouble::refused(format!(
            "{} has ended; it can't shorten its conversation",
            scope.turn()
        )));
    }
    let session = scope.session().id();
    let before = latest(desk, session)?.through;
    let last: Option<i64> = desk.first(
        "SELECT id FROM entry WHERE session = ?1 AND id > ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3",
        params![
            session.to_string(),
            before,
            i64::try_from(compaction.kept).unwrap_or(i64::MAX)
        ],
        |row| row.get(0),
    )?;
    desk.run(
        "INSERT INTO compaction(session, turn, through, summary, before, after, at) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            session.to_string(),
            scope.turn().to_string(),
            last.unwrap_or(before),
            compaction.summary,
            compaction.before,
            compaction.after,
            ms(now)
        ],
    )?;
    Ok(())
}
