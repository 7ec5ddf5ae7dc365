//! What the web chat's store keeps, in memory: entries, conversations, login links and browser sessions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use chat::{IdempotencyKey, Op, Receipt};
use policy::{AccessStore, TokenHash};
use session::{ConversationRow, NewVisible, StoreError, Visible, VisibleContent, VisibleLog};
use waybill::{Conversation, Timestamp};

#[derive(Debug, Default)]
struct Book {
    rows: Vec<ConversationRow>,
    entries: Vec<(Conversation, IdempotencyKey, Visible)>,
}

/// What is visible, for as long as the test lives. It can be told to fail.
#[derive(Debug, Default)]
pub struct MemoryVisible {
    book: Mutex<Book>,
    broken: AtomicBool,
}

impl MemoryVisible {
    /// Lets every call fail from now on, or work again.
    pub fn break_down(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    fn book(&self) -> Result<MutexGuard<'_, Book>, StoreError> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(StoreError::Closed);
        }
        Ok(self.book.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The first words of an entry, to know its conversation by.
fn title(content: &VisibleContent) -> String {
    let text = match content {
        VisibleContent::Said { text, files } if text.trim().is_empty() => {
            files.first().map_or("", |file| file.name.as_str())
        }
        VisibleContent::Said { text, .. } => text,
        VisibleContent::Part {
            op: Op::Text(body) | Op::Question { body, .. },
            ..
        } => body.text(),
        VisibleContent::Part {
            op: Op::File { artifact, .. },
            ..
        } => &artifact.name,
    };
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(60)
        .collect()
}

#[async_trait]
impl VisibleLog for MemoryVisible {
    async fn open(&self, row: ConversationRow) -> Result<(), StoreError> {
        let mut book = self.book()?;
        if !book
            .rows
            .iter()
            .any(|known| known.conversation == row.conversation)
        {
            book.rows.push(row);
        }
        Ok(())
    }

    async fn conversation(&self, id: &Conversation) -> Result<Option<ConversationRow>, StoreError> {
        Ok(self
            .book()?
            .rows
            .iter()
            .find(|row| row.conversation == *id)
            .cloned())
    }

    async fn conversations(&self, most: usize) -> Result<Vec<ConversationRow>, StoreError> {
        let mut rows = self.book()?.rows.clone();
        rows.sort_by_key(|row| std::cmp::Reverse(row.touched_at));
        rows.truncate(most);
        Ok(rows)
    }

    async fn add(&self, entry: NewVisible) -> Result<Result<Visible, Receipt>, StoreError> {
        let mut book = self.book()?;
        if let Some((_, _, there)) = book.entries.iter().find(|(_, key, _)| *key == entry.key) {
            return Ok(Err(Receipt::new(there.id.to_string())));
        }
        let id = i64::try_from(book.entries.len()).unwrap_or(i64::MAX - 1) + 1;
        if let Some(row) = book
            .rows
            .iter_mut()
            .find(|row| row.conversation == entry.conversation)
        {
            row.touched_at = entry.at;
            if row.title.is_empty() {
                row.title = title(&entry.content);
            }
        }
        let visible = Visible {
            id,
            author: entry.author,
            content: entry.content,
            at: entry.at,
        };
        book.entries
            .push((entry.conversation, entry.key, visible.clone()));
        Ok(Ok(visible))
    }

    async fn entries(
        &self,
        conversation: &Conversation,
        after: i64,
        most: usize,
    ) -> Result<Vec<Visible>, StoreError> {
        let book = self.book()?;
        let mut found: Vec<Visible> = book
            .entries
            .iter()
            .filter(|(place, _, visible)| place == conversation && visible.id > after)
            .map(|(_, _, visible)| visible.clone())
            .collect();
        let surplus = found.len().saturating_sub(most);
        Ok(found.split_off(surplus))
    }
}

#[derive(Debug, Default)]
struct Doors {
    logins: HashMap<TokenHash, Timestamp>,
    sessions: HashMap<TokenHash, Timestamp>,
}

/// Login links and browser sessions, for as long as the test lives.
#[derive(Debug, Default)]
pub struct MemoryAccess(Mutex<Doors>);

impl MemoryAccess {
    fn doors(&self) -> MutexGuard<'_, Doors> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl AccessStore for MemoryAccess {
    async fn add_login(&self, token: TokenHash, expires_at: Timestamp) -> Result<(), StoreError> {
        self.doors().logins.insert(token, expires_at);
        Ok(())
    }

    async fn log_in(
        &self,
        token: TokenHash,
        session: TokenHash,
        session_expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut doors = self.doors();
        let good = doors
            .logins
            .remove(&token)
            .is_some_and(|expires_at| expires_at > now);
        if good {
            doors.sessions.insert(session, session_expires_at);
        }
        Ok(good)
    }

    async fn is_open(&self, session: TokenHash, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self
            .doors()
            .sessions
            .get(&session)
            .is_some_and(|expires_at| *expires_at > now))
    }

    async fn log_out(&self, session: TokenHash) -> Result<(), StoreError> {
        self.doors().sessions.remove(&session);
        Ok(())
    }
}
