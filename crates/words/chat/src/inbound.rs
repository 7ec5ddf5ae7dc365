//! What people write.

use serde::{Deserialize, Serialize};
use waybill::{Anchor, ChatKey, Timestamp};

/// A platform's immutable id of somebody. Names change and can be chosen; no decision looks at one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SenderId(String);

impl SenderId {
    /// Takes the platform's id as it is.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Who wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// Immutable id.
    pub id: SenderId,
    /// The name to show; never used to decide.
    pub name: Option<String>,
    /// Whether a program wrote it.
    pub bot: bool,
}

/// What kind of place it was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Between one person and us.
    Direct,
    /// Among several; `addressed` tells whether we were meant: mentioned, replied to, or given a command.
    Group {
        /// Were we meant?
        addressed: bool,
    },
}

/// What the event is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InboundKind {
    /// A new message.
    Message,
    /// A changed message, in full; its anchor is that of the message. It never runs a command.
    Edit,
    /// The platform says that the conversation has another id from now on. Nobody's words.
    Moved {
        /// There.
        to: ChatKey,
    },
    /// Somebody chose an answer of a question. The event's anchor is the question's message; its text is empty.
    Tap {
        /// [`crate::Choice::token`], as it came back; anybody may have made it up.
        token: String,
        /// The platform's id of the tap, to answer it with [`crate::Activity::Tapped`].
        id: String,
    },
}

/// The channel's own handle of a file that was not fetched yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileHandle(String);

impl FileHandle {
    /// Takes the channel's handle as it is.
    #[must_use]
    pub fn new(handle: impl Into<String>) -> Self {
        Self(handle.into())
    }

    /// The handle.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a file was sent as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A picture.
    Photo,
    /// A spoken note.
    Voice,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
    /// Anything.
    Document,
}

/// A file that came with a message. What the platform says of it is a hint; the bytes decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboundFile {
    /// How to fetch it.
    pub handle: FileHandle,
    /// Its name, if it was given one.
    pub name: Option<String>,
    /// Its type, as the platform says.
    pub mime: Option<String>,
    /// Its size in bytes, as the platform says.
    pub size: Option<u64>,
    /// What it was sent as.
    pub kind: FileKind,
}

/// Somebody's words that a message answers. They are data of their author, never the sender's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quoted {
    /// Who said it, to show.
    pub author: Option<String>,
    /// What was said.
    pub text: String,
}

/// What a program that keeps a conversation itself sends along with the newest message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Preface {
    /// Instructions for this turn alone; they come after the profile's own prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// What was said before, oldest first, where the program keeps the conversation: then there is none here that could be gone
    /// on with. `None`: it goes on with ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<model::Message>>,
}

/// One event from a person, as the adapter understood it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbound {
    /// Where.
    pub chat: ChatKey,
    /// The platform's id of the message; answers are anchored to it.
    pub anchor: Anchor,
    /// Who.
    pub sender: Sender,
    /// In what kind of place.
    pub place: Place,
    /// What it is.
    pub kind: InboundKind,
    /// The words; formatting marks as markdown.
    pub text: String,
    /// The files.
    pub files: Vec<InboundFile>,
    /// What it answers.
    pub quoted: Option<Quoted>,
    /// Who wrote it first, if it was forwarded.
    pub forwarded_from: Option<String>,
    /// What a program sent along that keeps the conversation itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preface: Option<Box<Preface>>,
    /// When, as the platform says.
    pub at: Timestamp,
}

impl Inbound {
    /// What was said before, if whoever sent it keeps the conversation itself.
    #[must_use]
    pub fn history(&self) -> Option<&[model::Message]> {
        self.preface.as_deref()?.history.as_deref()
    }
}
