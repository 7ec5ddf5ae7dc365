//! Keys: which running conversation, which sandbox, and what set a turn going.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::escape::{EscapeError, escape, unescape};
use crate::{ChatKey, ClientId, IdError, JobId, NameError, ProfileId, TaskId};

/// Why a text is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A part that must say something is empty.
    #[error("a part of the key is empty")]
    EmptyPart,
    /// The number of parts or the leading word is wrong.
    #[error("'{text}' does not have the form {expected}")]
    Shape {
        /// The right form.
        expected: &'static str,
        /// What was given.
        text: String,
    },
    /// A part is not escaped as the writer escapes.
    #[error(transparent)]
    Escape(#[from] EscapeError),
    /// An account's, a profile's or a client's name is malformed.
    #[error(transparent)]
    Name(#[from] NameError),
    /// An id is malformed.
    #[error(transparent)]
    Id(#[from] IdError),
}

/// Which running conversation of a profile. An enum, so that a job's id can never collide with a chat's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SessionKey {
    /// People in a chat.
    Chat(ChatKey),
    /// A scheduled job.
    Cron(JobId),
    /// A delegated task.
    Child(TaskId),
    /// A program on the API, and the conversation that it names.
    Api(ClientId, String),
    /// A person at a terminal of this machine, by the conversation's name.
    Local(String),
}

impl fmt::Display for SessionKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chat(chat) => write!(out, "chat:{chat}"),
            Self::Cron(job) => write!(out, "cron:{job}"),
            Self::Child(task) => write!(out, "child:{task}"),
            Self::Api(client, conversation) => {
                let mut text = String::new();
                escape(conversation, &mut text);
                write!(out, "api:{client}:{text}")
            }
            Self::Local(name) => {
                let mut text = String::new();
                escape(name, &mut text);
                write!(out, "local:{text}")
            }
        }
    }
}

impl FromStr for SessionKey {
    type Err = KeyError;
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let wrong = || KeyError::Shape {
            expected: "chat:…, cron:…, child:…, api:… or local:…",
            text: text.to_owned(),
        };
        let (kind, rest) = text.split_once(':').ok_or_else(wrong)?;
        match kind {
            "chat" => Ok(Self::Chat(rest.parse()?)),
            "cron" => Ok(Self::Cron(rest.parse()?)),
            "child" => Ok(Self::Child(rest.parse()?)),
            "api" => {
                let (client, conversation) = rest.split_once(':').ok_or_else(wrong)?;
                Ok(Self::Api(client.parse()?, unescape(conversation)?))
            }
            "local" => Ok(Self::Local(unescape(rest)?)),
            _ => Err(wrong()),
        }
    }
}

impl TryFrom<String> for SessionKey {
    type Error = KeyError;
    fn try_from(text: String) -> Result<Self, KeyError> {
        text.parse()
    }
}

impl From<SessionKey> for String {
    fn from(key: SessionKey) -> Self {
        key.to_string()
    }
}

/// Which sandbox. Resolved once per turn by [`crate::SessionScope::begin_turn`] and stored on the turn.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SandboxKey {
    /// Shared by a profile's chats, jobs and children.
    Profile(ProfileId),
    /// One per conversation.
    Session(ProfileId, SessionKey),
    /// One per task.
    Task(ProfileId, TaskId),
}

impl SandboxKey {
    /// The tenant that the sandbox belongs to.
    #[must_use]
    pub fn profile(&self) -> &ProfileId {
        match self {
            Self::Profile(profile) | Self::Session(profile, _) | Self::Task(profile, _) => profile,
        }
    }
}

impl fmt::Display for SandboxKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Profile(profile) => write!(out, "profile:{profile}"),
            Self::Session(profile, session) => write!(out, "session:{profile}:{session}"),
            Self::Task(profile, task) => write!(out, "task:{profile}:{task}"),
        }
    }
}

impl FromStr for SandboxKey {
    type Err = KeyError;
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let wrong = || KeyError::Shape {
            expected: "profile:…, session:… or task:…",
            text: text.to_owned(),
        };
        let (kind, rest) = text.split_once(':').ok_or_else(wrong)?;
        if kind == "profile" {
            return Ok(Self::Profile(rest.parse()?));
        }
        let (profile, rest) = rest.split_once(':').ok_or_else(wrong)?;
        match kind {
            "session" => Ok(Self::Session(profile.parse()?, rest.parse()?)),
            "task" => Ok(Self::Task(profile.parse()?, rest.parse()?)),
            _ => Err(wrong()),
        }
    }
}

impl TryFrom<String> for SandboxKey {
    type Error = KeyError;
    fn try_from(text: String) -> Result<Self, KeyError> {
        text.parse()
    }
}

impl From<SandboxKey> for String {
    fn from(key: SandboxKey) -> Self {
        key.to_string()
    }
}

/// How sandboxes are shared out. Decides the [`SandboxKey`], in one place, once per turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// One per profile.
    #[serde(rename = "profile")]
    PerProfile,
    /// One per conversation.
    #[serde(rename = "session")]
    PerSession,
    /// One per task.
    #[serde(rename = "task")]
    PerTask,
}

/// What set a turn going, and so where its words go back to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A person in a chat.
    Chat(ChatKey),
    /// A scheduled job, at the instant it was due.
    Cron {
        /// The job.
        job: JobId,
        /// When it was due.
        due: Timestamp,
    },
    /// A task that another task delegated.
    Child {
        /// The task that delegated.
        parent: TaskId,
    },
    /// A program on the API.
    Api {
        /// Its key's name.
        client: ClientId,
    },
    /// The owner, by a command or the dashboard.
    Operator,
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chat(chat) => write!(out, "chat:{chat}"),
            Self::Cron { job, due } => write!(out, "cron:{job}:{}", due.as_millisecond()),
            Self::Child { parent } => write!(out, "child:{parent}"),
            Self::Api { client } => write!(out, "api:{client}"),
            Self::Operator => out.write_str("operator"),
        }
    }
}
