//! What a person says here, and how it becomes an event of the channel.

use chat::{
    Event, FileHandle, FileKind, IdempotencyKey, Inbound, InboundFile, InboundKind, Place, Receipt,
    Sender, SenderId,
};
use sandbox::ArtifactRef;
use serde_json::json;
use waybill::{AccountId, Anchor, ChatKey, Conversation, Timestamp};

use crate::OWNER;

/// Longest text of one message, in characters.
pub const LONGEST_TEXT: usize = 100_000;

/// Longest id that a page may give a message, in bytes. A UUID has 36.
const LONGEST_ID: usize = 64;

/// Most files of one message.
const MOST_FILES: usize = 20;

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Where.
    pub conversation: Conversation,
    /// The id that the page gave it; the same one again means the same message.
    pub message: String,
    /// The words.
    pub text: String,
    /// Files that were uploaded before.
    pub files: Vec<ArtifactRef>,
}

/// It is durable, and visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The id of its visible entry.
    pub entry: Receipt,
}

/// Why a message was not taken. The texts are for the person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SayError {
    /// No words and no files.
    #[error("there is nothing to send: write something, or add a file")]
    Empty,
    /// Over [`LONGEST_TEXT`].
    #[error("the message is longer than {LONGEST_TEXT} characters: send it as a file")]
    TooLong,
    /// Over the count of files.
    #[error("a message can hold at most {MOST_FILES} files: send the rest in another one")]
    TooManyFiles,
    /// The page gave it no usable id.
    #[error("a message needs an id of 1 to {LONGEST_ID} letters, digits and '-'")]
    Id,
    /// It could not be stored, so nobody will answer it.
    #[error("the message was not taken: {0}")]
    NotStored(String),
    /// Nobody listens: the gateway starts, or stops.
    #[error("the gateway is starting or stopping: send the message again in a moment")]
    NotListening,
    /// It may be stored, or not; saying it again is safe.
    #[error("it is not certain that the message was stored: send it again, it will not show twice")]
    Unknown,
}

/// Whether a page may call something so.
pub(crate) fn is_id(id: &str) -> bool {
    (1..=LONGEST_ID).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

impl Said {
    /// Whether it can be sent at all.
    pub(crate) fn check(&self) -> Result<(), SayError> {
        if !is_id(&self.message) {
            return Err(SayError::Id);
        }
        if self.files.len() > MOST_FILES {
            return Err(SayError::TooManyFiles);
        }
        if self.text.chars().count() > LONGEST_TEXT {
            return Err(SayError::TooLong);
        }
        if blank(&self.text) && self.files.is_empty() {
            return Err(SayError::Empty);
        }
        Ok(())
    }

    /// The event's key. A message id holds no '/', so no two pairs read alike.
    fn event_key(&self) -> String {
        Self::event_key_of(&self.conversation, &self.message)
    }

    /// The event's key of a message, by the id that the page gave it.
    #[must_use]
    pub fn event_key_of(conversation: &Conversation, message: &str) -> String {
        format!("{conversation}/{message}")
    }

    /// The key of its visible entry.
    pub(crate) fn visible_key(&self) -> IdempotencyKey {
        let mut hasher =
            blake3::Hasher::new_derive_key("tidings web chat 2026-11 what a person said");
        hasher.update(self.event_key().as_bytes());
        let mut first = [0; 16];
        hasher.finalize_xof().fill(&mut first);
        IdempotencyKey::new(first)
    }

    /// As the event that goes to the inbox.
    pub(crate) fn event(&self, account: &AccountId, at: Timestamp) -> Event {
        let files: Vec<InboundFile> = self.files.iter().map(inbound_file).collect();
        let raw = json!({
            "conversation": self.conversation,
            "id": self.message,
            "text": self.text,
            "files": self.files.iter().map(|file| json!({ "id": file.id().to_string(), "name": file.name })).collect::<Vec<_>>(),
        });
        let inbound = Inbound {
            chat: ChatKey::new(account.clone(), self.conversation.clone()),
            anchor: Anchor::new(self.message.clone()),
            sender: Sender {
                id: SenderId::new(OWNER),
                name: None,
                bot: false,
            },
            place: Place::Direct,
            kind: InboundKind::Message,
            text: self.text.clone(),
            files,
            quoted: None,
            forwarded_from: None,
            preface: None,
            at,
        };
        Event {
            key: self.event_key(),
            raw: raw.to_string(),
            parsed: Ok(Some(inbound)),
        }
    }
}

fn inbound_file(file: &ArtifactRef) -> InboundFile {
    let kind = match file.blob.mime.split('/').next() {
        Some("image") => FileKind::Photo,
        Some("audio") => FileKind::Audio,
        Some("video") => FileKind::Video,
        Some(_) | None => FileKind::Document,
    };
    InboundFile {
        handle: FileHandle::new(file.id().to_string()),
        name: Some(file.name.clone()),
        mime: Some(file.blob.mime.clone()),
        size: Some(file.blob.size),
        kind,
    }
}

/// Whether a text shows nothing: blanks, and characters without width.
pub(crate) fn blank(text: &str) -> bool {
    text.chars().all(|letter| {
        letter.is_whitespace()
            || matches!(letter, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(conversation: &str, message: &str, text: &str) -> Said {
        Said {
            conversation: Conversation::new(conversation).unwrap(),
            message: message.into(),
            text: text.into(),
            files: Vec::new(),
        }
    }

    #[test]
    fn a_message_of_blanks_is_not_sent() {
        for text in ["", " \n\t", "\u{200b}", "\u{feff} \u{2060}"] {
            assert_eq!(
                said("c", "m", text).check(),
                Err(SayError::Empty),
                "{text:?}"
            );
        }
        assert_eq!(said("c", "m", "hi").check(), Ok(()));
    }

    #[test]
    fn an_id_that_is_no_plain_word_is_refused() {
        for id in ["", "a/b", "a b", &"x".repeat(65)] {
            assert_eq!(said("c", id, "hi").check(), Err(SayError::Id), "{id:?}");
        }
    }

    #[test]
    fn the_same_message_id_in_two_conversations_is_two_messages() {
        let account = AccountId::parse("web").unwrap();
        let (one, other) = (said("a", "b-c", "hi"), said("a/b", "c", "hi"));
        assert_ne!(
            one.event(&account, Timestamp::UNIX_EPOCH).key,
            other.event(&account, Timestamp::UNIX_EPOCH).key
        );
        assert_ne!(one.visible_key(), other.visible_key());
        assert_eq!(
            one.visible_key(),
            said("a", "b-c", "other words").visible_key()
        );
    }
}
