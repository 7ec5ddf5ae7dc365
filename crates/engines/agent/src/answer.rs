//! The answer while it is put together: words, and one chance to correct what could not be attached.

use crate::attach::{Gathered, Told};
use crate::step::Step;

/// What the model is told when files of its answer could not be attached; marks them as told.
pub(crate) fn correction(gathered: &mut Gathered) -> Option<String> {
    let mut lines = Vec::new();
    for refused in gathered
        .0
        .refused
        .iter_mut()
        .filter(|refused| !refused.told)
    {
        refused.told = true;
        lines.push(match &refused.hint {
            Some(hint) => format!("- {}: {} ({hint})", refused.name, refused.reason),
            None => format!("- {}: {}", refused.name, refused.reason),
        });
    }
    if lines.is_empty() {
        return None;
    }
    Some(format!(
        "[gateway] Your answer is kept, but these files could not be attached:\n{}\nThis is the one chance to correct it: \
         answer with MEDIA: lines of the right paths and nothing else (you may use tools first), or with one short sentence \
         for the person about what is missing. It is added below your answer.",
        lines.join("\n")
    ))
}

/// Notes in `gathered` what a step's directives came to, and returns the step's words for the person.
pub(crate) fn gather(gathered: &mut Gathered, number: u32, step: &Step) -> String {
    let mut chosen = Vec::with_capacity(step.resolved.len());
    for resolved in &step.resolved {
        chosen.push(resolved.reading);
        for refused in &resolved.refused {
            gathered.refuse(number, refused.clone(), Told::No);
        }
        for note in &resolved.notes {
            gathered.note(Some(note.clone()));
        }
        for artifact in &resolved.taken {
            let shape = step.parsed.flags.shape(&artifact.blob.mime);
            gathered.take(number, artifact.clone(), shape, None);
        }
    }
    let words = step.parsed.text_with(&chosen);
    if words.chars().all(is_blank) {
        return String::new();
    }
    words.trim().to_owned()
}

/// What no one can see; platforms refuse a message of nothing else.
fn is_blank(character: char) -> bool {
    character.is_whitespace()
        || matches!(
            character,
            '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{00ad}'
        )
}

/// Adds words below others; words that only repeat them are left out.
pub(crate) fn add_below(answer: &mut String, words: &str) {
    if words.is_empty() || answer.trim() == words {
        return;
    }
    if !answer.is_empty() {
        answer.push_str("\n\n");
    }
    answer.push_str(words);
}
