//! What a good request does.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::check::{self, Entity};
use super::files::{DOWNLOAD, UPLOAD, described, photo};
use super::request::{Call, Upload};
use super::state::{Inner, RoomKey, Visible, VisibleFile};
use super::{edit, taps};

/// A refusal in the platform's words.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) description: String,
}

pub(super) fn bad(description: &str) -> Refusal {
    Refusal {
        code: 400,
        description: format!("Bad Request: {description}"),
    }
}

pub(super) fn act(inner: &mut Inner, call: &Call) -> Result<Value, Refusal> {
    let bot = inner
        .bots
        .get_mut(&call.token)
        .ok_or_else(|| bad("no such bot"))?;
    match call.method.as_str() {
        "getMe" => {
            let mut user = bot.user();
            if let Some(fields) = user.as_object_mut() {
                fields.insert("can_join_groups".into(), true.into());
                fields.insert("can_read_all_group_messages".into(), false.into());
                fields.insert("supports_inline_queries".into(), false.into());
            }
            Ok(user)
        }
        "deleteWebhook" => {
            bot.webhook = None;
            if call.param("drop_pending_updates") == &Value::Bool(true) {
                bot.queue.clear();
            }
            Ok(true.into())
        }
        "getFile" => get_file(inner, call),
        "sendChatAction" => action(inner, call),
        "sendMessage" => send_text(inner, call),
        "editMessageText" => edit::text(inner, call),
        "editMessageCaption" => edit::caption(inner, call),
        "editMessageMedia" => edit::media(inner, call),
        "editMessageReplyMarkup" => taps::edit_markup(inner, call),
        "answerCallbackQuery" => taps::answer(inner, call),
        "deleteMessage" => edit::delete(inner, call),
        "sendPhoto" => send_file(inner, call, "photo"),
        "sendDocument" => send_file(inner, call, "document"),
        "sendVoice" => send_file(inner, call, "voice"),
        "sendAudio" => send_file(inner, call, "audio"),
        "sendVideo" => send_file(inner, call, "video"),
        other => Err(bad(&format!("the fake can't do {other}"))),
    }
}

fn get_file(inner: &Inner, call: &Call) -> Result<Value, Refusal> {
    let id = call.param("file_id").as_str().unwrap_or_default();
    let file = inner
        .files
        .get(id)
        .ok_or_else(|| bad("wrong file_id or the file is temporarily unavailable"))?;
    if file.size > DOWNLOAD {
        return Err(bad("file is too big"));
    }
    Ok(
        json!({"file_id": id, "file_unique_id": format!("u{id}"), "file_size": file.size, "file_path": file.path}),
    )
}

/// The room and the topic that a request names.
pub(super) fn room(inner: &Inner, call: &Call) -> Result<(RoomKey, Option<i64>), Refusal> {
    let bot = inner.bots.get(&call.token).map_or(0, |bot| bot.id);
    let key = RoomKey::new(bot, call.chat_id());
    let room = inner.rooms.get(&key).ok_or_else(|| bad("chat not found"))?;
    let thread = call.param("message_thread_id").as_i64();
    // The general topic has the id 1 and must be left out when sending, though not for an action.
    if let Some(thread) = thread
        && !room.topics.contains(&thread)
        && !(thread == 1 && call.method == "sendChatAction")
    {
        return Err(bad("message thread not found"));
    }
    Ok((key, thread))
}

fn action(inner: &mut Inner, call: &Call) -> Result<Value, Refusal> {
    room(inner, call)?;
    match call.param("action").as_str().unwrap_or_default() {
        "typing" | "upload_photo" | "record_video" | "upload_video" | "record_voice"
        | "upload_voice" | "upload_document" | "choose_sticker" | "find_location"
        | "record_video_note" | "upload_video_note" => Ok(true.into()),
        other => {
            inner
                .violations
                .push(format!("unknown chat action '{other}'"));
            Err(bad("wrong parameter action in request"))
        }
    }
}

/// Checks words and their formatting.
pub(super) fn words(
    inner: &mut Inner,
    method: &str,
    text: &str,
    entities: &Value,
    most: usize,
) -> Result<Vec<Entity>, Refusal> {
    let entities = Option::<Vec<Entity>>::deserialize(entities)
        .map_err(|why| bad(&why.to_string()))?
        .unwrap_or_default();
    if text.encode_utf16().count() > most {
        return Err(bad(if most == 4096 {
            "message is too long"
        } else {
            "message caption is too long"
        }));
    }
    if let Err(why) = check::entities(text, &entities) {
        inner.violations.push(format!("{method}: {why}"));
        return Err(bad(&format!("can't parse entities: {why}")));
    }
    Ok(entities)
}

fn send_text(inner: &mut Inner, call: &Call) -> Result<Value, Refusal> {
    let text = call.param("text").as_str().unwrap_or_default().to_owned();
    if text.trim().is_empty() {
        return Err(bad("message text is empty"));
    }
    let entities = words(inner, &call.method, &text, call.param("entities"), 4096)?;
    let mut fields = Map::new();
    fields.insert("text".into(), text.clone().into());
    if !entities.is_empty() {
        fields.insert("entities".into(), call.param("entities").clone());
    }
    show(inner, call, fields, text, entities, None)
}

