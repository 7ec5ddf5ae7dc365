//! What a skill is called.

use std::fmt;
use std::str::FromStr;

use crate::Fault;

/// Longest name in characters (agentskills specification: 64).
pub const LONGEST_NAME: usize = 64;

/// A skill's name: small letters, digits and single hyphens between them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillName(String);

impl SkillName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SkillName {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let sound = !text.is_empty()
            && text.len() <= LONGEST_NAME
            && text.bytes().all(known)
            && !text.starts_with('-')
            && !text.ends_with('-')
            && !text.contains("--");
        if sound {
            Ok(Self(text.to_owned()))
        } else {
            Err(Fault::Name(text.chars().take(LONGEST_NAME + 1).collect()))
        }
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
