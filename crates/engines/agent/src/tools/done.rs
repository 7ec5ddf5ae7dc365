//! What a call came to.

use model::{Message, ToolCall};

/// What a call came to.
pub(crate) struct Done {
    pub(crate) text: String,
    pub(crate) failed: bool,
}

impl Done {
    pub(super) fn ok(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            failed: false,
        }
    }

    pub(super) fn failed(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            failed: true,
        }
    }

    /// The result as the model reads it: at most so many characters.
    pub(crate) fn message(&self, call: &ToolCall, most: usize) -> Message {
        Message::Tool {
            call: call.id.clone(),
            name: call.name.clone(),
            content: bounded(&self.text, most),
            failed: self.failed,
        }
    }
}

/// Head and tail of a result that is too long.
fn bounded(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}\n[… {} characters left out …]\n{tail}", count - most)
}
