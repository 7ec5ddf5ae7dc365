//! Where people talk.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::escape::{escape, unescape};
use crate::{AccountId, KeyError};

macro_rules! opaque {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            /// Takes the platform's id as it is; only the empty text is refused.
            pub fn new(id: impl Into<String>) -> Result<Self, KeyError> {
                let id = id.into();
                if id.is_empty() { Err(KeyError::EmptyPart) } else { Ok(Self(id)) }
            }

            /// The platform's id.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $type {
            type Error = KeyError;
            fn try_from(id: String) -> Result<Self, KeyError> {
                Self::new(id)
            }
        }

        impl From<$type> for String {
            fn from(id: $type) -> Self {
                id.0
            }
        }
    };
}

opaque! {
    /// A platform's id of a conversation: a chat, a room, a mailbox thread.
    Conversation
}
opaque! {
    /// A platform's id of a thread inside a conversation.
    Thread
}

/// Where people talk: an account, a conversation on it, and maybe a thread. Also the lane in which order is promised.
///
/// Text form `ACCOUNT:CONVERSATION[:THREAD]`, each part escaped, so that `decode(encode(k)) == k`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ChatKey {
    /// The login that hears and speaks here.
    pub account: AccountId,
    /// The conversation on the platform.
    pub conversation: Conversation,
    /// The thread inside it, where the platform has threads and this is one.
    pub thread: Option<Thread>,
}

impl ChatKey {
    /// A conversation without a thread.
    #[must_use]
    pub fn new(account: AccountId, conversation: Conversation) -> Self {
        Self {
            account,
            conversation,
            thread: None,
        }
    }

    /// The same conversation, in a thread.
    #[must_use]
    pub fn in_thread(mut self, thread: Thread) -> Self {
        self.thread = Some(thread);
        self
    }
}

impl fmt::Display for ChatKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        escape(self.account.as_str(), &mut text);
        text.push(':');
        escape(self.conversation.as_str(), &mut text);
        if let Some(thread) = &self.thread {
            text.push(':');
            escape(thread.as_str(), &mut text);
        }
        out.write_str(&text)
    }
}

impl FromStr for ChatKey {
    type Err = KeyError;
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let parts: Vec<&str> = text.split(':').collect();
        match parts.as_slice() {
            [account, conversation] => Ok(Self {
                account: unescape(account)?.parse()?,
                conversation: Conversation::new(unescape(conversation)?)?,
                thread: None,
            }),
            [account, conversation, thread] => Ok(Self {
                account: unescape(account)?.parse()?,
                conversation: Conversation::new(unescape(conversation)?)?,
                thread: Some(Thread::new(unescape(thread)?)?),
            }),
            _ => Err(KeyError::Shape {
                expected: "ACCOUNT:CHAT[:THREAD]",
                text: text.to_owned(),
            }),
        }
    }
}

/// A destination as people and programs write it: `ACCOUNT:CHAT[:THREAD]`, `ACCOUNT`, `origin` or `local`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// One chat.
    Chat(ChatKey),
    /// The home chat of an account.
    Home(AccountId),
    /// Where the job or the task was made.
    Origin,
    /// Kept, shown nowhere.
    Local,
}

/// Why a target could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' is not a destination (ACCOUNT:CHAT[:THREAD], ACCOUNT, origin or local): {source}"
)]
pub struct TargetError {
    text: String,
    source: KeyError,
}

impl FromStr for Target {
    type Err = TargetError;
    fn from_str(text: &str) -> Result<Self, TargetError> {
        let refused = |source| TargetError {
            text: text.to_owned(),
            source,
        };
        match text {
            "origin" => Ok(Self::Origin),
            "local" => Ok(Self::Local),
            _ if text.contains(':') => text.parse().map(Self::Chat).map_err(refused),
            _ => text
                .parse()
                .map(Self::Home)
                .map_err(|name: crate::NameError| refused(name.into())),
        }
    }
}
