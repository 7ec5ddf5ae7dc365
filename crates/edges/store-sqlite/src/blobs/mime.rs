//! What bytes are: the bytes decide, the name helps where they don't say.

/// Bytes that are looked at.
pub(super) const HEAD: usize = 8 << 10;

const UNKNOWN: &str = "application/octet-stream";

/// The type of bytes that begin with `head` and are `size` long.
pub(super) fn sniff(head: &[u8], size: u64, name: &str) -> String {
    let named = mime_guess::from_path(name).first_raw();
    let text = text(head, size);
    if let Some(words) = text
        && is_svg(words)
    {
        return "image/svg+xml".to_owned();
    }
    let seen = infer::get(head).map(|kind| kind.mime_type());
    let mime = match (seen, named) {
        // Many formats are zip files inside; the name says which.
        (Some("application/zip"), Some(named)) if !is_text(named) && !is_plain_picture(named) => {
            named
        }
        (Some("text/xml"), Some(named)) if is_text(named) => named,
        (Some(seen), _) => seen,
        (None, Some(named)) if text.is_some() => {
            if is_text(named) {
                named
            } else {
                "text/plain"
            }
        }
        (None, None) if text.is_some() => "text/plain",
        // A picture that does not begin like one is none.
        (None, Some(named)) if !is_text(named) && !is_plain_picture(named) => named,
        (None, _) => UNKNOWN,
    };
    mime.to_owned()
}

/// The head as text, if it is: UTF-8 without NUL. A character that the head's end cuts is no fault.
fn text(head: &[u8], size: u64) -> Option<&str> {
    let words = match std::str::from_utf8(head) {
        Ok(words) => words,
        Err(error) if error.error_len().is_none() && size > head.len() as u64 => {
            std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    (!words.contains('\0')).then_some(words)
}

/// Whether text is a drawing: its first element is `svg`, after declarations and comments.
fn is_svg(words: &str) -> bool {
    let mut rest = words.trim_start_matches('\u{feff}').trim_start();
    loop {
        let skipped = if let Some(comment) = rest.strip_prefix("<!--") {
            comment.split_once("-->")
        } else if let Some(declaration) = rest.strip_prefix("<?") {
            declaration.split_once("?>")
        } else if rest
            .get(..9)
            .is_some_and(|start| start.eq_ignore_ascii_case("<!doctype"))
        {
            rest.split_once('>')
        } else {
            break;
        };
        match skipped {
            Some((_, after)) => rest = after.trim_start(),
            None => return false,
        }
    }
    rest.strip_prefix("<svg")
        .is_some_and(|after| after.starts_with(|sign: char| sign.is_whitespace() || sign == '>'))
}

fn is_text(mime: &str) -> bool {
    const TEXTS: [&str; 9] = [
        "application/json",
        "application/xml",
        "application/javascript",
        "application/x-javascript",
        "application/toml",
        "application/x-yaml",
        "application/yaml",
        "application/sql",
        "application/x-sh",
    ];
    mime.starts_with("text/")
        || mime.ends_with("+xml")
        || mime.ends_with("+json")
        || TEXTS.contains(&mime)
}

fn is_plain_picture(mime: &str) -> bool {
    matches!(
        mime,
        "image/png" | "image/jpeg" | "image/gif" | "image/webp"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    #[test]
    fn the_bytes_decide_and_the_name_helps() {
        let cases: &[(&[u8], &str, &str)] = &[
            (PNG, "chart.png", "image/png"),
            (PNG, "chart.txt", "image/png"),
            (PNG, "chart", "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "photo.png", "image/jpeg"),
            (b"hello", "notes", "text/plain"),
            (b"hello", "notes.md", "text/markdown"),
            (b"{}", "data.json", "application/json"),
            (b"hello", "picture.png", "text/plain"),
            (b"\x01\x02\0\xff", "picture.png", UNKNOWN),
            (b"\x01\x02\0\xff", "notes.txt", UNKNOWN),
            (b"\x01\x02\0\xff", "data", UNKNOWN),
            (b"", "empty", "text/plain"),
            (b"<!DOCTYPE html><p>x", "x.txt", "text/html"),
            (b"<html><script>", "photo.jpg", "text/html"),
            (b"plain words", "page.html", "text/html"),
            (b"<svg xmlns='x'><script/></svg>", "a.png", "image/svg+xml"),
            (
                b"<?xml version='1.0'?>\n<!-- c -->\n<!DOCTYPE svg PUBLIC 'x'>\n<svg>",
                "a.txt",
                "image/svg+xml",
            ),
            (b"<svgfoo>", "a.txt", "text/plain"),
            (b"<?xml version='1.0'?><rss/>", "feed.xml", "text/xml"),
            (
                b"PK\x03\x04\0\0\0\0",
                "app.apk",
                "application/vnd.android.package-archive",
            ),
            (b"PK\x03\x04\0\0\0\0", "evil.png", "application/zip"),
            (b"%PDF-1.7\n", "report", "application/pdf"),
            ("grüße".as_bytes(), "x", "text/plain"),
        ];
        for (bytes, name, expected) in cases {
            assert_eq!(
                sniff(bytes, bytes.len() as u64, name),
                *expected,
                "{name}: {bytes:?}"
            );
        }
    }

    #[test]
    fn a_character_cut_by_the_heads_end_is_still_text_but_one_cut_by_the_files_end_is_not() {
        let cut = b"abc\xc3";
        assert_eq!(sniff(cut, 9_000, "x"), "text/plain");
        assert_eq!(sniff(cut, 4, "x"), UNKNOWN);
    }
}
