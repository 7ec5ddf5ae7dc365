//! What a method takes (Bot API 10.1), and whether a request fits.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::request::{Form, Parsed};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Bool,
    Text,
    Chat,
    Strings,
    Entities,
    Reply,
    Preview,
    File,
    Media,
    Json,
}

use Kind::{Bool, Chat, Entities, File, Int, Json, Media, Preview, Reply, Strings, Text};

type Param = (&'static str, Kind);

const SEND: &[Param] = &[
    ("business_connection_id", Text),
    ("chat_id", Chat),
    ("message_thread_id", Int),
    ("direct_messages_topic_id", Int),
    ("disable_notification", Bool),
    ("protect_content", Bool),
    ("allow_paid_broadcast", Bool),
    ("message_effect_id", Text),
    ("suggested_post_parameters", Json),
    ("reply_parameters", Reply),
    ("reply_markup", Json),
];
const EDIT: &[Param] = &[
    ("business_connection_id", Text),
    ("chat_id", Chat),
    ("message_id", Int),
    ("inline_message_id", Text),
    ("reply_markup", Json),
];
const CAPTION: &[Param] = &[
    ("caption", Text),
    ("parse_mode", Text),
    ("caption_entities", Entities),
];

/// The method's own parameters, the required ones, and the families that it shares with others.
type Method = (
    &'static [Param],
    &'static [&'static str],
    &'static [&'static [Param]],
);

fn method(name: &str) -> Option<Method> {
    Some(match name {
        "getMe" => (&[], &[], &[]),
        "getUpdates" => (
            &[
                ("offset", Int),
                ("limit", Int),
                ("timeout", Int),
                ("allowed_updates", Strings),
            ],
            &[],
            &[],
        ),
        "deleteWebhook" => (&[("drop_pending_updates", Bool)], &[], &[]),
        "getFile" => (&[("file_id", Text)], &["file_id"], &[]),
        "sendMessage" => (
            &[
                ("text", Text),
                ("parse_mode", Text),
                ("entities", Entities),
                ("link_preview_options", Preview),
            ],
            &["chat_id", "text"],
            &[SEND],
        ),
        "sendPhoto" => (
            &[
                ("photo", File),
                ("show_caption_above_media", Bool),
                ("has_spoiler", Bool),
            ],
            &["chat_id", "photo"],
            &[SEND, CAPTION],
        ),
        "sendDocument" => (
            &[
                ("document", File),
                ("thumbnail", File),
                ("disable_content_type_detection", Bool),
            ],
            &["chat_id", "document"],
            &[SEND, CAPTION],
        ),
        "sendVoice" => (
            &[("voice", File), ("duration", Int)],
            &["chat_id", "voice"],
            &[SEND, CAPTION],
        ),
        "sendAudio" => (
            &[
                ("audio", File),
                ("thumbnail", File),
                ("duration", Int),
                ("performer", Text),
                ("title", Text),
            ],
            &["chat_id", "audio"],
            &[SEND, CAPTION],
        ),
        "sendVideo" => (
            &[
                ("video", File),
                ("thumbnail", File),
                ("cover", File),
                ("duration", Int),
                ("width", Int),
                ("height", Int),
                ("start_timestamp", Int),
                ("show_caption_above_media", Bool),
                ("has_spoiler", Bool),
                ("supports_streaming", Bool),
            ],
            &["chat_id", "video"],
            &[SEND, CAPTION],
        ),
        "sendChatAction" => (
            &[
                ("business_connection_id", Text),
                ("chat_id", Chat),
                ("message_thread_id", Int),
                ("action", Text),
            ],
            &["chat_id", "action"],
            &[],
        ),
        "editMessageText" => (
            &[
                ("text", Text),
                ("parse_mode", Text),
                ("entities", Entities),
                ("link_preview_options", Preview),
            ],
            // Inline messages are no part of this fake.
            &["chat_id", "message_id", "text"],
            &[EDIT],
        ),
        "editMessageCaption" => (
            &[("show_caption_above_media", Bool)],
            &["chat_id", "message_id"],
            &[EDIT, CAPTION],
        ),
        "editMessageMedia" => (
            &[("media", Media)],
            &["chat_id", "message_id", "media"],
            &[EDIT],
        ),
        "editMessageReplyMarkup" => (&[], &["chat_id", "message_id"], &[EDIT]),
        "answerCallbackQuery" => (
            &[
                ("callback_query_id", Text),
                ("text", Text),
                ("show_alert", Bool),
                ("url", Text),
                ("cache_time", Int),
            ],
            &["callback_query_id"],
            &[],
        ),
        "deleteMessage" => (
            &[("chat_id", Chat), ("message_id", Int)],
            &["chat_id", "message_id"],
            &[],
        ),
        _ => return None,
    })
}

pub(super) fn known(name: &str) -> bool {
    method(name).is_some()
}

/// One entity as a client sent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entity {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it begins, in UTF-16 code units.
    pub offset: i64,
    /// How long it is, in UTF-16 code units.
    pub length: i64,
    /// Address of a `text_link`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Language of a `pre`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// User of a `text_mention`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Value>,
    /// Emoji of a `custom_emoji`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_emoji_id: Option<String>,
    /// Time of a `date_time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_time: Option<i64>,
    /// Format of a `date_time`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date_time_format: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read only to see whether it has the right shape")]
