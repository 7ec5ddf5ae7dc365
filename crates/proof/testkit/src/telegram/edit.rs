//! What changes or takes away a message that people see.

use serde_json::{Map, Value, json};

use super::act::{Refusal, bad, room, shown_file, words};
use super::request::Call;
use super::state::{Inner, RoomKey, Visible};
use super::taps::buttons;

/// What `editMessageMedia` can put in (Bot API 10.1, `InputMedia`), as far as this fake knows it.
const MEDIA: [&str; 4] = ["photo", "document", "audio", "video"];
/// The platform's whole sentence.
pub(super) const SAME: &str = "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message";

/// The bot's own message that a request names.
pub(super) fn mine<'a>(
    inner: &'a mut Inner,
    call: &Call,
) -> Result<(RoomKey, &'a mut Visible), Refusal> {
    let (key, _) = room(inner, call)?;
    let author = inner
        .bots
        .get(&call.token)
        .map(|bot| bot.username.clone())
        .unwrap_or_default();
    let id = call.param("message_id").as_i64().unwrap_or_default();
    let room = inner.rooms.entry(key).or_default();
    let others = room.messages.contains_key(&id);
    let shown = room
        .visible
        .iter_mut()
        .find(|shown| shown.message_id == id)
        .ok_or_else(|| {
            bad(if others {
                "message can't be edited"
            } else {
                "message to edit not found"
            })
        })?;
    if shown.author != author {
        return Err(bad("message can't be edited"));
    }
    Ok((key, shown))
}

/// Writes the change into the message that the platform tells of: `gone` fields go, `fields` come.
pub(super) fn told(
    inner: &mut Inner,
    call: &Call,
    key: RoomKey,
    gone: &[&str],
    fields: Map<String, Value>,
) -> Value {
    let date = inner.date();
    let id = call.param("message_id").as_i64().unwrap_or_default();
    let room = inner.rooms.entry(key).or_default();
    let message = room.messages.entry(id).or_insert_with(|| json!({}));
    if let Some(all) = message.as_object_mut() {
        all.retain(|field, _| !gone.contains(&field.as_str()));
        all.extend(fields);
        all.insert("edit_date".into(), date.into());
    }
    message.clone()
}

pub(super) fn text(inner: &mut Inner, call: &Call) -> Result<Value, Refusal> {
    let text = call.param("text").as_str().unwrap_or_default().to_owned();
    if text.trim().is_empty() {
        return Err(bad("message text is empty"));
    }
    let entities = words(inner, &call.method, &text, call.param("entities"), 4096)?;
    let buttons = buttons(inner, call)?;
    let (key, shown) = mine(inner, call)?;
    if shown.file.is_some() {
        return Err(bad("there is no text in the message to edit"));
    }
    if shown.text == text && shown.entities == entities && shown.buttons == buttons {
        return Err(bad(SAME));
    }
    shown.text.clone_from(&text);
    shown.entities = entities;
    // An edit without buttons takes them away.
    shown.buttons = buttons;
    shown.edited = true;
    let mut fields = Map::new();
    fields.insert("text".into(), text.into());
    if !call.param("entities").is_null() {
        fields.insert("entities".into(), call.param("entities").clone());
    }
    Ok(told(inner, call, key, &["text", "entities"], fields))
}

pub(super) fn caption(inner: &mut Inner, call: &Call) -> Result<Value, Refusal> {
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
    let (key, shown) = mine(inner, call)?;
    let Some(file) = &mut shown.file else {
        return Err(bad("there is no caption in the message to edit"));
    };
    let wanted = Some(caption.clone()).filter(|caption| !caption.is_empty());
    if file.caption == wanted && shown.entities == entities {
        return Err(bad(SAME));
    }
    file.caption = wanted;
    shown.entities = entities;
    shown.edited = true;
    let mut fields = Map::new();
    if !caption.is_empty() {
        fields.insert("caption".into(), caption.into());
        if !call.param("caption_entities").is_null() {
            let entities = call.param("caption_entities").clone();
            fields.insert("caption_entities".into(), entities);
        }
    }
    Ok(told(
        inner,
        call,
        key,
        &["caption", "caption_entities"],
        fields,
    ))
}

pub(super) fn media(inner: &mut Inner, call: &Call) -> Result<Value, Refusal> {
    let media = call.param("media");
    let field = |name: &str| media.get(name).and_then(Value::as_str).unwrap_or_default();
    let (kind, caption) = (field("type"), field("caption"));
    let entities = media.get("caption_entities").unwrap_or(&Value::Null);
    let spans = words(inner, &call.method, caption, entities, 1024)?;
    if !MEDIA.contains(&kind) {
        return Err(bad(&match kind {
            "voice_note" => "can't parse InputMedia: type \"voice_note\" is not allowed".to_owned(),
            other => format!("can't parse InputMedia: type \"{other}\" is unsupported"),
        }));
    }
    if mine(inner, call)?
        .1
        .file
        .as_ref()
        .is_some_and(|file| file.kind == "voice")
    {
        return Err(bad("message can't be edited"));
    }
    let (description, file) = shown_file(inner, call, kind, Some(field("media")), caption)?;
    let (key, shown) = mine(inner, call)?;
    if shown.file.as_ref() == Some(&file) && shown.entities == spans {
        return Err(bad(SAME));
    }
    shown.text = String::new();
    shown.file = Some(file);
    shown.entities = spans;
    shown.edited = true;
    let mut fields = Map::new();
    fields.insert(kind.to_owned(), description);
    if !caption.is_empty() {
        fields.insert("caption".into(), caption.into());
        if !entities.is_null() {
            fields.insert("caption_entities".into(), entities.clone());
        }
    }
    let gone: Vec<&str> = ["text", "entities", "caption", "caption_entities"]
        .into_iter()
        .chain(MEDIA)
        .collect();
    Ok(told(inner, call, key, &gone, fields))
}

pub(super) fn delete(inner: &mut Inner, call: &Call) -> Result<Value, Refusal> {
    let (key, _) = room(inner, call)?;
    let author = inner.bots.get(&call.token).map(|bot| bot.username.clone());
    let id = call.param("message_id").as_i64().unwrap_or_default();
    let room = inner.rooms.entry(key).or_default();
    if !room.messages.contains_key(&id) {
        return Err(bad("message to delete not found"));
    }
    let own = room
        .visible
        .iter()
        .any(|shown| shown.message_id == id && Some(&shown.author) == author.as_ref());
    // In a group a bot without rights takes away its own messages alone.
    if key.chat < 0 && !own {
        return Err(bad("message can't be deleted for everyone"));
    }
    room.messages.remove(&id);
    room.visible.retain(|shown| shown.message_id != id);
    Ok(true.into())
}
