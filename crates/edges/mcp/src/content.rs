//! What a tool gave back, as words and files within bounds.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use tool::{File, Output};

use crate::text;

/// Bytes of all words of a result. The agent cuts to its own budget; this keeps memory small.
const WORDS: usize = 256 << 10;
/// Files of a result.
const FILES: usize = 20;
/// Bytes of all files of a result.
const BYTES: usize = 12 << 20;
/// Largest text of a resource that stands among the words; a larger one is a file.
const INLINE: usize = 8 << 10;

/// What a call came to.
pub(crate) fn output(result: CallToolResult) -> Output {
    let mut gathered = Gathered::default();
    let structured = result.structured_content.as_ref();
    for block in result.content {
        gathered.block(block);
    }
    // Servers repeat it as text for older clients; what is said already is not said again.
    if let Some(structured) = structured.filter(|one| !gathered.says(one)) {
        gathered.words(&structured.to_string());
    }
    gathered.into_output(result.is_error == Some(true))
}

#[derive(Default)]
struct Gathered {
    text: String,
    files: Vec<File>,
    bytes: usize,
    left_out: usize,
    cut: bool,
}

impl Gathered {
    fn block(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.words(&text.text),
            ContentBlock::Image(image) => self.encoded("image", &image.mime_type, &image.data),
            ContentBlock::Audio(audio) => self.encoded("audio", &audio.mime_type, &audio.data),
            ContentBlock::Resource(embedded) => self.resource(embedded.resource),
            ContentBlock::ResourceLink(link) => {
                let kind = link.mime_type.as_deref().unwrap_or("of no told type");
                self.words(&format!(
                    "[resource {}: {} ({})]",
                    text::line(&link.name, 200),
                    text::line(&link.uri, 1_000),
                    text::line(kind, 100)
                ));
            }
            _ => self.words("[content of a kind that is not known here]"),
        }
    }

    fn resource(&mut self, resource: ResourceContents) {
        match resource {
            ResourceContents::TextResourceContents {
                uri,
                mime_type,
                text: body,
                ..
            } => {
                if body.len() <= INLINE {
                    self.words(&format!("[{}]\n{body}", text::line(&uri, 1_000)));
                } else {
                    let mime = mime_type.unwrap_or_else(|| "text/plain".to_owned());
                    self.file(name_in(&uri), &mime, body.into_bytes());
                }
            }
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => {
                let mime = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
                match decoded(&blob) {
                    Some(bytes) => self.file(name_in(&uri), &mime, bytes),
                    None => self.words("[a resource that is no base64]"),
                }
            }
            _ => self.words("[a resource of a kind that is not known here]"),
        }
    }

    fn encoded(&mut self, what: &str, mime: &str, data: &str) {
        match decoded(data) {
            Some(bytes) => {
                let name = format!("{what}-{}{}", self.files.len() + 1, ending(mime));
                self.file(Some(name), mime, bytes);
            }
            None => self.words(&format!("[{what} that is no base64]")),
        }
    }

    fn file(&mut self, name: Option<String>, mime: &str, bytes: Vec<u8>) {
        if self.files.len() >= FILES || self.bytes.saturating_add(bytes.len()) > BYTES {
            self.left_out += 1;
            return;
        }
        self.bytes += bytes.len();
        let name = name.unwrap_or_else(|| format!("file-{}{}", self.files.len() + 1, ending(mime)));
        self.files.push(File {
            name,
            mime: text::line(mime, 100),
            bytes,
        });
    }

    fn words(&mut self, words: &str) {
        if self.cut {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        let room = WORDS.saturating_sub(self.text.len());
        if words.len() <= room {
            self.text.push_str(words);
            return;
        }
        self.cut = true;
        let end = (0..=room).rev().find(|at| words.is_char_boundary(*at));
        self.text
            .push_str(words.get(..end.unwrap_or(0)).unwrap_or_default());
    }

    fn says(&self, value: &serde_json::Value) -> bool {
        serde_json::from_str::<serde_json::Value>(&self.text).is_ok_and(|said| said == *value)
    }

    fn into_output(mut self, failed: bool) -> Output {
        if self.cut {
            self.text.push_str(&format!(
                "\n[… the rest is left out: a result has {} KB at most …]",
                WORDS >> 10
            ));
        }
        if self.left_out > 0 {
            self.text.push_str(&format!(
                "\n[{} files are left out: a result has {FILES} files and {} MB at most]",
                self.left_out,
                BYTES >> 20
            ));
        }
        Output {
            text: self.text,
            files: self.files,
            failed,
        }
    }
}

