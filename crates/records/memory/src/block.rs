//! What a model reads of the notebooks in every call.

use crate::notebook::size;
use crate::{Notebook, Whose};

/// The part of the fixed prompt about what is remembered; empty where nothing is. The same notebooks give the same text to the
/// byte. What an owner wrote by hand beyond the bound is left out, and it is said.
#[must_use]
pub fn block(profile: &Notebook, person: Option<&Notebook>) -> String {
    let mut text = String::new();
    let mut part = |title: &str, book: &Notebook, most: usize| {
        if book.entries.is_empty() {
            return;
        }
        text.push_str(title);
        let mut left = most;
        for (listed, entry) in book.entries.iter().enumerate() {
            let Some(rest) = left.checked_sub(size(entry)) else {
                let over = book.entries.len() - listed;
                text.push_str(&format!(
                    "({over} more don't fit here; `memory` lists them)\n"
                ));
                break;
            };
            left = rest;
            text.push_str(&format!("{entry}\n"));
        }
    };
    part(
        "\n\n# What you remember\nNotes from before this conversation; they may be out of date.\n",
        profile,
        Whose::Profile.most(),
    );
    if let Some(person) = person {
        part(
            "\n\n# What you remember of the person\n",
            person,
            Whose::PERSON,
        );
    }
    text.truncate(text.trim_end().len());
    text
}
