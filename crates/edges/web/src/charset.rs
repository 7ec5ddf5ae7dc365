//! From bytes to text.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Bytes at the beginning in which a page may name its encoding: four times what the HTML standard asks for (1,024), since real
/// pages have more before it.
const LOOKED_AT: usize = 4096;

/// Where else than in the header an encoding may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Declared {
    /// In the beginning of the text: HTML and XML.
    InTheText,
    /// Nowhere.
    Nowhere,
}

/// The text of some bytes. By their byte order mark, the header, what the text says, and by trying: UTF-8, else Windows-1252.
pub(crate) fn decoded(bytes: &[u8], header: Option<&str>, declared: Declared) -> String {
    let named = || header.and_then(|label| Encoding::for_label(label.as_bytes()));
    let inside = || match declared {
        Declared::InTheText => in_the_text(bytes),
        Declared::Nowhere => None,
    };
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let encoding = marked.or_else(named).or_else(inside).unwrap_or_else(|| {
        match std::str::from_utf8(bytes) {
            Ok(_) => UTF_8,
            // Cut in the middle of a character.
            Err(error) if error.error_len().is_none() => UTF_8,
            Err(_no_utf8) => WINDOWS_1252,
        }
    });
    let (text, _, _) = encoding.decode(bytes);
    text.into_owned()
}

/// `<meta charset=…>`, `<meta http-equiv=… content="…; charset=…">` or `<?xml … encoding="…"?>`.
fn in_the_text(bytes: &[u8]) -> Option<&'static Encoding> {
    let start: String = bytes
        .iter()
        .take(LOOKED_AT)
        .map(|byte| char::from(*byte).to_ascii_lowercase())
        .collect();
    let xml = start
        .strip_prefix("<?xml")
        .and_then(|rest| rest.split("?>").next())
        .and_then(|head| label_after(head, "encoding"));
    let meta = || {
        start
            .split("<meta")
            .skip(1)
            .filter_map(|rest| rest.split('>').next())
            .find_map(|tag| label_after(tag, "charset"))
    };
    let encoding = xml.or_else(meta)?;
    // It can't be UTF-16: the declaration was found in single bytes.
    Some(if encoding.is_ascii_compatible() {
        encoding
    } else {
        UTF_8
    })
}

fn label_after(text: &str, name: &str) -> Option<&'static Encoding> {
    let (_, rest) = text.split_once(name)?;
    let value = rest.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let label = value.split(['"', '\'', ';', ' ', '/', '\n', '\t']).next()?;
    Encoding::for_label(label.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_umlaut_is_read_however_it_was_sent() {
        let latin = b"gr\xfc\xdfe".as_slice();
        let page = |head: &str, body: &[u8]| [head.as_bytes(), body].concat();
        let table: [(Vec<u8>, Option<&str>, &str); 12] = [
            ("grüße".into(), None, "grüße"),
            (latin.to_vec(), None, "grüße"),
            (latin.to_vec(), Some("iso-8859-1"), "grüße"),
            (page("<meta charset=latin1>", latin), None, "grüße"),
            (page("<META CHARSET='iso-8859-15' />", latin), None, "grüße"),
            (
                page(
                    "<meta http-equiv=x content=\"text/html; charset=windows-1252\">",
                    latin,
                ),
                None,
                "grüße",
            ),
            (
                page("<?xml version='1.0' encoding='iso-8859-1'?>", latin),
                None,
                "grüße",
            ),
            (
                page("<meta charset=utf-16>", "grüße".as_bytes()),
                None,
                "grüße",
            ),
            (
                page("\u{feff}<meta charset=latin1>", "grüße".as_bytes()),
                None,
                "grüße",
            ),
            (
                b"\xff\xfeg\0r\0\xfc\0\xdf\0e\0".to_vec(),
                Some("utf-8"),
                "grüße",
            ),
            (b"\x93\xfa\x96\x7b".to_vec(), Some("shift_jis"), "日本"),
            (
                page("<meta charset=no-such-thing>", "grüße".as_bytes()),
                None,
                "grüße",
            ),
        ];
        for (bytes, header, expected) in table {
            let text = decoded(&bytes, header, Declared::InTheText);
            assert!(text.ends_with(expected), "{text:?}, {header:?}");
        }
        assert_eq!(
            decoded("ü".as_bytes().get(..1).unwrap(), None, Declared::Nowhere),
            "\u{fffd}"
        );
    }
}
