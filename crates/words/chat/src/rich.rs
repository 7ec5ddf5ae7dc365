//! Formatted text as plain text with spans: no markup to escape, and so nothing that a platform can fail to parse.

use serde::{Deserialize, Serialize};

/// How a span looks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// Bold; headings become this.
    Bold,
    /// Italic.
    Italic,
    /// Struck through.
    Strike,
    /// Inline code.
    Code,
    /// A code block, with its language if it was named.
    Pre(Option<String>),
    /// A quotation.
    Quote,
    /// A link to an address.
    Link(String),
}

/// A stretch of text with a style.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// Where it begins, in UTF-16 code units.
    pub offset: usize,
    /// How long it is, in UTF-16 code units.
    pub length: usize,
    /// How it looks.
    pub style: Style,
}

/// Text and its spans, sorted by offset; spans nest or are apart, and never cut a surrogate pair.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct RichText {
    /// What is read; its own plain-text fallback.
    pub text: String,
    /// How it looks.
    pub spans: Vec<Span>,
}

impl RichText {
    /// Text without any formatting.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            spans: Vec::new(),
        }
    }
}