fn decoded(data: &str) -> Option<Vec<u8>> {
    let data: String = data.split_ascii_whitespace().collect();
    STANDARD
        .decode(&data)
        .or_else(|_| STANDARD_NO_PAD.decode(&data))
        .ok()
}

/// The last part of an address that may name a file.
fn name_in(uri: &str) -> Option<String> {
    let path = uri.split(['?', '#']).next()?;
    let last = path.rsplit(['/', '\\', ':']).next()?;
    let name: String = text::line(last, 100)
        .chars()
        .map(|sign| {
            if sign.is_alphanumeric() || matches!(sign, '.' | '-' | '_') {
                sign
            } else {
                '_'
            }
        })
        .collect();
    let name = name.trim_start_matches('.');
    (!name.is_empty()).then(|| name.to_owned())
}

/// The usual ending of names of a type, with its dot; none for a type that is rare here.
fn ending(mime: &str) -> &'static str {
    match mime.split(';').next().unwrap_or_default().trim() {
        "image/png" => ".png",
        "image/jpeg" => ".jpg",
        "image/gif" => ".gif",
        "image/webp" => ".webp",
        "image/svg+xml" => ".svg",
        "audio/wav" | "audio/x-wav" | "audio/wave" => ".wav",
        "audio/mpeg" => ".mp3",
        "audio/ogg" => ".ogg",
        "application/pdf" => ".pdf",
        "application/json" => ".json",
        "text/plain" => ".txt",
        "text/csv" => ".csv",
        "text/html" => ".html",
        "text/markdown" => ".md",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn result(value: Value) -> Output {
        output(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn words_pictures_and_resources_are_told_apart() {
        let came = result(json!({ "content": [
            { "type": "text", "text": "one" },
            { "type": "image", "data": "aGk=", "mimeType": "image/png" },
            { "type": "audio", "data": "aGk", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "file:///a/../b%2F c.txt", "text": "small" } },
            { "type": "resource", "resource": { "uri": "x://y/table.csv?v=1", "text": "x".repeat(9_000), "mimeType": "text/csv" } },
            { "type": "resource", "resource": { "uri": "x://..", "blob": "aGk=" } },
            { "type": "resource_link", "uri": "https://example.org/r", "name": "r" },
            { "type": "image", "data": "no base64!", "mimeType": "image/png" },
        ] }));
        let names: Vec<&str> = came.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["image-1.png", "audio-2.wav", "table.csv", "file-4"]);
        assert_eq!(came.files[0].bytes, b"hi");
        assert!(!came.failed);
        for words in ["one\n\n", "small", "https://example.org/r", "no base64"] {
            assert!(came.text.contains(words), "{}", came.text);
        }
    }

    #[test]
    fn structured_content_is_said_once() {
        let value = json!({ "sum": 3 });
        let alone = result(json!({ "content": [], "structuredContent": value }));
        assert_eq!(alone.text, value.to_string());
        let twice = result(json!({
            "content": [{ "type": "text", "text": "{ \"sum\": 3 }" }], "structuredContent": value,
        }));
        assert_eq!(twice.text, "{ \"sum\": 3 }");
        let other = result(json!({
            "content": [{ "type": "text", "text": "three" }], "structuredContent": value, "isError": true,
        }));
        assert_eq!(other.text, "three\n\n{\"sum\":3}");
        assert!(other.failed);
    }

    #[test]
    fn ten_megabytes_of_words_are_cut_at_a_sign() {
        let came = result(json!({ "content": [
            { "type": "text", "text": "中".repeat(4 << 20) },
            { "type": "text", "text": "more" },
        ] }));
        assert!(came.text.len() < WORDS + 200 && came.text.contains("left out"));
    }

    #[test]
    fn a_flood_of_files_is_cut() {
        let blocks: Vec<Value> = (0..50)
            .map(|_| json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" }))
            .collect();
        let came = result(json!({ "content": blocks }));
        assert_eq!(came.files.len(), FILES);
        assert!(came.text.contains("30 files are left out"), "{}", came.text);
    }
}
