//! Files by id, and what the platform says of a picture.

use bytes::Bytes;
use serde_json::{Value, json};

/// A file that the platform keeps.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) path: String,
    pub(super) bytes: Bytes,
    /// What getFile says; a test may lie about it.
    pub(super) size: u64,
}

/// Largest file that getFile gives (Bot API: 20 MB).
pub(super) const DOWNLOAD: u64 = 20 << 20;
/// Largest upload (Bot API: 50 MB).
pub(super) const UPLOAD: usize = 50 << 20;
/// Largest photo (Bot API: 10 MB).
pub(super) const PHOTO: usize = 10 << 20;

/// Whether bytes would be taken as a photo; the error is the platform's description.
pub(super) fn photo(bytes: &[u8]) -> Result<(u32, u32), &'static str> {
    if bytes.len() > PHOTO {
        return Err("file is too big");
    }
    let number = |at: usize| {
        bytes
            .get(at..at + 4)
            .and_then(|four| four.try_into().ok())
            .map_or(0, u32::from_be_bytes)
    };
    let size = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        (number(16), number(20))
    } else if bytes.starts_with(b"\xff\xd8\xff") || bytes.starts_with(b"RIFF") {
        (640, 480)
    } else {
        return Err("IMAGE_PROCESS_FAILED");
    };
    let (short, long) = (size.0.min(size.1), size.0.max(size.1));
    if short == 0 || long + short > 10_000 || long > short.saturating_mul(20) {
        return Err("PHOTO_INVALID_DIMENSIONS");
    }
    Ok(size)
}

/// The description of a file inside a message.
pub(super) fn described(kind: &str, id: &str, name: &str, mime: &str, size: usize) -> Value {
    let unique = format!("u{id}");
    match kind {
        "photo" => json!([
            {"file_id": format!("{id}-small"), "file_unique_id": format!("{unique}-small"), "width": 90, "height": 60, "file_size": size.min(900)},
            {"file_id": id, "file_unique_id": unique, "width": 640, "height": 480, "file_size": size},
        ]),
        "voice" => {
            json!({"file_id": id, "file_unique_id": unique, "duration": 3, "mime_type": mime, "file_size": size})
        }
        "audio" => {
            json!({"file_id": id, "file_unique_id": unique, "duration": 3, "file_name": name, "mime_type": mime, "file_size": size})
        }
        "video" => {
            json!({"file_id": id, "file_unique_id": unique, "width": 640, "height": 480, "duration": 3, "file_name": name, "mime_type": mime, "file_size": size})
        }
        _ => {
            json!({"file_id": id, "file_unique_id": unique, "file_name": name, "mime_type": mime, "file_size": size})
        }
    }
}
