//! What people see in the web chat, at rest.

use async_trait::async_trait;
use chat::Receipt;
use outbox::StoreError;
use rusqlite::{Row, params};
use session::{ConversationRow, NewVisible, Visible, VisibleContent, VisibleLog};
use waybill::Conversation;

use crate::desk::Desk;
use crate::error::Trouble;
use crate::store::Store;
use crate::value::{json, ms, parse, read, time};

/// Characters of a title.
const TITLE: usize = 60;

#[async_trait]
impl VisibleLog for Store {
    async fn open(&self, row: ConversationRow) -> Result<(), StoreError> {
        self.write(move |desk| {
            desk.run(
                "INSERT INTO web_conversation(conversation, profile, title, touched_at) VALUES(?1, ?2, ?3, ?4)
                 ON CONFLICT(conversation) DO NOTHING",
                params![row.conversation.as_str(), row.profile.as_str(), row.title, ms(row.touched_at)],
            )?;
            Ok(())
        })
        .await
    }

    async fn conversation(&self, id: &Conversation) -> Result<Option<ConversationRow>, StoreError> {
        let id = id.clone();
        self.read(move |desk| {
            let found = desk.first(
                "SELECT conversation, profile, title, touched_at FROM web_conversation WHERE conversation = ?1",
                [id.as_str()],
                columns,
            )?;
            found.map(conversation).transpose()
        })
        .await
    }

    async fn conversations(&self, most: usize) -> Result<Vec<ConversationRow>, StoreError> {
        self.read(move |desk| {
            let found = desk.all(
                "SELECT conversation, profile, title, touched_at FROM web_conversation
                 ORDER BY touched_at DESC, conversation LIMIT ?1",
                [limit(most)],
                columns,
            )?;
            found.into_iter().map(conversation).collect()
        })
        .await
    }

    async fn add(&self, entry: NewVisible) -> Result<Result<Visible, Receipt>, StoreError> {
        self.write(move |desk| add(desk, entry)).await
    }

    async fn entries(
        &self,
        conversation: &Conversation,
        after: i64,
        most: usize,
    ) -> Result<Vec<Visible>, StoreError> {
        let conversation = conversation.clone();
        self.read(move |desk| entries(desk, &conversation, after, most))
            .await
    }
}

type Columns = (String, String, String, i64);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

fn conversation((id, profile, title, touched_at): Columns) -> Result<ConversationRow, Trouble> {
    let row = format!("the web conversation {id}");
    Ok(ConversationRow {
        profile: parse(&row, &profile)?,
        touched_at: time(&row, touched_at)?,
        conversation: Conversation::new(id).map_err(|error| Trouble::unreadable(row, error))?,
        title,
    })
}

fn add(desk: &Desk<'_>, entry: NewVisible) -> Result<Result<Visible, Receipt>, Trouble> {
    let conversation = entry.conversation.as_str();
    let key = entry.key.to_string();
    let there: Option<i64> = desk.first(
        "SELECT id FROM web_entry WHERE conversation = ?1 AND key = ?2",
        [conversation, key.as_str()],
        |row| row.get(0),
    )?;
    if let Some(id) = there {
        return Ok(Err(Receipt::new(id.to_string())));
    }
    let touched = desk.run(
        "UPDATE web_conversation SET touched_at = max(touched_at, ?2),
             title = CASE title WHEN '' THEN ?3 ELSE title END
         WHERE conversation = ?1",
        params![conversation, ms(entry.at), title(&entry.content)],
    )?;
    if touched == 0 {
        return Err(Trouble::refused(format!(
            "there is no web conversation {conversation}"
        )));
    }
    let id = desk.insert(
        "INSERT INTO web_entry(conversation, author, content, key, at) VALUES(?1, ?2, ?3, ?4, ?5)",
        params![
            conversation,
            json(&entry.author)?,
            json(&entry.content)?,
            key,
            ms(entry.at)
        ],
    )?;
    Ok(Ok(Visible {
        id,
        author: entry.author,
        content: entry.content,
        at: entry.at,
    }))
}

/// The first words, or the first file's name.
fn title(content: &VisibleContent) -> String {
    let words = match content {
        VisibleContent::Said { text, files } if text.trim().is_empty() => {
            files.first().map_or("", |file| file.name.as_str())
        }
        VisibleContent::Said { text, .. } => text.as_str(),
        VisibleContent::Part {
            op: chat::Op::Text(body) | chat::Op::Question { body, .. },
            ..
        } => body.text(),
        VisibleContent::Part {
            op: chat::Op::File { artifact, .. },
            ..
        } => artifact.name.as_str(),
    };
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut title: String = line.chars().take(TITLE).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    title
}

fn entries(
    desk: &Desk<'_>,
    conversation: &Conversation,
    after: i64,
    most: usize,
) -> Result<Vec<Visible>, Trouble> {
    let rows: Vec<(i64, String, String, i64)> = desk.all(
        "SELECT id, author, content, at FROM web_entry WHERE conversation = ?1 AND id > ?2 ORDER BY id DESC LIMIT ?3",
        params![conversation.as_str(), after, limit(most)],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    rows.into_iter()
        .rev()
        .map(|(id, author, content, at)| {
            let row = format!("entry {id} of the web chat");
            Ok(Visible {
                id,
                author: read(&row, &author)?,
                content: read(&row, &content)?,
                at: time(&row, at)?,
            })
        })
        .collect()
}

fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
