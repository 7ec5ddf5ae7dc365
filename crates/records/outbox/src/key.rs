//! Keys that are derived, never random, so that a step that runs twice makes the same parts.

use chat::IdempotencyKey;

/// Key of one rendition of one part: the first 128 bits of BLAKE3 over the installation, the source, the ordinal, the
/// part's number and the rendition, each with its length before it so that no two lists of fields read alike.
///
/// `rendition` counts fallback forms and marked repeats: their content differs, and a platform that knows the key must
/// not meet another content under it.
#[must_use]
pub fn part_key(
    install: &str,
    source: &str,
    ordinal: u32,
    part: u32,
    rendition: u32,
) -> IdempotencyKey {
    let mut hasher = blake3::Hasher::new();
    for field in [install, source] {
        hasher.update(&(field.len() as u64).to_be_bytes());
        hasher.update(field.as_bytes());
    }
    for number in [ordinal, part, rendition] {
        hasher.update(&number.to_be_bytes());
    }
    let mut first = [0; 16];
    hasher.finalize_xof().fill(&mut first);
    IdempotencyKey::new(first)
}

/// Key of a marked repeat: another content than the first attempt's, so another key.
#[must_use]
pub fn repeat_key(key: IdempotencyKey, attempt: u32) -> IdempotencyKey {
    let mut hasher = blake3::Hasher::new();
    hasher.update(key.as_bytes());
    hasher.update(&attempt.to_be_bytes());
    let mut first = [0; 16];
    hasher.finalize_xof().fill(&mut first);
    IdempotencyKey::new(first)
}
