//! What is wrong with a skill, in a sentence for its owner.

use crate::{LONGEST_DESCRIPTION, LONGEST_NAME, MOST_BYTES};

/// What is wrong with a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is no `SKILL.md`.
    #[error("it has no SKILL.md")]
    NoFile,
    /// The file, or a folder on the way to it, is a link: it could lead anywhere.
    #[error("{0} is a link; put the files themselves there")]
    Link(String),
    /// It can't be read.
    #[error("SKILL.md can't be read: {0}")]
    Unreadable(String),
    /// It is larger than anybody reads.
    #[error("SKILL.md is larger than {} KB; move parts of it into files beside it", MOST_BYTES >> 10)]
    TooLarge,
    /// It is not UTF-8.
    #[error("SKILL.md is no UTF-8 text")]
    NotText,
    /// It does not begin with a header.
    #[error("SKILL.md does not begin with a header: `---`, `name: …`, `description: …`, `---`")]
    NoHeader,
    /// The header does not end.
    #[error("the header of SKILL.md does not end: a line `---` is missing")]
    Unclosed,
    /// A line of the header is not understood.
    #[error("line {line} of SKILL.md is not understood: {text}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// The line, or the beginning of it.
        text: String,
    },
    /// A field stands in the header twice.
    #[error("the header of SKILL.md says `{0}` twice")]
    Twice(String),
    /// A field is missing or empty.
    #[error("the header of SKILL.md says no `{0}`")]
    Missing(&'static str),
    /// The name can't be one.
    #[error(
        "the name '{0}' can't be one: {LONGEST_NAME} small letters, digits and single hyphens between them at most"
    )]
    Name(String),
    /// The folder is called otherwise.
    #[error(
        "it is called '{name}' in SKILL.md and lies in the folder '{folder}'; the two must be the same"
    )]
    OtherName {
        /// By the header.
        name: String,
        /// By the folder.
        folder: String,
    },
    /// Another skill has the name.
    #[error("another folder has a skill of that name: {0}")]
    Known(String),
    /// The description is too long.
    #[error("its description has {0} characters; {LONGEST_DESCRIPTION} are the most")]
    LongDescription(usize),
    /// There is something in it that nobody sees.
    #[error("SKILL.md holds the hidden character U+{:04X}, behind which somebody could put words that only the model reads", u32::from(*.0))]
    Unseen(char),
}
