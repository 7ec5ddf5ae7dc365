//! "Did you mean …?"

/// Words longer than this are no typing mistakes, and comparing them costs time.
const LONGEST: usize = 64;

/// The known word that was most likely meant, if one is near enough: a third of the letters may be wrong.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = word.chars().count();
    if letters > LONGEST {
        return None;
    }
    let word = word.to_lowercase().replace('-', "_");
    known
        .into_iter()
        .map(|candidate| {
            let same = candidate.to_lowercase().replace('-', "_");
            (strsim::osa_distance(&word, &same), candidate)
        })
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= (letters / 3).max(1))
        .map(|(_, candidate)| candidate)
}

/// `; did you mean 'x'?`, or the known words, or nothing.
pub(crate) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(found) = nearest(word, known.clone()) {
        return format!("; did you mean '{found}'?");
    }
    let all: Vec<&str> = known.into_iter().collect();
    if all.is_empty() {
        String::new()
    } else {
        format!("; known here: {}", all.join(", "))
    }
}

/// A word of the file as it can be shown: one line, bounded.
pub(crate) fn shown(word: &str) -> String {
    let mut text: String = word
        .chars()
        .take(LONGEST)
        .flat_map(char::escape_debug)
        .collect();
    if word.chars().count() > LONGEST {
        text.push('…');
    }
    text
}
