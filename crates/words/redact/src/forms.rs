//! The ways in which people and programs write a value.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use crate::SHORTEST;

/// Shortest line of a value of many lines that is looked for by itself; shorter ones are words that anybody may say.
const SHORTEST_LINE: usize = 16;

/// Every form of a value, as bytes without line breaks. A value shorter than [`SHORTEST`] has none.
pub(crate) fn forms(value: &str) -> BTreeSet<Vec<u8>> {
    let value = value.trim();
    let mut forms = BTreeSet::new();
    if value.len() < SHORTEST {
        return forms;
    }
    let bytes = value.as_bytes();
    let mut add = |form: Vec<u8>| {
        let form: Vec<u8> = form
            .into_iter()
            .filter(|byte| !matches!(byte, b'\r' | b'\n'))
            .collect();
        if form.len() >= SHORTEST {
            forms.insert(form);
        }
    };
    add(bytes.to_vec());
    for form in lines(value).into_iter().chain(quoted(value)) {
        add(form.into_bytes());
    }
    for form in base64(bytes) {
        add(form);
    }
    add(spelled(bytes, |byte| format!("{byte:02x}")));
    add(spelled(bytes, |byte| format!("{byte:02X}")));
    for form in percent(bytes) {
        add(form);
    }
    forms
}

/// Lines of a key file, but for its first and last, which are no secret.
fn lines(value: &str) -> Vec<String> {
    let lines: Vec<&str> = value.lines().map(str::trim).collect();
    if lines.len() < 2 {
        return Vec::new();
    }
    lines
        .into_iter()
        .filter(|line| line.len() >= SHORTEST_LINE && !line.starts_with("-----"))
        .map(str::to_owned)
        .collect()
}

/// As JSON (with and without other letters escaped) and as a shell would print it.
fn quoted(value: &str) -> [String; 4] {
    let json = |ascii: bool| -> String {
        let mut text = String::new();
        for sign in value.chars() {
            match sign {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                sign if sign.is_control() || (ascii && !sign.is_ascii()) => {
                    let mut units = [0; 2];
                    for unit in sign.encode_utf16(&mut units) {
                        text.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                sign => text.push(sign),
            }
        }
        text
    };
    let plain = json(false);
    let slashes = plain.replace('/', "\\/");
    [plain, json(true), slashes, value.replace('\'', "'\\''")]
}

/// Base64 of both alphabets: alone, and in the middle of something longer, where the signs at its ends depend on the
/// neighbours and only those between are looked for.
fn base64(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for engine in [STANDARD, URL_SAFE] {
        forms.push(engine.encode(bytes).into_bytes());
    }
    for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        forms.push(engine.encode(bytes).into_bytes());
        // So many bytes of a neighbour stand in the first group of three; so many signs are then not ours alone.
        for (before, foreign) in [(0, 0), (1, 2), (2, 3)] {
            let mut shifted = vec![0; before];
            shifted.extend_from_slice(bytes);
            let whole = shifted.len() * 8 / 6;
            let encoded = engine.encode(shifted).into_bytes();
            forms.push(encoded.into_iter().take(whole).skip(foreign).collect());
        }
    }
    forms
}

fn spelled(bytes: &[u8], digits: impl Fn(u8) -> String) -> Vec<u8> {
    bytes
        .iter()
        .flat_map(|byte| digits(*byte).into_bytes())
        .collect()
}

/// As part of a URL: by RFC 3986, as scripts in pages do it, as forms do it, and with every byte escaped.
fn percent(bytes: &[u8]) -> Vec<Vec<u8>> {
    let unreserved =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    let script =
        move |byte: u8| unreserved(byte) || matches!(byte, b'!' | b'*' | b'\'' | b'(' | b')');
    // Whole URLs keep what separates their parts.
    let whole = move |byte: u8| {
        script(byte)
            || matches!(
                byte,
                b'/' | b':' | b'@' | b'&' | b'=' | b'+' | b'$' | b',' | b';' | b'?' | b'#'
            )
    };
    let path = move |byte: u8| unreserved(byte) || byte == b'/';
    let bare = |byte: u8| byte.is_ascii_alphanumeric();
    let nothing = |_byte: u8| false;
    let keeps: [&dyn Fn(u8) -> bool; 6] = [&unreserved, &script, &whole, &path, &bare, &nothing];
    let mut forms = Vec::new();
    for keep in keeps {
        for upper in [true, false] {
            let escaped = |byte: u8| {
                if upper {
                    format!("%{byte:02X}")
                } else {
                    format!("%{byte:02x}")
                }
            };
            let kept = |byte: u8| {
                if keep(byte) {
                    char::from(byte).to_string()
                } else {
                    escaped(byte)
                }
            };
            forms.push(spelled(bytes, kept));
            forms.push(spelled(bytes, |byte| match byte {
                b' ' => "+".to_owned(),
                byte => kept(byte),
            }));
        }
    }
    forms
}
