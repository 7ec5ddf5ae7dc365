//! What a model reads of the skills in every conversation.

use crate::Skill;

/// Skills that the index names.
pub const MOST_LISTED: usize = 40;
/// Bytes of the index: about 800 tokens of English, and never more than 2,400 of any script.
pub const INDEX_BYTES: usize = 2_400;
/// Characters of a description that the index shows: its first sentence or two.
const SHOWN: usize = 160;

/// A line for each skill, sorted by name, as far as [`MOST_LISTED`] and [`INDEX_BYTES`] go; the last line says how many are
/// left out. Empty if there are none. The same skills give the same text to the byte.
#[must_use]
pub fn index(skills: &[Skill]) -> String {
    let mut sorted: Vec<&Skill> = skills.iter().collect();
    sorted.sort_by(|one, other| one.name.cmp(&other.name));
    let mut text = String::new();
    for (listed, skill) in sorted.iter().enumerate() {
        let line = format!("- {}: {}\n", skill.name, shortened(&skill.description));
        if listed == MOST_LISTED || text.len() + line.len() > INDEX_BYTES {
            let left = sorted.len() - listed;
            text.push_str(&format!("({left} more: call `skill` without a name)\n"));
            break;
        }
        text.push_str(&line);
    }
    text
}

fn shortened(description: &str) -> String {
    if description.chars().count() <= SHOWN {
        return description.to_owned();
    }
    let start: String = description.chars().take(SHOWN - 1).collect();
    let whole_words = start
        .rsplit_once(' ')
        .map_or(start.as_str(), |(words, _)| words);
    format!("{whole_words}…")
}
