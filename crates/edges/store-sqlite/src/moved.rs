//! A conversation of a platform gets another id: what is stored of it follows.

use chat::Inbound;
use outbox::{Claimed, NewMessage};
use rusqlite::params;
use waybill::{ChatKey, Conversation, SessionKey, SessionScope, Timestamp};

use crate::desk::Desk;
use crate::error::Trouble;
use crate::value::{json, ms, read};

/// Ids that one conversation had: more than platforms ever make.
const MOST_MOVES: usize = 64;

pub(crate) fn move_chat(
    desk: &Desk<'_>,
    from: &ChatKey,
    to: &ChatKey,
    notices: &[NewMessage],
    now: Timestamp,
) -> Result<Vec<Claimed>, Trouble> {
    if !follow(desk, from, to, now)? {
        return Ok(Vec::new());
    }
    let fresh = desk.run(
        "UPDATE moved SET told = 1 WHERE account = ?1 AND conversation = ?2 AND told = 0",
        [from.account.as_str(), from.conversation.as_str()],
    )?;
    if fresh == 0 {
        return Ok(Vec::new());
    }
    crate::outbox::enqueue(desk, notices, now)
}

/// Lets everything that belongs to a conversation follow it; `false`: it has not moved at all.
pub(crate) fn follow(
    desk: &Desk<'_>,
    from: &ChatKey,
    to: &ChatKey,
    now: Timestamp,
) -> Result<bool, Trouble> {
    if from.account != to.account || from.conversation == to.conversation {
        return Ok(false);
    }
    let (account, old, new) = (
        from.account.as_str(),
        from.conversation.as_str(),
        to.conversation.as_str(),
    );
    // Where it went is an end from now on, so no circle can form.
    desk.run(
        "DELETE FROM moved WHERE account = ?1 AND conversation = ?2",
        [account, new],
    )?;
    desk.run(
        "INSERT INTO moved(account, conversation, target, at) VALUES(?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET target = excluded.target, at = excluded.at, told = 0
         WHERE target <> excluded.target",
        params![account, old, new, ms(now)],
    )?;
    sessions(desk, from, to, now)?;
    waiting(desk, from, to)?;
    Ok(true)
}

/// The chat under its present id, if it has another one.
pub(crate) fn present(desk: &Desk<'_>, chat: &ChatKey) -> Result<Option<ChatKey>, Trouble> {
    let mut found = None;
    for _ in 0..MOST_MOVES {
        let here: &ChatKey = found.as_ref().unwrap_or(chat);
        let target: Option<String> = desk.first(
            "SELECT target FROM moved WHERE account = ?1 AND conversation = ?2",
            [here.account.as_str(), here.conversation.as_str()],
            |row| row.get(0),
        )?;
        let Some(target) = target else { break };
        found = Some(renamed(here, &named(target)?));
    }
    Ok(found)
}

/// The ids that a chat had before, the latest first.
pub(crate) fn former(desk: &Desk<'_>, chat: &ChatKey) -> Result<Vec<ChatKey>, Trouble> {
    let mut found: Vec<ChatKey> = Vec::new();
    let mut next = 0;
    while found.len() < MOST_MOVES {
        let here = match next {
            0 => chat.clone(),
            _ => match found.get(next - 1) {
                Some(here) => here.clone(),
                None => break,
            },
        };
        next += 1;
        let before: Vec<String> = desk.all(
            "SELECT conversation FROM moved WHERE account = ?1 AND target = ?2 ORDER BY at DESC, conversation",
            [here.account.as_str(), here.conversation.as_str()],
            |row| row.get(0),
        )?;
        for conversation in before {
            found.push(renamed(chat, &named(conversation)?));
        }
    }
    Ok(found)
}

fn named(conversation: String) -> Result<Conversation, Trouble> {
    Conversation::new(conversation).map_err(|error| Trouble::unreadable("a chat that moved", error))
}

fn renamed(chat: &ChatKey, conversation: &Conversation) -> ChatKey {
    ChatKey {
        conversation: conversation.clone(),
        ..chat.clone()
    }
}

/// The conversations that run go on under the new id: they hold what was said.
fn sessions(desk: &Desk<'_>, from: &ChatKey, to: &ChatKey, now: Timestamp) -> Result<(), Trouble> {
    let running: Vec<(String, String, String)> = desk.all(
        "SELECT id, profile, key FROM session WHERE ended_at IS NULL AND key LIKE 'chat:%'",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    for (id, profile, key) in running {
        // One that can't be read belongs to nobody who could ask for it.
        let Ok(SessionKey::Chat(chat)) = key.parse::<SessionKey>() else {
            continue;
        };
        if chat.account != from.account || chat.conversation != from.conversation {
            continue;
        }
        let new = SessionKey::Chat(renamed(&chat, &to.conversation)).to_string();
        desk.run(
            "UPDATE session SET ended_at = ?3 WHERE profile = ?1 AND key = ?2 AND ended_at IS NULL",
            params![profile, new, ms(now)],
        )?;
        desk.run(
            "UPDATE session SET key = ?2 WHERE id = ?1",
            [id.as_str(), new.as_str()],
        )?;
    }
    Ok(())
}

/// What waits in the inbox belongs to the new id.
fn waiting(desk: &Desk<'_>, from: &ChatKey, to: &ChatKey) -> Result<(), Trouble> {
    let rows: Vec<(i64, String, Option<String>)> = desk.all(
        "SELECT id, inbound, session FROM inbox
         WHERE state IN ('new','admitted') AND account = ?1 AND conversation = ?2 AND inbound IS NOT NULL",
        [from.account.as_str(), from.conversation.as_str()],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    for (id, inbound, session) in rows {
        let name = format!("event {id} of the inbox");
        // One that can't be read is poisoned by whoever takes it up.
        let Ok(mut said) = read::<Inbound>(&name, &inbound) else {
            continue;
        };
        if matches!(said.kind, chat::InboundKind::Moved { .. }) {
            continue;
        }
        said.chat = renamed(&said.chat, &to.conversation);
        let session = match session.map(|text| read::<SessionScope>(&name, &text)) {
            None => None,
            Some(Ok(scope)) => {
                let key = SessionKey::Chat(said.chat.clone());
                Some(json(&scope.profile_scope().session(key, scope.id()))?)
            }
            // The move of all the others does not wait for it.
            Some(Err(trouble)) => {
                tracing::error!(inbox = id, %trouble, "an event does not follow its chat to the new id");
                continue;
            }
        };
        desk.run(
            "UPDATE inbox SET inbound = ?2, session = ?3, conversation = ?4, version = version + 1 WHERE id = ?1",
            params![id, json(&said)?, session, to.conversation.as_str()],
        )?;
    }
    Ok(())
}