/// The upload or the stored file that `text` names; without a text, the upload of the field `kind`.
pub(super) fn uploaded(
    inner: &mut Inner,
    call: &Call,
    kind: &str,
    text: Option<&str>,
) -> Result<(String, Upload), Refusal> {
    if let Some(id) = text.filter(|text| !text.starts_with("attach://")) {
        let file = inner
            .files
            .get(id)
            .ok_or_else(|| bad("wrong remote file identifier specified"))?;
        let upload = Upload {
            field: kind.to_owned(),
            name: file.path.clone(),
            mime: None,
            bytes: file.bytes.clone(),
        };
        return Ok((id.to_owned(), upload));
    }
    let part = text
        .and_then(|text| text.strip_prefix("attach://"))
        .unwrap_or(kind);
    let upload = call
        .uploads
        .iter()
        .find(|upload| upload.field == part)
        .cloned()
        .ok_or_else(|| bad("there is no file in the request"))?;
    if upload.bytes.is_empty() {
        return Err(bad("file must be non-empty"));
    }
    let id = inner.keep(kind, &upload.name, upload.bytes.clone());
    Ok((id, upload))
}

/// A file that people see: its description in the message, and itself.
pub(super) fn shown_file(
    inner: &mut Inner,
    call: &Call,
    kind: &str,
    text: Option<&str>,
    caption: &str,
) -> Result<(Value, VisibleFile), Refusal> {
    let (id, upload) = uploaded(inner, call, kind, text)?;
    if upload.bytes.len() > UPLOAD {
        return Err(Refusal {
            code: 413,
            description: "Request Entity Too Large".to_owned(),
        });
    }
    if kind == "photo" {
        photo(&upload.bytes).map_err(bad)?;
    }
    let mime = upload
        .mime
        .clone()
        .unwrap_or_else(|| "application/octet-stream".to_owned());
    let description = described(kind, &id, &upload.name, &mime, upload.bytes.len());
    let file = VisibleFile {
        kind: kind.to_owned(),
        name: upload.name,
        mime: upload.mime,
        bytes: upload.bytes,
        caption: Some(caption.to_owned()).filter(|caption| !caption.is_empty()),
    };
    Ok((description, file))
}

fn send_file(inner: &mut Inner, call: &Call, kind: &str) -> Result<Value, Refusal> {
    let caption = call
        .param("caption")
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let entities = words(
        inner,
        &call.method,
        &caption,
        call.param("caption_entities"),
        1024,
    )?;
    room(inner, call)?;
    let text = call.param(kind).as_str();
    let (description, file) = shown_file(inner, call, kind, text, &caption)?;
    let mut fields = Map::new();
    fields.insert(kind.to_owned(), description);
    if !caption.is_empty() {
        fields.insert("caption".into(), caption.into());
        if !entities.is_empty() {
            let entities = call.param("caption_entities").clone();
            fields.insert("caption_entities".into(), entities);
        }
    }
    show(inner, call, fields, String::new(), entities, Some(file))
}

fn show(
    inner: &mut Inner,
    call: &Call,
    content: Map<String, Value>,
    text: String,
    entities: Vec<Entity>,
    file: Option<VisibleFile>,
) -> Result<Value, Refusal> {
    let buttons = taps::buttons(inner, call)?;
    let (key, thread) = room(inner, call)?;
    let reply = call.param("reply_parameters");
    let wanted = reply.get("message_id").and_then(Value::as_i64);
    let target = inner
        .rooms
        .get(&key)
        .and_then(|room| room.messages.get(&wanted?).cloned());
    let lenient = reply.get("allow_sending_without_reply") == Some(&Value::Bool(true));
    if wanted.is_some() && target.is_none() && !lenient {
        return Err(bad("message to be replied not found"));
    }
    let message_id = inner.message_id(&call.token, key);
    let date = inner.date();
    let (user, author) = inner
        .bots
        .get(&call.token)
        .map(|bot| (bot.user(), bot.username.clone()))
        .unwrap_or_default();
    let room = inner.rooms.entry(key).or_default();
    let mut message =
        json!({"message_id": message_id, "from": user, "chat": room.chat(key.chat), "date": date});
    if let Some(fields) = message.as_object_mut() {
        fields.extend(content);
        if let Some(thread) = thread {
            fields.insert("message_thread_id".into(), thread.into());
            fields.insert("is_topic_message".into(), true.into());
        }
    }
    room.messages.insert(message_id, message.clone());
    room.visible.push(Visible {
        message_id,
        author,
        thread,
        text,
        entities,
        file,
        reply_to: wanted.filter(|_| target.is_some()),
        edited: false,
        buttons,
        silent: call.param("disable_notification") == &Value::Bool(true),
    });
    if let (Some(fields), Some(target)) = (message.as_object_mut(), target) {
        fields.insert("reply_to_message".into(), target);
    }
    Ok(message)
}
