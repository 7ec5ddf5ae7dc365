//! What one platform call shows.

use std::fmt;
use std::str::FromStr;

use sandbox::ArtifactRef;
use serde::{Deserialize, Serialize};

use crate::RichText;

/// Frozen text, in the form that the channel's [`crate::Descriptor`] asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// Text with spans.
    Rich(RichText),
    /// Markdown, for channels that render it themselves.
    Markdown(String),
}

impl Body {
    /// The words, without formatting marks where the form has none.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Rich(rich) => &rich.text,
            Self::Markdown(text) => text,
        }
    }

    /// The same words without formatting, where there is some that a platform may refuse.
    #[must_use]
    pub fn plainer(&self) -> Option<Self> {
        match self {
            Self::Rich(rich) if !rich.spans.is_empty() => {
                Some(Self::Rich(RichText::plain(rich.text.clone())))
            }
            Self::Rich(_) | Self::Markdown(_) => None,
        }
    }
}

/// How a file should be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// As its type suggests: pictures as photos, the rest as documents.
    #[default]
    Auto,
    /// As a photo.
    Photo,
    /// As a document, untouched by the platform.
    Document,
    /// As a voice note.
    Voice,
}

/// What one part does. Frozen at enqueue, so that a retry is the same to the byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a part is moved a few times in its life; a box would lengthen every match on it"
)]
pub enum Op {
    /// Shows text.
    Text(Body),
    /// Shows a file, maybe with words under it.
    File {
        /// The bytes.
        artifact: ArtifactRef,
        /// How to show it; never `Auto` once it is frozen.
        shape: Shape,
        /// Words under it.
        caption: Option<Body>,
    },
    /// Asks something: text, and under it the answers that can be chosen with one tap. The text alone says how to answer
    /// without them, for channels that have none.
    Question {
        /// The words.
        body: Body,
        /// Which question: [`crate::Activity::Answered`] names it.
        question: String,
        /// The answers, in order.
        choices: Vec<Choice>,
    },
}

/// An answer that can be chosen with one tap.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Choice {
    /// What comes back with a tap: opaque, of `[a-z0-9.]`, at most 48 bytes (Bot API 10.3 takes 64 bytes of callback data).
    pub token: String,
    /// What the button says; plain text of at most 64 characters.
    pub label: String,
}

impl Op {
    /// The name of the operation in listings: `text`, `photo`, `document`, `voice`, `question`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Question { .. } => "question",
            Self::File {
                shape: Shape::Photo,
                ..
            } => "photo",
            Self::File {
                shape: Shape::Voice,
                ..
            } => "voice",
            Self::File {
                shape: Shape::Auto | Shape::Document,
                ..
            } => "document",
        }
    }

    /// The artifact that must be there for this part to be sent.
    #[must_use]
    pub fn artifact(&self) -> Option<&ArtifactRef> {
        match self {
            Self::Text(_) | Self::Question { .. } => None,
            Self::File { artifact, .. } => Some(artifact),
        }
    }

    /// The words: of a text and of a question all of them, of a file those under it.
    #[must_use]
    pub fn words(&self) -> Option<&Body> {
        match self {
            Self::Text(body) | Self::Question { body, .. } => Some(body),
            Self::File { caption, .. } => caption.as_ref(),
        }
    }
}

impl Op {
    /// The plainer form that is tried once where this one is refused: text without formatting, a photo or a voice note as a
    /// document. `None`: it is plain already.
    #[must_use]
    pub fn plainer(&self) -> Option<Self> {
        match self {
            Self::Text(body) => body.plainer().map(Self::Text),
            Self::Question {
                body,
                question,
                choices,
            } => body.plainer().map(|body| Self::Question {
                body,
                question: question.clone(),
                choices: choices.clone(),
            }),
            Self::File {
                artifact,
                shape,
                caption,
            } => {
                let plain = caption.as_ref().and_then(Body::plainer);
                if *shape == Shape::Document && plain.is_none() {
                    return None;
                }
                Some(Self::File {
                    artifact: artifact.clone(),
                    shape: Shape::Document,
                    caption: plain.or_else(|| caption.clone()),
                })
            }
        }
    }
}

/// In how many phases a part is put on the wire. Frozen with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// In one call.
    #[default]
    Direct,
    /// By a placeholder that is edited.
    Carried,
}

/// What a finished step of a part in several phases left on the platform: the placeholder's or the upload's id, as the
/// adapter wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Step(String);

impl Step {
    /// Takes the adapter's text as it is.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The adapter's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// 128 bits that name one rendition of one part for ever; platforms that know such keys refuse a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IdempotencyKey([u8; 16]);

impl IdempotencyKey {
    /// Takes the finished key.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl FromStr for IdempotencyKey {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not 32 small hexadecimal digits");
        if text.len() != 32
            || !text
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        {
            return Err(wrong());
        }
        u128::from_str_radix(text, 16)
            .map(|value| Self(value.to_be_bytes()))
            .map_err(|_malformed| wrong())
    }
}

impl TryFrom<String> for IdempotencyKey {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<IdempotencyKey> for String {
    fn from(key: IdempotencyKey) -> Self {
        key.to_string()
    }
}
