//! Length limits in the unit that a platform counts in.

use serde::{Deserialize, Serialize};

/// How much text fits, in the platform's own unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// UTF-16 code units.
    Utf16(usize),
    /// Unicode scalar values.
    Chars(usize),
    /// Bytes of UTF-8.
    Bytes(usize),
}

impl Limit {
    /// The size of a text in this limit's unit.
    #[must_use]
    pub fn measure(self, text: &str) -> usize {
        match self {
            Self::Utf16(_) => text.encode_utf16().count(),
            Self::Chars(_) => text.chars().count(),
            Self::Bytes(_) => text.len(),
        }
    }

    /// How many units fit.
    #[must_use]
    pub fn most(self) -> usize {
        match self {
            Self::Utf16(most) | Self::Chars(most) | Self::Bytes(most) => most,
        }
    }

    /// Whether a text fits.
    #[must_use]
    pub fn fits(self, text: &str) -> bool {
        self.measure(text) <= self.most()
    }
}
