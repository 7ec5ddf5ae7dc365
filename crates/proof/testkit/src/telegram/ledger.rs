//! The platform's own book: every call with what became of it, and what people see at the end.

use bytes::Bytes;
use serde_json::{Value, json};

use super::request::Call;
use super::script::Scope;
use super::state::{Inner, Visible, VisibleFile};

/// Bytes of a file that stand in the ledger as they are.
const HEAD: usize = 120;

/// A call in the book. The call itself stands under the same number in `Inner::calls`.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    /// When its head arrived, in milliseconds since 1970.
    pub(super) at: i64,
    pub(super) answered_at: Option<i64>,
    pub(super) trouble: Option<String>,
    pub(super) done: bool,
    pub(super) refusal: Option<String>,
    pub(super) message: Option<i64>,
    pub(super) status: Option<u16>,
    pub(super) wait: Option<(u64, Scope)>,
}

/// Milliseconds since 1970 by the machine's clock, which the product's ledger goes by too.
#[expect(
    clippy::disallowed_methods,
    reason = "the platform has a clock of its own; nobody holds it"
)]
pub(super) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

pub(super) fn ledger(inner: &Inner) -> Value {
    let calls: Vec<Value> = inner
        .calls
        .iter()
        .zip(&inner.entries)
        .map(|(call, entry)| entry_object(call, entry))
        .collect();
    let bot_of = |author: &str| {
        inner
            .bots
            .values()
            .find(|bot| bot.username == author)
            .map_or(0, |bot| bot.id)
    };
    let mut visible: Vec<Value> = Vec::new();
    for (key, room) in &inner.rooms {
        for shown in &room.visible {
            visible.push(visible_object(bot_of(&shown.author), key.chat, shown));
        }
    }
    json!({ "calls": calls, "visible": visible })
}

fn entry_object(call: &Call, entry: &Entry) -> Value {
    let media = call.param("media");
    let text = ["text", "caption"]
        .iter()
        .find_map(|field| call.param(field).as_str())
        .or_else(|| media.get("caption").and_then(Value::as_str))
        .unwrap_or_default();
    let file = call
        .uploads
        .first()
        .map(|upload| file_object(&upload.name, &upload.bytes));
    let parameters = Value::Object(call.params.clone()).to_string();
    json!({
        "at": entry.at,
        "answered_at": entry.answered_at,
        "bot": call.bot(),
        "method": call.method,
        "chat": call.chat_id(),
        "thread": call.param("message_thread_id").as_i64(),
        "parameters": blake3::hash(parameters.as_bytes()).to_hex().as_str(),
        "text": text,
        "file": file,
        "trouble": entry.trouble,
        "done": entry.done,
        "refusal": entry.refusal,
        "message": entry.message,
        "status": entry.status,
        "retry_after": entry.wait.map(|(seconds, _)| seconds),
        "scope": entry.wait.map(|(_, scope)| match scope {
            Scope::Chat => "chat",
            Scope::Bot => "bot",
        }),
    })
}

fn file_object(name: &str, bytes: &Bytes) -> Value {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    json!({
        "name": name,
        "size": bytes.len(),
        "hash": blake3::hash(bytes).to_hex().as_str(),
        "head": String::from_utf8_lossy(head),
    })
}

fn visible_object(bot: i64, chat: i64, shown: &Visible) -> Value {
    let caption = shown.file.as_ref().and_then(|file| file.caption.as_deref());
    json!({
        "bot": bot,
        "chat": chat,
        "message": shown.message_id,
        "thread": shown.thread,
        "text": caption.unwrap_or(&shown.text),
        "file": shown.file.as_ref().map(|VisibleFile { name, bytes, .. }| file_object(name, bytes)),
        "edited": shown.edited,
        "buttons": shown.buttons.iter().flatten().map(|button| button.text.as_str()).collect::<Vec<_>>(),
        "reply_to": shown.reply_to,
    })
}
