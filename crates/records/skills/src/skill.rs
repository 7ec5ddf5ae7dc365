//! What a `SKILL.md` says.

use crate::{Fault, SkillName, header};

/// The file that makes a folder a skill.
pub const FILE: &str = "SKILL.md";
/// Largest `SKILL.md` in bytes: twelve times what the specification advises (5,000 tokens) in the densest script.
pub const MOST_BYTES: usize = 64 << 10;
/// Longest description in characters (agentskills specification: 1,024).
pub const LONGEST_DESCRIPTION: usize = 1_024;

/// A skill, as its header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name, and its folder's.
    pub name: SkillName,
    /// What it does and when to use it, in one line.
    pub description: String,
}

impl Skill {
    /// Reads a `SKILL.md` that lies in `folder`; also returns what stands below the header.
    ///
    /// # Errors
    /// [`Fault`] for its owner.
    pub fn read<'a>(folder: &str, text: &'a str) -> Result<(Self, &'a str), Fault> {
        if text.len() > MOST_BYTES {
            return Err(Fault::TooLarge);
        }
        let (lines, body) = header::split(text)?;
        if let Some(sign) = markup::unseen(text.trim_start_matches('\u{FEFF}')) {
            return Err(Fault::Unseen(sign));
        }
        let mut fields = header::fields(&lines)?;
        let mut field = |key: &'static str| {
            let text = fields.remove(key).unwrap_or_default();
            let words: Vec<&str> = text.split_whitespace().collect();
            match words.join(" ") {
                text if text.is_empty() => Err(Fault::Missing(key)),
                text => Ok(text),
            }
        };
        let name: SkillName = field("name")?.parse()?;
        let description = field("description")?;
        if name.as_str() != folder {
            return Err(Fault::OtherName {
                name: name.to_string(),
                folder: folder.to_owned(),
            });
        }
        // Escapes in a quoted text may have made it.
        if let Some(sign) = markup::unseen(&description) {
            return Err(Fault::Unseen(sign));
        }
        match description.chars().count() {
            long if long > LONGEST_DESCRIPTION => Err(Fault::LongDescription(long)),
            _ => Ok((Self { name, description }, body.trim())),
        }
    }
}
