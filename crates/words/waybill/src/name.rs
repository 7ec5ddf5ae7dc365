//! Names that an owner gives: profiles, accounts, API clients.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No characters at all.
    #[error("a name can't be empty")]
    Empty,
    /// More than 64 bytes.
    #[error("'{0}' is longer than 64 characters")]
    TooLong(String),
    /// A character outside `[a-z0-9_-]`, or a first character that is not a letter or a digit.
    #[error(
        "'{0}' may hold only small letters, digits, '-' and '_', and begins with a letter or a digit"
    )]
    Malformed(String),
}

/// Longest name in bytes; keeps `NAME` usable as a folder name, a label value and a DNS-like slug.
const LONGEST: usize = 64;

fn slug(text: &str) -> Result<(), NameError> {
    let first = text.bytes().next().ok_or(NameError::Empty)?;
    if text.len() > LONGEST {
        return Err(NameError::TooLong(text.to_owned()));
    }
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if good(first)
        && text
            .bytes()
            .all(|byte| good(byte) || byte == b'-' || byte == b'_')
    {
        Ok(())
    } else {
        Err(NameError::Malformed(text.to_owned()))
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            /// Checks and takes a name of 1 to 64 of `[a-z0-9_-]` that begins with a letter or a digit.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                slug(text)?;
                Ok(Self(text.to_owned()))
            }

            /// The name as text.
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

        impl FromStr for $type {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $type {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                slug(&text)?;
                Ok(Self(text))
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0
            }
        }
    };
}

name! {
    /// A tenant's name. `default` is an ordinary profile; there is no fallback to it.
    ProfileId
}
name! {
    /// One login on a channel, by the name its owner gave it.
    AccountId
}
name! {
    /// A program that talks to the gateway's API, by the name of its key.
    ClientId
}
