//! Cutting text at byte positions that are known to be boundaries; a wrong position gives nothing, never a panic.

/// What stands before `at`.
pub(crate) fn to(text: &str, at: usize) -> &str {
    text.get(..at).unwrap_or_default()
}

/// What stands at and after `at`.
pub(crate) fn from(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// What stands between two positions.
pub(crate) fn between(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}

/// How many bytes at the beginning are the sign `mark`, repeated.
pub(crate) fn run(text: &str, mark: char) -> usize {
    text.len() - text.trim_start_matches(mark).len()
}

/// Whether the text begins with `word`, letters of either case.
pub(crate) fn begins(text: &str, word: &str) -> bool {
    text.get(..word.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(word))
}