struct ReplyShape {
    message_id: i64,
    chat_id: Option<Value>,
    allow_sending_without_reply: Option<bool>,
    quote: Option<String>,
    quote_parse_mode: Option<String>,
    quote_entities: Option<Vec<Entity>>,
    quote_position: Option<i64>,
    checklist_task_id: Option<i64>,
    poll_option_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read only to see whether it has the right shape")]
struct PreviewShape {
    is_disabled: Option<bool>,
    url: Option<String>,
    prefer_small_media: Option<bool>,
    prefer_large_media: Option<bool>,
    show_above_text: Option<bool>,
}

/// The fields of all kinds of `InputMedia`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read only to see whether it has the right shape")]
struct MediaShape {
    #[serde(rename = "type")]
    kind: String,
    media: String,
    thumbnail: Option<String>,
    cover: Option<String>,
    caption: Option<String>,
    caption_entities: Option<Vec<Entity>>,
    show_caption_above_media: Option<bool>,
    has_spoiler: Option<bool>,
    disable_content_type_detection: Option<bool>,
    width: Option<i64>,
    height: Option<i64>,
    duration: Option<i64>,
    start_timestamp: Option<i64>,
    performer: Option<String>,
    title: Option<String>,
    supports_streaming: Option<bool>,
}

/// Checks a request and reads form texts by their type. The error is a violation's text.
pub(super) fn check(name: &str, parsed: &mut Parsed) -> Result<(), String> {
    let Some((own, required, families)) = method(name) else {
        return Err("no such method in this fake".to_owned());
    };
    let kind_of = |param: &str| {
        std::iter::once(own)
            .chain(families.iter().copied())
            .flatten()
            .find(|(known, _)| *known == param)
            .map(|(_, kind)| *kind)
    };
    let mut read = Map::new();
    for (param, value) in &parsed.params {
        let kind = kind_of(param).ok_or_else(|| format!("unknown parameter '{param}'"))?;
        let value = match parsed.form {
            Form::Json => value.clone(),
            Form::Multipart => from_text(kind, value.as_str().unwrap_or_default())
                .ok_or_else(|| format!("parameter '{param}' can't be read: {value}"))?,
        };
        fits(kind, &value).map_err(|why| format!("parameter '{param}': {why}"))?;
        read.insert(param.clone(), value);
    }
    for upload in &parsed.uploads {
        let attached = read.values().any(|value| {
            let inside = ["media", "thumbnail", "cover"].map(|field| value.get(field));
            std::iter::once(Some(value))
                .chain(inside)
                .flatten()
                .filter_map(|value| value.as_str()?.strip_prefix("attach://"))
                .any(|field| field == upload.field)
        });
        if kind_of(&upload.field) != Some(File) && !attached {
            return Err(format!("a file in the unknown field '{}'", upload.field));
        }
    }
    for need in required {
        if !read.contains_key(*need) && !parsed.uploads.iter().any(|upload| upload.field == *need) {
            return Err(format!("parameter '{need}' is missing"));
        }
    }
    if read.contains_key("parse_mode") {
        return Err("parse_mode: this fake reads entities only".to_owned());
    }
    parsed.params = read;
    Ok(())
}

fn from_text(kind: Kind, text: &str) -> Option<Value> {
    Some(match kind {
        Int => Value::from(text.parse::<i64>().ok()?),
        Bool => Value::from(text.parse::<bool>().ok()?),
        Text | File => Value::from(text),
        Chat => text
            .parse::<i64>()
            .map_or_else(|_name| Value::from(text), Value::from),
        Strings | Entities | Reply | Preview | Media | Json => serde_json::from_str(text).ok()?,
    })
}

fn fits(kind: Kind, value: &Value) -> Result<(), String> {
    fn shape<T: serde::de::DeserializeOwned>(value: &Value) -> Result<(), String> {
        T::deserialize(value)
            .map(drop)
            .map_err(|why| why.to_string())
    }
    let good = match kind {
        Int => value.is_i64(),
        Bool => value.is_boolean(),
        Text | File => value.is_string(),
        Chat => value.is_i64() || value.as_str().is_some_and(|name| name.starts_with('@')),
        Json => value.is_object(),
        Strings => return shape::<Vec<String>>(value),
        Entities => return shape::<Vec<Entity>>(value),
        Reply => return shape::<ReplyShape>(value),
        Preview => return shape::<PreviewShape>(value),
        Media => return shape::<MediaShape>(value),
    };
    if good {
        Ok(())
    } else {
        Err(format!("{value} has the wrong type"))
    }
}

const ENTITIES: &[&str] = &[
    "mention",
    "hashtag",
    "cashtag",
    "bot_command",
    "url",
    "email",
    "phone_number",
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "blockquote",
    "expandable_blockquote",
    "code",
    "pre",
    "text_link",
    "text_mention",
    "custom_emoji",
    "date_time",
];

/// Whether entities fit a text: known types, inside the text, no cut character, nested or apart, at most 100.
pub(super) fn entities(text: &str, entities: &[Entity]) -> Result<(), String> {
    if entities.len() > 100 {
        return Err(format!("{} entities", entities.len()));
    }
    let mut edges = vec![0i64];
    let mut at = 0i64;
    for character in text.chars() {
        at += character.len_utf16() as i64;
        edges.push(at);
    }
    for entity in entities {
        let end = entity.offset + entity.length;
        if !ENTITIES.contains(&entity.kind.as_str()) {
            return Err(format!("unknown entity type '{}'", entity.kind));
        }
        if entity.length < 1 {
            return Err(format!("an entity without length: {entity:?}"));
        }
        if edges.binary_search(&entity.offset).is_err() || edges.binary_search(&end).is_err() {
            return Err(format!(
                "outside the text or inside a character: {entity:?}"
            ));
        }
        if (entity.kind == "text_link") != entity.url.is_some() {
            return Err(format!("a link without an address: {entity:?}"));
        }
        for other in entities {
            let other_end = other.offset + other.length;
            if entity.offset < other.offset && other.offset < end && end < other_end {
                return Err(format!("overlapping entities: {entity:?} {other:?}"));
            }
        }
    }
    Ok(())
}
