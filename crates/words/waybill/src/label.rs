//! Keys as names for places that bound their length and alphabet: folders, container names, label values.
//!
//! Short keys stay readable; a long or odd one is cut and carries a hash of the whole, so that two different keys
//! never share a name, also on file systems that fold case.

/// Longest name this module makes, in bytes: fits a label value's usual 63 and a folder's 255.
pub const LONGEST: usize = 63;

/// Hexadecimal digits of the hash in a hashed name: 128 bits, beyond any accidental collision.
const DIGITS: usize = 32;

/// A name for `key` of 1 to [`LONGEST`] bytes in `[a-z0-9_.-]`, beginning with a letter or a digit.
///
/// Injective: a readable name comes only from a key that equals it once `:` is written as `.`; every other key gets the
/// form `PREFIX--HASH`, which a readable name never has.
#[must_use]
pub fn name(key: &str) -> String {
    if readable(key) {
        return key.replace(':', ".");
    }
    let hash = blake3::hash(key.as_bytes()).to_hex();
    let mut prefix: String = key
        .chars()
        .map(|sign| sign.to_ascii_lowercase())
        .map(|sign| {
            if sign.is_ascii_lowercase() || sign.is_ascii_digit() {
                sign
            } else {
                '-'
            }
        })
        .take(LONGEST - DIGITS - 3)
        .collect();
    prefix.insert(0, 'h');
    let digits: String = hash.chars().take(DIGITS).collect();
    format!("{prefix}--{digits}")
}

fn readable(key: &str) -> bool {
    let first = key.bytes().next();
    key.len() <= LONGEST
        && first.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && !key.contains("--")
        && key.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b':' | b'_' | b'-')
        })
}
