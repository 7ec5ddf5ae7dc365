//! Messages that wait for the gateway's death.

use async_trait::async_trait;
use outbox::{Claimed, NewMessage, StoreError};
use rusqlite::params;
use session::LastWords;
use waybill::Timestamp;

use crate::desk::Desk;
use crate::error::Trouble;
use crate::outbox::enqueue;
use crate::store::Store;
use crate::value::{json, read};

#[async_trait]
impl LastWords for Store {
    async fn leave(&self, message: NewMessage) -> Result<(), StoreError> {
        self.write(move |desk| {
            desk.run(
                "INSERT INTO last_words(source, message) VALUES(?1, ?2)
                 ON CONFLICT(source) DO UPDATE SET message = excluded.message",
                params![message.source, json(&message)?],
            )
            .map(drop)
        })
        .await
    }

    async fn take_back(&self, source: &str) -> Result<(), StoreError> {
        let source = source.to_owned();
        self.write(move |desk| {
            desk.run("DELETE FROM last_words WHERE source = ?1", [source])
                .map(drop)
        })
        .await
    }

    async fn speak(&self, now: Timestamp) -> Result<Vec<Claimed>, StoreError> {
        self.write(move |desk| speak(desk, now)).await
    }
}

fn speak(desk: &Desk<'_>, now: Timestamp) -> Result<Vec<Claimed>, Trouble> {
    let left: Vec<(String, String)> = desk.all(
        "SELECT source, message FROM last_words ORDER BY source",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let mut messages = Vec::with_capacity(left.len());
    for (source, text) in left {
        match read::<NewMessage>(format!("last_words {source}"), &text) {
            Ok(message) => messages.push(said_now(message, now)),
            Err(trouble) => {
                let damage = trouble.damage()?;
                tracing::error!(
                    source,
                    reason = damage.0,
                    "last words can't be read; nobody will hear them"
                );
            }
        }
    }
    let claimed = enqueue(desk, &messages, now)?;
    desk.run("DELETE FROM last_words", [])?;
    Ok(claimed)
}

/// They are as old as what they tell of: its end, which is found out now.
fn said_now(message: NewMessage, now: Timestamp) -> NewMessage {
    let keeps = message.expires_at.duration_since(message.created_at);
    NewMessage {
        created_at: now,
        expires_at: now.checked_add(keeps).unwrap_or(Timestamp::MAX),
        ..message
    }
}
