//! What a channel can do, graded; the one place where the rest of the house learns of a platform's limits.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use waybill::Limit;

/// What can be found out after an attempt whose answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grade {
    /// Keyed: the platform refuses or merges a repeat with the same key.
    Keyed {
        /// For so long after the first attempt; `None`: for ever. Later it must be asked or the repeat marked.
        window: Option<Duration>,
    },
    /// Reconcilable: the platform can be asked.
    Reconcilable,
    /// Two-phase: what is long or heavy is carried by a placeholder that is edited ([`CarrierRule`]); the rest is as
    /// [`Self::Nothing`].
    TwoPhase,
    /// Nothing: a repeat may show twice, and is marked.
    Nothing,
}

impl Grade {
    /// Whether the platform itself refuses a repeat whose first attempt began so long ago.
    #[must_use]
    pub fn refuses_repeats(self, age: Duration) -> bool {
        match self {
            Self::Keyed { window } => window.is_none_or(|window| age < window),
            Self::Reconcilable | Self::TwoPhase | Self::Nothing => false,
        }
    }
}

/// What to do with a part of which nobody can find out whether it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenUnknown {
    /// It is sent again, marked.
    #[default]
    Repeat,
    /// It is held for the owner.
    Hold,
}

/// Which parts go in two phases: a placeholder without content first, whose id is stored, then an edit that may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarrierRule {
    /// Files of at least so many bytes.
    pub file_bytes: u64,
    /// Texts of a message with at least so many text parts.
    pub text_parts: usize,
}

/// So many calls within any stretch of so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Most calls; at least 1.
    pub calls: u32,
    /// The stretch.
    pub per: Duration,
}

/// How fast a platform lets us speak. Empty lists: as fast as we like.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rates {
    /// All calls of the account.
    pub account: Vec<Rate>,
    /// Calls to one person's chat.
    pub direct: Vec<Rate>,
    /// Calls to one group.
    pub group: Vec<Rate>,
    /// Most attempts of the account on the wire at once.
    pub in_flight: usize,
}

impl Rates {
    /// No windows; at most so many attempts at once.
    #[must_use]
    pub fn unlimited(in_flight: usize) -> Self {
        Self {
            in_flight,
            ..Self::default()
        }
    }
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
    /// How long the platform may still be at work on a call whose answer was lost: "absent" means nothing before that.
    pub settle: Duration,
    /// What goes in two phases; `None`: nothing.
    pub carrier: Option<CarrierRule>,
    /// How fast it lets us speak.
    pub rates: Rates,
    /// What the owner wants done where nobody can find out.
    pub when_unknown: WhenUnknown,
}
