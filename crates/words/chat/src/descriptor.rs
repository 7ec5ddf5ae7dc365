//! What a channel can do, graded; the one place where the rest of the house learns of a platform's limits.

use serde::{Deserialize, Serialize};
use waybill::Limit;

/// What can be found out after an attempt whose answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grade {
    /// Keyed: the platform refuses or merges a repeat with the same key.
    Keyed,
    /// Reconcilable: the platform can be asked.
    Reconcilable,
    /// Two-phase: a placeholder first, then an edit.
    TwoPhase,
    /// Nothing: a repeat may show twice, and is marked.
    Nothing,
}

/// The form of text that a channel wants frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rendering {
    /// Plain text with spans.
    Rich,
    /// Markdown, which the channel renders itself.
    Markdown,
}

/// When a picture may be sent as a photo; else it goes as a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhotoRule {
    /// Most bytes.
    pub bytes: u64,
    /// MIME types that can be photos.
    pub types: Vec<String>,
}

/// What a channel can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// The kind of channel, as in the configuration.
    pub kind: String,
    /// The form of text.
    pub rendering: Rendering,
    /// Longest text of one part.
    pub text: Limit,
    /// Longest caption under a file; `None` where files have no captions.
    pub caption: Option<Limit>,
    /// Largest file that can be sent, in bytes.
    pub file_out: u64,
    /// Largest file that can be fetched, in bytes.
    pub file_in: u64,
    /// When a picture goes as a photo; `None` where there are no photos.
    pub photo: Option<PhotoRule>,
    /// Types that can be voice notes; empty where there are none.
    pub voice: Vec<String>,
    /// Whether a growing answer can be shown while it is made.
    pub previews: bool,
    /// Whether "is typing" can be shown, and how often it must be renewed, in seconds.
    pub typing_seconds: Option<u64>,
    /// What can be found out after a lost answer.
    pub grade: Grade,
}
