//! Conversations in which nothing happened for long: what the model sees of them, and what people see in the web chat.

use std::collections::BTreeSet;

use outbox::StoreError;
use rusqlite::params;
use session::{Cutoffs, Step};
use waybill::Conversation;

use super::step;
use crate::desk::Desk;
use crate::error::Trouble;
use crate::store::Store;
use crate::value::ms;

/// Turns ?1 < id <= ?2 that ended in a conversation whose last word was said before ?3, and in which none runs.
pub(super) const TURNS: &str = "SELECT t.id FROM turn t
    WHERE t.id > ?1 AND t.id <= ?2 AND t.state = 'ended' AND t.ended_at < ?3
      AND coalesce((SELECT e.at FROM entry e WHERE e.session = t.session ORDER BY e.id DESC LIMIT 1), 0) < ?3
      AND NOT EXISTS (SELECT 1 FROM turn r WHERE r.state = 'running' AND r.session = t.session)";

/// Entries ?1 < id <= ?2 of web chats in which nothing happened since ?3.
pub(super) const ENTRIES: &str =
    "SELECT e.id FROM web_entry e JOIN web_conversation c ON c.conversation = e.conversation
    WHERE e.id > ?1 AND e.id <= ?2 AND e.at < ?3 AND c.touched_at < ?3";

const ENTRY_OF_TURN: &str =
    "DELETE FROM entry WHERE turn = (SELECT turn_id FROM turn WHERE id = ?1)";
const COMPACTION_OF_TURN: &str =
    "DELETE FROM compaction WHERE turn = (SELECT turn_id FROM turn WHERE id = ?1)";
const PLAN: &str = "DELETE FROM plan WHERE session = ?1
    AND NOT EXISTS (SELECT 1 FROM entry WHERE session = ?1)";
const TURN: &str = "DELETE FROM turn WHERE id = ?1";
const SESSION: &str = "DELETE FROM session WHERE id = ?1 AND ended_at < ?2
    AND NOT EXISTS (SELECT 1 FROM entry WHERE session = ?1)";
const WEB_ENTRY: &str = "DELETE FROM web_entry WHERE id = ?1 RETURNING conversation";
/// The web chat's account is always `web`, and settings let no other account have that name. Named, it lets the lane be found
/// by its key.
const WEB_CONVERSATION: &str = "DELETE FROM web_conversation WHERE conversation = ?1
    AND NOT EXISTS (SELECT 1 FROM web_entry WHERE conversation = ?1)
    AND NOT EXISTS (SELECT 1 FROM lane l JOIN part p ON p.lane = l.id WHERE l.account = 'web' AND l.conversation = ?1
        AND p.state IN ('queued','sending','retry','unknown','held'))";

/// What removes.
#[cfg(test)]
pub(super) const DELETES: [&str; 7] = [
    ENTRY_OF_TURN,
    COMPACTION_OF_TURN,
    PLAN,
    TURN,
    SESSION,
    WEB_ENTRY,
    WEB_CONVERSATION,
];

/// The row of a session that runs stays: it says which stretch the next word belongs to.
pub(super) async fn tidy_turns(
    store: &Store,
    cutoffs: &Cutoffs,
    after: i64,
) -> Result<Step, StoreError> {
    let Some(before) = cutoffs.conversations.map(ms) else {
        return Ok(Step::default());
    };
    step(
        store,
        "turn",
        TURNS,
        after,
        vec![before],
        move |desk, turn| remove_turn(desk, turn, before),
    )
    .await
}

fn remove_turn(desk: &Desk<'_>, turn: i64, before: i64) -> Result<usize, Trouble> {
    let session: Option<String> =
        desk.first("SELECT session FROM turn WHERE id = ?1", [turn], |row| {
            row.get(0)
        })?;
    let mut rows = desk.run(ENTRY_OF_TURN, [turn])?;
    rows += desk.run(COMPACTION_OF_TURN, [turn])?;
    rows += desk.run(TURN, [turn])?;
    rows += desk.run(PLAN, [&session])?;
    rows += desk.run(SESSION, params![session, before])?;
    Ok(rows)
}

/// A conversation goes with its last entry, unless something still waits to be shown in it.
pub(super) async fn tidy_web(
    store: &Store,
    cutoffs: &Cutoffs,
    after: i64,
) -> Result<Step, StoreError> {
    let Some(before) = cutoffs.conversations.map(ms) else {
        return Ok(Step::default());
    };
    let homes = cutoffs.homes.clone();
    step(
        store,
        "web_entry",
        ENTRIES,
        after,
        vec![before],
        move |desk, entry| remove_entry(desk, entry, &homes),
    )
    .await
}

fn remove_entry(
    desk: &Desk<'_>,
    entry: i64,
    homes: &BTreeSet<Conversation>,
) -> Result<usize, Trouble> {
    let conversation: Option<String> = desk.first(WEB_ENTRY, [entry], |row| row.get(0))?;
    let Some(conversation) = conversation else {
        return Ok(0);
    };
    if homes.iter().any(|home| home.as_str() == conversation) {
        return Ok(1);
    }
    let gone = desk.run(WEB_CONVERSATION, [conversation])?;
    Ok(1 + gone)
}
