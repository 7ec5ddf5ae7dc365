//! What a change makes of a notebook.

use waybill::Timestamp;

use crate::{Entry, EntryId, Former, LONGEST_ENTRY, Notebook, Why};

/// One step of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Remember this. What is remembered already, to the letter, stays as it is.
    Add(String),
    /// Remember this in the place of that.
    Replace(EntryId, String),
    /// Remember that no longer.
    Remove(EntryId),
}

/// Why a change was not made; nothing of it was. The text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It says nothing.
    #[error("an entry needs words")]
    Empty,
    /// It is too long for one.
    #[error(
        "an entry has {LONGEST_ENTRY} characters at most, and this one {0}; say it shorter, or keep it in a file"
    )]
    LongEntry(usize),
    /// There is something in it that nobody sees.
    #[error("the text holds the hidden character U+{:04X}; write it without", u32::from(*.0))]
    Unseen(char),
    /// There is no such entry.
    #[error("there is no entry {0}")]
    NoEntry(EntryId),
    /// It does not fit.
    #[error(
        "it would have {would} characters, and {most} are the most; make room in the same call: say two entries in one, shorten or remove some"
    )]
    Full {
        /// So many it would be.
        would: usize,
        /// So many may be.
        most: usize,
    },
}

/// A notebook after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// As it is now.
    pub notebook: Notebook,
    /// What stands in it no longer.
    pub former: Vec<Former>,
}

/// Makes a change, or none of it. `most`: characters that may be there afterwards. A notebook that was over it before (its
/// owner wrote into it by hand) may be changed as long as it gets no larger.
///
/// # Errors
/// [`Refused`].
pub fn apply(
    before: &Notebook,
    changes: &[Change],
    most: usize,
    at: Timestamp,
) -> Result<Changed, Refused> {
    let mut notebook = before.clone();
    let mut former = Vec::new();
    for change in changes {
        match change {
            Change::Add(text) => {
                let text = sound(text)?;
                if !notebook.entries.iter().any(|entry| entry.text == text) {
                    let id = notebook.fresh();
                    notebook.entries.push(Entry { id, text });
                }
            }
            Change::Replace(id, text) => {
                let text = sound(text)?;
                let entry = notebook.entries.iter_mut().find(|entry| entry.id == *id);
                let entry = entry.ok_or(Refused::NoEntry(*id))?;
                if entry.text != text {
                    let old = std::mem::replace(&mut entry.text, text);
                    former.push(gone(*id, old, Why::Replaced, at));
                }
            }
            Change::Remove(id) => {
                let place = notebook.entries.iter().position(|entry| entry.id == *id);
                let entry = notebook.entries.remove(place.ok_or(Refused::NoEntry(*id))?);
                former.push(gone(*id, entry.text, Why::Removed, at));
            }
        }
    }
    let would = notebook.size();
    if would > most && would > before.size() {
        return Err(Refused::Full { would, most });
    }
    Ok(Changed { notebook, former })
}

fn gone(id: EntryId, text: String, why: Why, at: Timestamp) -> Former {
    Former { at, id, why, text }
}

/// A text in one line that may be remembered.
fn sound(text: &str) -> Result<String, Refused> {
    if let Some(sign) = markup::unseen(text) {
        return Err(Refused::Unseen(sign));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    match text.chars().count() {
        0 => Err(Refused::Empty),
        long if long > LONGEST_ENTRY => Err(Refused::LongEntry(long)),
        _ => Ok(text),
    }
}
