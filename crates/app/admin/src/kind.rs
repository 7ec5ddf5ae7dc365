//! What bytes are, and what a browser may do with them. The bytes decide; a name only helps to describe.

use std::fmt::Write as _;

/// How a page shows a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Look {
    /// In place, as a picture.
    Image,
    /// With a player.
    Audio,
    /// With a player.
    Video,
    /// As a card, to be saved.
    Card,
}

/// The look that a type allows: only what a browser shows without running anything.
pub(crate) fn look(mime: &str) -> Look {
    match mime {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => Look::Image,
        "video/mp4" | "video/webm" => Look::Video,
        sound if sound.starts_with("audio/") => Look::Audio,
        _ => Look::Card,
    }
}

/// The type that the first bytes tell.
fn sniff(head: &[u8]) -> Option<&'static str> {
    infer::get(head).map(|kind| match kind.mime_type() {
        "audio/m4a" | "audio/x-m4a" => "audio/mp4",
        "audio/opus" => "audio/ogg",
        "audio/x-wav" => "audio/wav",
        "audio/x-flac" => "audio/flac",
        other => other,
    })
}

/// What a browser is told: the true type of what it may show in place, `None` for everything that it must save.
pub(crate) fn shown_in_place(head: &[u8]) -> Option<&'static str> {
    sniff(head).filter(|mime| look(mime) != Look::Card)
}

/// A description: from the bytes, else from the name.
pub(crate) fn describe(head: &[u8], name: &str) -> String {
    match sniff(head) {
        Some(mime) => mime.to_owned(),
        None => mime_guess::from_path(name)
            .first_raw()
            // A name alone makes no picture: what the bytes don't show is not shown.
            .filter(|mime| look(mime) == Look::Card)
            .unwrap_or("application/octet-stream")
            .to_owned(),
    }
}

/// Longest name that is kept, in characters.
const LONGEST_NAME: usize = 120;

/// A name as it may be shown and saved under: one component, nothing that hides or turns letters around.
pub(crate) fn shown_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String = last
        .chars()
        .filter(|letter| {
            !letter.is_control()
                && !matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
        })
        .collect();
    let clean = clean.trim().trim_start_matches('.');
    if clean.is_empty() {
        return "file".to_owned();
    }
    let count = clean.chars().count();
    if count <= LONGEST_NAME {
        return clean.to_owned();
    }
    // The ending tells people and programs what it is.
    let head: String = clean.chars().take(LONGEST_NAME - 21).collect();
    let tail: String = clean.chars().skip(count - 20).collect();
    format!("{head}…{tail}")
}

/// Percent-encodes all but unreserved characters (RFC 3986): good in a path and in RFC 5987's `filename*`.
pub(crate) fn percent(text: &str) -> String {
    text.bytes()
        .fold(String::with_capacity(text.len()), |mut out, byte| {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
                out.push(char::from(byte));
            } else {
                // Writing to a String cannot fail.
                write!(out, "%{byte:02X}").unwrap_or_default();
            }
            out
        })
}

/// `Content-Disposition` with the name for old and new programs (RFC 6266).
pub(crate) fn disposition(in_place: bool, name: &str) -> String {
    let name = shown_name(name);
    let plain: String = name
        .chars()
        .map(|letter| {
            if letter.is_ascii_graphic() && !matches!(letter, '"' | '\\' | '%' | ';')
                || letter == ' '
            {
                letter
            } else {
                '_'
            }
        })
        .collect();
    let how = if in_place { "inline" } else { "attachment" };
    format!(
        "{how}; filename=\"{plain}\"; filename*=UTF-8''{}",
        percent(&name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_that_are_pictures_sound_or_film_are_shown_in_place() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        assert_eq!(shown_in_place(png), Some("image/png"));
        assert_eq!(
            shown_in_place(b"OggS\0\x02\0\0\0\0\0\0\0\0"),
            Some("audio/ogg")
        );
        for bytes in [
            b"<html><script>1</script>".as_slice(),
            b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>",
            b"<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>",
            b"%PDF-1.7 ",
            b"PK\x03\x04",
            b"<script>",
            b"",
        ] {
            assert_eq!(
                shown_in_place(bytes),
                None,
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn a_name_makes_no_picture() {
        assert_eq!(
            describe(b"no picture", "cat.png"),
            "application/octet-stream"
        );
        assert_eq!(describe(b"<script>", "cat.png"), "text/html");
        assert_eq!(describe(b"a,b", "table.csv"), "text/csv");
    }

    #[test]
    fn names_that_hide_or_climb_are_made_plain() {
        for (given, shown) in [
            ("../../etc/passwd", "passwd"),
            ("C:\\temp\\a.txt", "a.txt"),
            ("..", "file"),
            ("", "file"),
            ("photo\u{202e}gnp.exe", "photognp.exe"),
            ("a\r\nSet-Cookie: x", "aSet-Cookie: x"),
            (".bashrc", "bashrc"),
            ("über größe.pdf", "über größe.pdf"),
        ] {
            assert_eq!(shown_name(given), shown);
        }
        let long = shown_name(&format!("{}.csv", "ä".repeat(300)));
        assert!(long.ends_with(".csv") && long.chars().count() <= LONGEST_NAME);
    }

    #[test]
    fn a_disposition_is_one_line_of_ascii_whatever_the_name() {
        for name in [
            "plain.txt",
            "über \"x\"; y.txt",
            "日本.png",
            "a\r\nb",
            "100%.txt",
        ] {
            let line = disposition(false, name);
            assert!(line.is_ascii() && !line.contains(['\r', '\n']), "{line}");
            assert_eq!(line.matches('"').count(), 2, "{line}");
        }
        assert!(disposition(true, "日本.png").ends_with("filename*=UTF-8''%E6%97%A5%E6%9C%AC.png"));
    }
}
