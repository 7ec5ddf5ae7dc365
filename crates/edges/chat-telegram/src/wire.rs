//! What we read of the Bot API's objects. Unknown fields are passed by; a field that only adorns may be malformed.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads a field that a message can do without.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    let value = Option::<Value>::deserialize(from)?;
    Ok(value.and_then(|value| serde_json::from_value(value).ok()))
}

/// Reads a list, each item by itself.
fn each<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Vec<T>, D::Error> {
    let value = Option::<Value>::deserialize(from)?;
    let Some(Value::Array(items)) = value else {
        return Ok(Vec::new());
    };
    Ok(items
        .into_iter()
        .filter_map(|item| serde_json::from_value(item).ok())
        .collect())
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct User {
    pub(crate) id: i64,
    #[serde(default)]
    pub(crate) is_bot: bool,
    #[serde(default)]
    pub(crate) first_name: String,
    pub(crate) last_name: Option<String>,
    pub(crate) username: Option<String>,
}

impl User {
    pub(crate) fn name(&self) -> Option<String> {
        let mut name = self.first_name.clone();
        if let Some(last) = &self.last_name {
            name.push(' ');
            name.push_str(last);
        }
        let name = name.trim().to_owned();
        if name.is_empty() {
            self.username.clone()
        } else {
            Some(name)
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Chat {
    pub(crate) id: i64,
    #[serde(rename = "type", default)]
    pub(crate) kind: String,
    pub(crate) title: Option<String>,
    pub(crate) first_name: Option<String>,
}

impl Chat {
    pub(crate) fn name(&self) -> Option<String> {
        self.title.clone().or_else(|| self.first_name.clone())
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Entity {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) offset: usize,
    pub(crate) length: usize,
    pub(crate) url: Option<String>,
    pub(crate) language: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) user: Option<User>,
}

/// Any object with a file's id: photo size, document, voice, audio, video, video note, animation.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct File {
    pub(crate) file_id: String,
    pub(crate) file_name: Option<String>,
    pub(crate) mime_type: Option<String>,
    pub(crate) file_size: Option<u64>,
    #[serde(default)]
    pub(crate) width: u64,
    #[serde(default)]
    pub(crate) height: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Sticker {
    #[serde(default)]
    pub(crate) is_animated: bool,
    #[serde(default)]
    pub(crate) is_video: bool,
    pub(crate) emoji: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Location {
    pub(crate) latitude: f64,
    pub(crate) longitude: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Venue {
    pub(crate) location: Location,
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) address: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Contact {
    pub(crate) phone_number: String,
    pub(crate) first_name: String,
    pub(crate) last_name: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Poll {
    pub(crate) question: String,
    #[serde(default, deserialize_with = "each")]
    pub(crate) options: Vec<PollOption>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PollOption {
    pub(crate) text: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Dice {
    pub(crate) emoji: String,
    pub(crate) value: i64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct TextQuote {
    pub(crate) text: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ExternalReply {
    pub(crate) origin: MessageOrigin,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct MessageOrigin {
    pub(crate) sender_user: Option<User>,
    pub(crate) sender_user_name: Option<String>,
    pub(crate) sender_chat: Option<Chat>,
    pub(crate) chat: Option<Chat>,
}

impl MessageOrigin {
    /// Who wrote it first, to show; "somebody" if the platform hides even the name.
    pub(crate) fn name(&self) -> String {
        let user = self.sender_user.as_ref().and_then(User::name);
        let chat = self
            .sender_chat
            .as_ref()
            .or(self.chat.as_ref())
            .and_then(Chat::name);
        user.or_else(|| self.sender_user_name.clone())
            .or(chat)
            .unwrap_or_else(|| "somebody".to_owned())
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Message {
    pub(crate) message_id: i64,
    pub(crate) date: i64,
    pub(crate) chat: Chat,
    pub(crate) from: Option<User>,
    pub(crate) sender_chat: Option<Chat>,
    pub(crate) message_thread_id: Option<i64>,
    #[serde(default)]
    pub(crate) is_topic_message: bool,
    /// The group is this supergroup now.
    pub(crate) migrate_to_chat_id: Option<i64>,
    /// The supergroup was this group.
    pub(crate) migrate_from_chat_id: Option<i64>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) reply_to_message: Option<Box<Message>>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) quote: Option<TextQuote>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) external_reply: Option<ExternalReply>,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) forward_origin: Option<MessageOrigin>,
    pub(crate) text: Option<String>,
    #[serde(default, deserialize_with = "each")]
    pub(crate) entities: Vec<Entity>,
    pub(crate) caption: Option<String>,
    #[serde(default, deserialize_with = "each")]
    pub(crate) caption_entities: Vec<Entity>,
    pub(crate) photo: Option<Vec<File>>,
    pub(crate) document: Option<File>,
    pub(crate) voice: Option<File>,
    pub(crate) audio: Option<File>,
    pub(crate) video: Option<File>,
    pub(crate) video_note: Option<File>,
    pub(crate) animation: Option<File>,
    pub(crate) sticker: Option<Sticker>,
    pub(crate) location: Option<Location>,
    pub(crate) venue: Option<Venue>,
    pub(crate) contact: Option<Contact>,
    pub(crate) poll: Option<Poll>,
    pub(crate) dice: Option<Dice>,
    pub(crate) story: Option<IgnoredAny>,
    pub(crate) game: Option<IgnoredAny>,
    pub(crate) invoice: Option<IgnoredAny>,
    pub(crate) paid_media: Option<IgnoredAny>,
    pub(crate) checklist: Option<IgnoredAny>,
    pub(crate) giveaway: Option<IgnoredAny>,
    pub(crate) live_photo: Option<IgnoredAny>,
    pub(crate) rich_message: Option<IgnoredAny>,
    pub(crate) forum_topic_created: Option<IgnoredAny>,
}

/// Somebody tapped a button.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct CallbackQuery {
    pub(crate) id: String,
    pub(crate) from: User,
    /// The button's message, as far as it can still be read: the date 0 says that it can't.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) message: Option<Box<Message>>,
    pub(crate) data: Option<String>,
}

/// A message that we sent.
#[derive(Debug, Deserialize)]
pub(crate) struct Sent {
    pub(crate) message_id: i64,
}

/// A file that can be downloaded now.
#[derive(Debug, Deserialize)]
pub(crate) struct Ready {
    pub(crate) file_size: Option<u64>,
    pub(crate) file_path: Option<String>,
}
