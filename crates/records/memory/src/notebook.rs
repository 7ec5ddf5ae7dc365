//! Entries, and the file in which an owner can read and change them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::former::spent;

/// Longest entry in characters: a few sentences. What is longer belongs into a file.
pub const LONGEST_ENTRY: usize = 600;

/// What a notebook's file begins with.
const TITLE: &str =
    "# What is remembered, one entry a line. Lines can be changed, added and removed by hand.";
/// Before the next id, in the file's second line.
const NEXT: &str = "# next: ";

/// An entry's number. Text form `m3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EntryId(pub u32);

/// A text is no entry's number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no entry's id: those look like m3")]
pub struct NoEntryId(String);

impl FromStr for EntryId {
    type Err = NoEntryId;
    fn from_str(text: &str) -> Result<Self, NoEntryId> {
        let wrong = || NoEntryId(text.chars().take(40).collect());
        let digits = text.strip_prefix('m').ok_or_else(wrong)?;
        let number: u32 = digits.parse().map_err(|_no_number| wrong())?;
        // One way to write each.
        if number.to_string() == digits {
            Ok(Self(number))
        } else {
            Err(wrong())
        }
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "m{}", self.0)
    }
}

impl TryFrom<String> for EntryId {
    type Error = NoEntryId;
    fn try_from(text: String) -> Result<Self, NoEntryId> {
        text.parse()
    }
}

impl From<EntryId> for String {
    fn from(id: EntryId) -> Self {
        id.to_string()
    }
}

/// One thing that is remembered: one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number in its notebook.
    pub id: EntryId,
    /// What is remembered.
    pub text: String,
}

impl fmt::Display for Entry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.id, self.text)
    }
}

/// What is remembered for one profile or one person.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notebook {
    pub(crate) entries: Vec<Entry>,
    /// The next id's number.
    pub(crate) next: u32,
}

impl Notebook {
    /// Reads a notebook's file. Any text is one: a line without an id gets one, and so does one whose id another line has;
    /// what nobody would see is left out. `archive`: what stood in it before, so that no id is given again.
    #[must_use]
    pub fn read(text: &str, archive: &str) -> Self {
        let mut next = spent(archive).map_or(1, |id| id.0.saturating_add(1));
        let mut lines: Vec<(Option<EntryId>, String)> = Vec::new();
        let mut known = BTreeSet::new();
        for line in text.lines() {
            if let Some(said) = line.strip_prefix(NEXT) {
                next = next.max(said.trim().parse::<EntryId>().map_or(0, |id| id.0));
                continue;
            }
            if line.trim_start().starts_with('#') {
                continue;
            }
            let (id, text) = match line.split_once(": ") {
                Some((id, text)) => match id.trim().parse::<EntryId>() {
                    Ok(id) => (Some(id).filter(|id| known.insert(*id)), text),
                    Err(_words) => (None, line),
                },
                None => (None, line),
            };
            let text = tidy(text);
            if !text.is_empty() {
                lines.push((id, text));
            }
        }
        let highest = known.last().map_or(0, |id| id.0);
        let mut book = Self {
            entries: Vec::with_capacity(lines.len()),
            next: next.max(highest.saturating_add(1)),
        };
        for (id, text) in lines {
            let id = id.unwrap_or_else(|| book.fresh());
            book.entries.push(Entry { id, text });
        }
        book
    }

    /// The file.
    #[must_use]
    pub fn write(&self) -> String {
        let mut text = format!("{TITLE}\n{NEXT}{}\n", EntryId(self.next));
        for entry in &self.entries {
            text.push_str(&format!("{entry}\n"));
        }
        text
    }

    /// What is remembered, in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Its characters, as a model reads them.
    #[must_use]
    pub fn size(&self) -> usize {
        self.entries.iter().map(size).sum()
    }

    pub(crate) fn fresh(&mut self) -> EntryId {
        let id = EntryId(self.next);
        self.next = self.next.saturating_add(1);
        id
    }
}

/// Characters of an entry's line.
pub(crate) fn size(entry: &Entry) -> usize {
    entry.to_string().chars().count() + 1
}

/// One line without what nobody would see.
fn tidy(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some(sign) = markup::unseen(&text) {
        text.retain(|other| other != sign);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
