//! The one escaping that text forms of keys use: injective, readable, safe in file names after [`crate::label`].

use std::fmt::Write as _;

/// Why an escaped part could not be read back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EscapeError {
    /// A `%` is not followed by two hexadecimal digits.
    #[error("'%' must be followed by two hexadecimal digits")]
    Truncated,
    /// The bytes are not UTF-8.
    #[error("the unescaped bytes are not UTF-8")]
    NotUtf8,
    /// A character stands unescaped that the writer would have escaped: the text is not canonical.
    #[error("'{0}' must be escaped")]
    Unescaped(char),
}

fn plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'@' | b'+')
}

/// Every byte outside `[A-Za-z0-9._@+-]` becomes `%XX` (upper-case hexadecimal).
pub(crate) fn escape(part: &str, into: &mut String) {
    for byte in part.bytes() {
        if plain(byte) {
            into.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            write!(into, "%{byte:02X}").unwrap_or_default();
        }
    }
}

/// The exact inverse of [`escape`]; refuses anything that `escape` would not have written.
pub(crate) fn unescape(text: &str) -> Result<String, EscapeError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut input = text.bytes();
    while let Some(byte) = input.next() {
        if byte == b'%' {
            let (Some(high), Some(low)) = (input.next(), input.next()) else {
                return Err(EscapeError::Truncated);
            };
            let value = nibble(high)? << 4 | nibble(low)?;
            if plain(value) {
                return Err(EscapeError::Unescaped('%'));
            }
            bytes.push(value);
        } else if plain(byte) {
            bytes.push(byte);
        } else {
            return Err(EscapeError::Unescaped(char::from(byte)));
        }
    }
    String::from_utf8(bytes).map_err(|_not_utf8| EscapeError::NotUtf8)
}

fn nibble(digit: u8) -> Result<u8, EscapeError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err(EscapeError::Truncated),
    }
}
