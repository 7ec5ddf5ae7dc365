//! Plans of agents, and the chats that a profile knows.

use async_trait::async_trait;
use outbox::StoreError;
use rusqlite::params;
use session::{Contact, ContactStore, PlanStep, PlanStore};
use waybill::{ChatKey, ProfileId, SessionId, SessionKey, Timestamp};

use crate::desk::Desk;
use crate::error::{Trouble, sound};
use crate::store::Store;
use crate::value::{json, ms, parse, read, time};

#[async_trait]
impl PlanStore for Store {
    async fn plan(&self, session: SessionId) -> Result<Vec<PlanStep>, StoreError> {
        self.read(move |desk| {
            let steps: Option<String> = desk.first(
                "SELECT steps FROM plan WHERE session = ?1",
                [session.to_string()],
                |row| row.get(0),
            )?;
            let row = || format!("the plan of {session}");
            steps.map_or_else(|| Ok(Vec::new()), |steps| read(row(), &steps))
        })
        .await
    }

    async fn set_plan(
        &self,
        session: SessionId,
        steps: Vec<PlanStep>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.write(move |desk| {
            desk.run(
                "INSERT INTO plan(session, steps, at) VALUES(?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET steps = excluded.steps, at = excluded.at",
                params![session.to_string(), json(&steps)?, ms(now)],
            )?;
            Ok(())
        })
        .await
    }
}

pub(crate) const CONTACTS: &str = "SELECT key, started_at FROM session
    WHERE profile = ?1 AND ended_at IS NULL AND key >= 'chat:' AND key < 'chat;' ORDER BY started_at DESC LIMIT ?2";

/// Who wrote in a conversation last.
const LAST: &str = "SELECT inbound ->> '$.sender.name' FROM inbox WHERE id =
    (SELECT max(id) FROM inbox WHERE account = ?1 AND conversation = ?2 AND anchor IS NOT NULL)";

#[async_trait]
impl ContactStore for Store {
    async fn contacts(&self, profile: &ProfileId, most: usize) -> Result<Vec<Contact>, StoreError> {
        let profile = profile.clone();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.read(move |desk| {
            let rows: Vec<(String, i64)> =
                desk.all(CONTACTS, params![profile.as_str(), most], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
            let contacts = rows
                .iter()
                .filter_map(|(key, since)| contact(desk, key, *since).transpose());
            sound(contacts)
        })
        .await
    }
}

fn contact(desk: &Desk<'_>, key: &str, since: i64) -> Result<Option<Contact>, Trouble> {
    let row = || format!("the conversation {key}");
    let SessionKey::Chat(chat) = parse(row(), key)? else {
        return Ok(None);
    };
    Ok(Some(Contact {
        name: name(desk, &chat)?,
        since: time(row(), since)?,
        chat,
    }))
}

fn name(desk: &Desk<'_>, chat: &ChatKey) -> Result<Option<String>, Trouble> {
    let conversation = chat.conversation.as_str();
    let title: Option<String> = desk.first(
        "SELECT title FROM web_conversation WHERE conversation = ?1 AND ?2 = 'web'",
        [conversation, chat.account.as_str()],
        |row| row.get(0),
    )?;
    if let Some(title) = title.filter(|title| !title.is_empty()) {
        return Ok(Some(title));
    }
    let last = desk.first(LAST, [chat.account.as_str(), conversation], |row| {
        row.get(0)
    })?;
    Ok(last.flatten())
}
