//! What is remembered no longer, and can still be found.

use serde::{Deserialize, Serialize};
use waybill::Timestamp;

use crate::EntryId;

/// Bytes of an archive; past it the older half goes. Some 5,000 entries: years.
pub const MOST_ARCHIVE: usize = 1 << 20;

/// Why an entry went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// Another text took its place.
    Replaced,
    /// It was removed.
    Removed,
}

/// An entry as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Former {
    /// When it went.
    pub at: Timestamp,
    /// Its number.
    pub id: EntryId,
    /// Why it went.
    pub why: Why,
    /// What it said.
    pub text: String,
}

/// An archive with more in it: one JSON object a line, oldest first. Over [`MOST_ARCHIVE`] bytes the older half is left out.
#[must_use]
pub fn archive(before: &str, former: &[Former]) -> String {
    let mut text = before.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        // An earlier write was cut off; what follows is not to be lost with it.
        text.push('\n');
    }
    for entry in former {
        // Strings and numbers can always be written.
        if let Ok(line) = serde_json::to_string(entry) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    if text.len() <= MOST_ARCHIVE {
        return text;
    }
    let mut kept = Vec::new();
    let mut size = 0;
    for line in text.lines().rev() {
        size += line.len() + 1;
        if size > MOST_ARCHIVE / 2 {
            break;
        }
        kept.push(line);
    }
    kept.reverse();
    kept.iter().map(|line| format!("{line}\n")).collect()
}

/// Entries of an archive that hold every word of the query, the latest first, at most `most`. Case does not count; lines that
/// can't be read are passed over.
#[must_use]
pub fn search(archive: &str, query: &str, most: usize) -> Vec<Former> {
    let query = query.to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    let entries = archive.lines().rev().filter_map(read);
    let fits = |entry: &Former| {
        let text = entry.text.to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    entries.filter(fits).take(most).collect()
}

/// The highest id in an archive.
pub(crate) fn spent(archive: &str) -> Option<EntryId> {
    archive.lines().filter_map(read).map(|entry| entry.id).max()
}

fn read(line: &str) -> Option<Former> {
    serde_json::from_str(line).ok()
}
