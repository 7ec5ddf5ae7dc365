//! What an answer is: a page, text, or a file.

/// What is done with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Read as a page.
    Page,
    /// Shown as it is.
    Text,
    /// Not shown at all.
    File,
}

/// A content type: `text/html; charset=utf-8`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ContentType {
    /// `text/html`, in small letters; empty if nobody said.
    pub(crate) mime: String,
    pub(crate) charset: Option<String>,
}

/// Longest type that is believed to be one.
const LONGEST: usize = 100;

impl ContentType {
    pub(crate) fn parse(header: Option<&str>) -> Self {
        let header = header.unwrap_or_default();
        let mut parts = header.split(';').map(str::trim);
        let mime = parts.next().unwrap_or_default().to_ascii_lowercase();
        let known = |sign: char| sign.is_ascii_alphanumeric() || "/+-._".contains(sign);
        let sound = mime.len() <= LONGEST && mime.contains('/') && mime.chars().all(known);
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            let named = name.trim().eq_ignore_ascii_case("charset");
            named.then(|| value.trim().trim_matches(['"', '\'']).to_owned())
        });
        Self {
            mime: if sound { mime } else { String::new() },
            charset,
        }
    }

    /// What it says; `None` where the bytes have to be looked at.
    pub(crate) fn kind(&self) -> Option<Kind> {
        let mime = self.mime.as_str();
        match mime {
            "" | "application/octet-stream" | "application/x-unknown" | "unknown/unknown" => None,
            "text/html" | "application/xhtml+xml" => Some(Kind::Page),
            "application/json"
            | "application/ld+json"
            | "application/x-ndjson"
            | "application/jsonl"
            | "application/xml"
            | "application/javascript"
            | "application/x-javascript"
            | "application/ecmascript"
            | "application/yaml"
            | "application/x-yaml"
            | "application/toml"
            | "application/sql"
            | "application/x-sh"
            | "application/x-httpd-php"
            | "application/graphql"
            | "image/svg+xml" => Some(Kind::Text),
            _ if mime.starts_with("text/") => Some(Kind::Text),
            _ if mime.ends_with("+json") || mime.ends_with("+xml") || mime.ends_with("+yaml") => {
                Some(Kind::Text)
            }
            _ => Some(Kind::File),
        }
    }
}

/// Bytes that are looked at.
const LOOKED_AT: usize = 1024;

/// What bytes are that nobody called anything.
pub(crate) fn sniffed(bytes: &[u8]) -> (Kind, &'static str) {
    let start: Vec<u8> = bytes.iter().copied().take(LOOKED_AT).collect();
    let marked = encoding_rs::Encoding::for_bom(&start).is_some();
    let strange = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    if !marked && start.iter().any(strange) {
        return (Kind::File, "application/octet-stream");
    }
    let text = String::from_utf8_lossy(&start).to_ascii_lowercase();
    let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    let page = ["<!doctype html", "<html", "<head", "<body"];
    if page.iter().any(|begin| text.starts_with(begin)) {
        return (Kind::Page, "text/html");
    }
    (Kind::Text, "text/plain")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types() {
        for (header, mime, charset, kind) in [
            (
                Some("text/html; charset=UTF-8"),
                "text/html",
                Some("UTF-8"),
                Some(Kind::Page),
            ),
            (
                Some("TEXT/HTML;x=y; Charset=\"latin1\""),
                "text/html",
                Some("latin1"),
                Some(Kind::Page),
            ),
            (
                Some("application/json"),
                "application/json",
                None,
                Some(Kind::Text),
            ),
            (
                Some("application/problem+json"),
                "application/problem+json",
                None,
                Some(Kind::Text),
            ),
            (
                Some("application/rss+xml"),
                "application/rss+xml",
                None,
                Some(Kind::Text),
            ),
            (Some("text/csv"), "text/csv", None, Some(Kind::Text)),
            (
                Some("application/pdf"),
                "application/pdf",
                None,
                Some(Kind::File),
            ),
            (Some("image/png"), "image/png", None, Some(Kind::File)),
            (
                Some("application/octet-stream"),
                "application/octet-stream",
                None,
                None,
            ),
            (Some("<script>/x"), "", None, None),
            (Some(""), "", None, None),
            (None, "", None, None),
        ] {
            let parsed = ContentType::parse(header);
            assert_eq!(parsed.mime, mime, "{header:?}");
            assert_eq!(parsed.charset.as_deref(), charset, "{header:?}");
            assert_eq!(parsed.kind(), kind, "{header:?}");
        }
    }

    #[test]
    fn bytes_that_nobody_called_anything() {
        for (bytes, kind) in [
            (&b"\n <!DOCTYPE html><p>x"[..], Kind::Page),
            (b"\xef\xbb\xbf<html>", Kind::Page),
            (b"plain words", Kind::Text),
            (b"gr\xfc\xdfe", Kind::Text),
            (b"\xff\xfeg\0r\0", Kind::Text),
            (b"", Kind::Text),
            (b"%PDF-1.7\n\x00", Kind::File),
            (b"\x89PNG\r\n\x1a\n\x00", Kind::File),
        ] {
            assert_eq!(sniffed(bytes).0, kind, "{bytes:?}");
        }
    }
}
