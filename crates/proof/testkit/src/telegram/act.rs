//! What a good request does.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::check::{self, Entity};
use super::files::{DOWNLOAD, UPLOAD, described, photo};
use super::request::{Call, Upload};
use super::state::{Inner, RoomKey, Visible, VisibleFile};

/// A refusal in the platform's words.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) description: String,
}

fn bad(description: &str) -> Refusal {
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
        "editMessageText" => edit(inner, call),
        "deleteMessage" => delete(inner, call),
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
fn room(inner: &Inner, call: &Call) -> Result<(RoomKey, Option<i64>), Refusal> {
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
fn words(
    inner: &mut Inner,
    call: &Call,
    text: &str,
    entities: &str,
    most: usize,
) -> Result<Vec<Entity>, Refusal> {
    let entities = Option::<Vec<Entity>>::deserialize(call.param(entities))
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
        inner.violations.push(format!("{}: {why}", call.method));
        return Err(bad(&format!("can't parse entities: {why}")));
    }
    Ok(entities)
}

fn send_text(inner: &mut Inner, call: &Call) -> Result<Value, Refusal> {
    let text = call.param("text").as_str().unwrap_or_default().to_owned();
    if text.trim().is_empty() {
        return Err(bad("message text is empty"));
    }
    let entities = words(inner, call, &text, "entities", 4096)?;
    let mut fields = Map::new();
    fields.insert("text".into(), text.clone().into());
    if !entities.is_empty() {
        fields.insert("entities".into(), call.param("entities").clone());
    }
    show(inner, call, fields, text, entities, None)
}

/// The upload or the stored file that a field names.
fn uploaded(inner: &mut Inner, call: &Call, field: &str) -> Result<(String, Upload), Refusal> {
    let text = call.param(field).as_str();
    if let Some(id) = text.filter(|text| !text.starts_with("attach://")) {
        let file = inner
            .files
            .get(id)
            .ok_or_else(|| bad("wrong remote file identifier specified"))?;
        let upload = Upload {
            field: field.to_owned(),
            name: file.path.clone(),
            mime: None,
            bytes: file.bytes.clone(),
        };
        return Ok((id.to_owned(), upload));
    }
    let part = text
        .and_then(|text| text.strip_prefix("attach://"))
        .unwrap_or(field);
    let upload = call
        .uploads
        .iter()
        .find(|upload| upload.field == part)
        .cloned()
        .ok_or_else(|| bad("there is no file in the request"))?;
    if upload.bytes.is_empty() {
        return Err(bad("file must be non-empty"));
    }
    let id = inner.keep(field, &upload.name, upload.bytes.clone());
    Ok((id, upload))
}

fn send_file(inner: &mut Inner, call: &Call, kind: &str) -> Result<Value, Refusal> {
    let caption = call
        .param("caption")
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let entities = words(inner, call, &caption, "caption_entities", 1024)?;
    room(inner, call)?;
    let (id, upload) = uploaded(inner, call, kind)?;
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
    let mut fields = Map::new();
    let file = described(kind, &id, &upload.name, &mime, upload.bytes.len());
    fields.insert(kind.to_owned(), file);
    if !caption.is_empty() {
        fields.insert("caption".into(), caption.clone().into());
        if !entities.is_empty() {
            let entities = call.param("caption_entities").clone();
            fields.insert("caption_entities".into(), entities);
        }
    }
    let file = VisibleFile {
        kind: kind.to_owned(),
        name: upload.name,
        mime: upload.mime,
        bytes: upload.bytes,
        caption: Some(caption).filter(|caption| !caption.is_empty()),
    };
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
        silent: call.param("disable_notification") == &Value::Bool(true),
    });
    if let (Some(fields), Some(target)) = (message.as_object_mut(), target) {
        fields.insert("reply_to_message".into(), target);
    }
    Ok(message)
}

fn edit(inner: &mut Inner, call: &Call) -> Result<Value, Refusal> {
    let text = call.param("text").as_str().unwrap_or_default().to_owned();
    if text.trim().is_empty() {
        return Err(bad("message text is empty"));
    }
    let entities = words(inner, call, &text, "entities", 4096)?;
    let (key, _) = room(inner, call)?;
    let author = inner.bots.get(&call.token).map(|bot| bot.username.clone());
    let date = inner.date();
    let id = call.param("message_id").as_i64().unwrap_or_default();
    let room = inner.rooms.entry(key).or_default();
    let shown = room
        .visible
        .iter_mut()
        .find(|shown| shown.message_id == id)
        .ok_or_else(|| bad("message to edit not found"))?;
    if Some(&shown.author) != author.as_ref() || shown.file.is_some() {
        return Err(bad("message can't be edited"));
    }
    if shown.text == text && shown.entities == entities {
        return Err(bad(
            "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
        ));
    }
    shown.text.clone_from(&text);
    shown.entities = entities;
    shown.edited = true;
    let message = room.messages.entry(id).or_insert_with(|| json!({}));
    if let Some(fields) = message.as_object_mut() {
        fields.insert("text".into(), text.into());
        fields.insert("edit_date".into(), date.into());
        fields.remove("entities");
        if !call.param("entities").is_null() {
            fields.insert("entities".into(), call.param("entities").clone());
        }
    }
    Ok(message.clone())
}

fn delete(inner: &mut Inner, call: &Call) -> Result<Value, Refusal> {
    let (key, _) = room(inner, call)?;
    let id = call.param("message_id").as_i64().unwrap_or_default();
    let room = inner.rooms.entry(key).or_default();
    if room.messages.remove(&id).is_none() {
        return Err(bad("message to delete not found"));
    }
    room.visible.retain(|shown| shown.message_id != id);
    Ok(true.into())
}
