//! What people write.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::files::described;
use super::state::{Inner, RoomKey};

/// An update that was put in a bot's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Injected {
    /// The update's id.
    pub update_id: i64,
    /// The message's id in its chat.
    pub message_id: i64,
}

#[derive(Debug, Clone)]
enum Content {
    Text(String),
    File {
        kind: &'static str,
        name: String,
        mime: String,
        bytes: Bytes,
        claimed: Option<u64>,
    },
    Other,
}

/// A person's message: `Said::text("hi").by(111, "Ann")`, in the private chat unless told otherwise.
#[derive(Debug, Clone)]
pub struct Said {
    content: Content,
    user: i64,
    name: String,
    chat: Option<i64>,
    topic: Option<i64>,
    replying_to: Option<i64>,
    edits: Option<i64>,
    caption: Option<String>,
    entities: Value,
    more: Map<String, Value>,
}

impl Said {
    fn new(content: Content) -> Self {
        Self {
            content,
            user: 111,
            name: "Ann".to_owned(),
            chat: None,
            topic: None,
            replying_to: None,
            edits: None,
            caption: None,
            entities: Value::Null,
            more: Map::new(),
        }
    }

    fn file(kind: &'static str, name: &str, mime: &str, bytes: Bytes) -> Self {
        Self::new(Content::File {
            kind,
            name: name.to_owned(),
            mime: mime.to_owned(),
            bytes,
            claimed: None,
        })
    }

    /// Words.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::new(Content::Text(text.to_owned()))
    }

    /// A picture; two sizes of it are told.
    #[must_use]
    pub fn photo(bytes: impl Into<Bytes>) -> Self {
        Self::file("photo", "", "image/jpeg", bytes.into())
    }

    /// A document.
    #[must_use]
    pub fn document(name: &str, mime: &str, bytes: impl Into<Bytes>) -> Self {
        Self::file("document", name, mime, bytes.into())
    }

    /// A spoken note.
    #[must_use]
    pub fn voice(bytes: impl Into<Bytes>) -> Self {
        Self::file("voice", "", "audio/ogg", bytes.into())
    }

    /// A message of which only raw fields are given, by [`Said::with`].
    #[must_use]
    pub fn other() -> Self {
        Self::new(Content::Other)
    }

    /// Who wrote it (`111`, `Ann` unless told).
    #[must_use]
    pub fn by(mut self, user: i64, name: &str) -> Self {
        self.user = user;
        name.clone_into(&mut self.name);
        self
    }

    /// In a group (`-45`) or a supergroup (`-100…`).
    #[must_use]
    pub fn in_group(mut self, chat: i64) -> Self {
        self.chat = Some(chat);
        self
    }

    /// In a topic of the chat.
    #[must_use]
    pub fn topic(mut self, thread: i64) -> Self {
        self.topic = Some(thread);
        self
    }

    /// As an answer to a message of the chat.
    #[must_use]
    pub fn replying_to(mut self, message_id: i64) -> Self {
        self.replying_to = Some(message_id);
        self
    }

    /// As a changed version of a message.
    #[must_use]
    pub fn edits(mut self, message_id: i64) -> Self {
        self.edits = Some(message_id);
        self
    }

    /// Words under a file.
    #[must_use]
    pub fn caption(mut self, caption: &str) -> Self {
        self.caption = Some(caption.to_owned());
        self
    }

    /// Formatting, as the Bot API writes it.
    #[must_use]
    pub fn entities(mut self, entities: Value) -> Self {
        self.entities = entities;
        self
    }

    /// The size that the platform claims for the file, whatever its bytes are.
    #[must_use]
    pub fn claiming(mut self, size: u64) -> Self {
        if let Content::File { claimed, .. } = &mut self.content {
            *claimed = Some(size);
        }
        self
    }

    /// Another field of the message, as it is.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.more.insert(field.to_owned(), value);
        self
    }

    pub(super) fn put(self, inner: &mut Inner, token: &str) -> Injected {
        let bot = inner.bots.get(token).map_or(0, |bot| bot.id);
        let chat = self.chat.unwrap_or(self.user);
        let key = RoomKey::new(bot, chat);
        let date = inner.date();
        let message_id = self.edits.unwrap_or_else(|| inner.message_id(token, key));
        let mut fields = Map::new();
        match self.content {
            Content::Text(text) => {
                fields.insert("text".into(), text.into());
                if !self.entities.is_null() {
                    fields.insert("entities".into(), self.entities);
                }
            }
            Content::File {
                kind,
                name,
                mime,
                bytes,
                claimed,
            } => {
                let size = claimed.map_or(bytes.len(), |size| size as usize);
                let id = inner.keep(kind, &name, bytes);
                if let (Some(claimed), Some(file)) = (claimed, inner.files.get_mut(&id)) {
                    file.size = claimed;
                }
                fields.insert(kind.into(), described(kind, &id, &name, &mime, size));
                if let Some(caption) = self.caption {
                    fields.insert("caption".into(), caption.into());
                    if !self.entities.is_null() {
                        fields.insert("caption_entities".into(), self.entities);
                    }
                }
            }
            Content::Other => {}
        }
        let room = inner.rooms.entry(key).or_default();
        if room.title.is_empty() {
            room.title = if chat > 0 {
                self.name.clone()
            } else {
                "Team".to_owned()
            };
        }
        room.topics.extend(self.topic);
        let described = room.chat(chat);
        if let Some(thread) = self.topic {
            fields.insert("message_thread_id".into(), thread.into());
            fields.insert("is_topic_message".into(), true.into());
            if chat < 0 {
                // In a forum each message answers the message that made its topic, unless it answers another one.
                fields.insert("reply_to_message".into(), json!({
                    "message_id": thread, "message_thread_id": thread, "date": date, "chat": described, "is_topic_message": true,
                    "from": {"id": self.user, "is_bot": false, "first_name": self.name},
                    "forum_topic_created": {"name": "Topic", "icon_color": 7_322_096},
                }));
            }
        }
        if let Some(target) = self
            .replying_to
            .and_then(|id| room.messages.get(&id).cloned())
        {
            fields.insert("reply_to_message".into(), target);
        }
        let mut message = json!({
            "message_id": message_id, "chat": described, "date": date,
            "from": {"id": self.user, "is_bot": false, "first_name": self.name},
        });
        if let Some(all) = message.as_object_mut() {
            all.extend(fields);
            if self.edits.is_some() {
                all.insert("edit_date".into(), (date + 1).into());
            }
            all.extend(self.more);
        }
        let mut kept = message.clone();
        if let Some(all) = kept.as_object_mut() {
            all.remove("reply_to_message");
        }
        room.messages.insert(message_id, kept);
        let kind = if self.edits.is_some() {
            "edited_message"
        } else {
            "message"
        };
        let update_id = inner.push(token, json!({ kind: message }));
        Injected {
            update_id,
            message_id,
        }
    }
}
