//! Ids that the gateway makes: sixteen bytes (UUIDv7, so that they sort by time) behind a prefix.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Why a text is not an id of the asked kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The prefix names another kind of thing, or there is none.
    #[error("'{text}' is not an id of this kind: it must begin with '{prefix}'")]
    Prefix {
        /// What was given.
        text: String,
        /// What it must begin with.
        prefix: &'static str,
    },
    /// After the prefix come 32 small hexadecimal digits, and nothing else.
    #[error("'{0}' is not an id: 32 small hexadecimal digits must follow the prefix")]
    Digits(String),
}

macro_rules! id {
    ($(#[$doc:meta])* $type:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(Uuid);

        impl $type {
            /// What the text form begins with.
            pub const PREFIX: &'static str = $prefix;

            /// Takes a fresh value from the [`crate::Ids`] port.
            #[must_use]
            pub fn fresh(ids: &dyn crate::Ids) -> Self {
                Self(ids.uuid())
            }

            /// The sixteen bytes, for a key in the store.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "{}{}", $prefix, self.0.simple())
            }
        }

        impl FromStr for $type {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                let digits = text.strip_prefix($prefix).ok_or_else(|| IdError::Prefix {
                    text: text.to_owned(),
                    prefix: $prefix,
                })?;
                let canonical = digits.len() == 32
                    && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
                if !canonical {
                    return Err(IdError::Digits(text.to_owned()));
                }
                Uuid::try_parse(digits).map(Self).map_err(|_malformed| IdError::Digits(text.to_owned()))
            }
        }

        impl TryFrom<String> for $type {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(id: $type) -> Self {
                id.to_string()
            }
        }
    };
}

id! {
    /// One stretch of a conversation; a new one is made by `/new`.
    SessionId, "ses_"
}
id! {
    /// One request handled to its end.
    TurnId, "trn_"
}
id! {
    /// A unit of tool state inside a turn: the turn itself, or a subagent.
    TaskId, "tsk_"
}
id! {
    /// One logical thing that a person should see.
    MessageId, "msg_"
}
id! {
    /// A scheduled job.
    JobId, "job_"
}
