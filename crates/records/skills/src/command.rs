//! Each skill is a command of its own.

use crate::{Skill, SkillName};

/// What stands before a skill's name where the name is one of the gateway's own commands.
const PREFIX: &str = "skill-";

/// A message that may call a skill: its first word begins with a slash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invocation<'a> {
    /// The word, without the slash and what follows an `@`.
    pub word: &'a str,
    /// What follows it.
    pub rest: &'a str,
}

/// Reads a message as a command. Whether there is a skill of that name is another question: [`called`].
#[must_use]
pub fn invocation(text: &str) -> Option<Invocation<'_>> {
    let text = text.trim().strip_prefix('/')?;
    let (word, rest) = text
        .split_once(char::is_whitespace)
        .map_or((text, ""), |(word, rest)| (word, rest.trim()));
    let word = word.split('@').next().unwrap_or(word);
    (!word.is_empty()).then_some(Invocation { word, rest })
}

/// The skill that a word means. Case does not count, and `_` stands for `-`, since some chat services know no hyphen in a
/// command.
#[must_use]
pub fn called<'a>(skills: &'a [Skill], word: &str) -> Option<&'a Skill> {
    let word = word.to_ascii_lowercase().replace('_', "-");
    let find = |name: &str| skills.iter().find(|skill| skill.name.as_str() == name);
    find(&word).or_else(|| find(word.strip_prefix(PREFIX)?))
}

/// The command that a skill is, without the slash; `taken` says whether the gateway itself has a command of a name.
#[must_use]
pub fn command(name: &SkillName, taken: impl Fn(&str) -> bool) -> String {
    if taken(name.as_str()) {
        format!("{PREFIX}{name}")
    } else {
        name.to_string()
    }
}
