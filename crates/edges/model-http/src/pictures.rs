//! Pictures that a provider would refuse. One that is too large must not stop the whole conversation, so words stand for it.

/// The kinds that every provider here takes.
const KINDS: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What stands for a picture that can't be sent; `None` if it can. `largest` is in bytes of base64.
pub(crate) fn refused(mime: &str, base64: &str, largest: usize) -> Option<String> {
    if !KINDS.contains(&mime) {
        return Some("(a picture of a kind that this model can't look at)".to_owned());
    }
    if base64.is_empty() || base64.len() > largest {
        return Some("(a picture that is too large for this model to look at)".to_owned());
    }
    None
}
