//! A message as the rest of the house reads it.

use chat::{FileHandle, FileKind, Inbound, InboundFile, InboundKind, Place, Sender, SenderId};
use waybill::{AccountId, Anchor, ChatKey, Conversation, Thread, Timestamp};

use crate::formatting::markdown;
use crate::quoted::quoted;
use crate::wire::{Entity, File, Message, Sticker};

/// Who we are on Telegram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Me {
    pub(crate) id: i64,
    pub(crate) username: String,
}

/// Reads a message; `Ok(None)` for those that nobody wrote to us (service messages, channel posts).
pub(crate) fn inbound(
    me: &Me,
    account: &AccountId,
    message: &Message,
    kind: InboundKind,
) -> Result<Option<Inbound>, String> {
    if let Some(moved) = moved(account, message)? {
        return Ok(Some(moved));
    }
    let place = match message.chat.kind.as_str() {
        "private" => Place::Direct,
        "group" | "supergroup" => Place::Group {
            addressed: addressed(me, message),
        },
        _ => return Ok(None),
    };
    let Some(sender) = sender(message) else {
        return Ok(None);
    };
    let content = content(me, message);
    if content.text.is_empty() && content.files.is_empty() {
        return Ok(None);
    }
    let at = said_at(message)?;
    Ok(Some(Inbound {
        chat: chat_key(account, message)?,
        anchor: Anchor::new(message.message_id.to_string()),
        sender,
        place,
        kind,
        text: content.text,
        files: content.files,
        quoted: quoted(me, message),
        forwarded_from: message.forward_origin.as_ref().map(|origin| origin.name()),
        preface: None,
        at,
    }))
}

/// What a group says when it became a supergroup, and what that one says: the same thing, in either order.
fn moved(account: &AccountId, message: &Message) -> Result<Option<Inbound>, String> {
    let here = message.chat.id;
    let (from, to) = match (message.migrate_to_chat_id, message.migrate_from_chat_id) {
        (Some(to), _) => (here, to),
        (None, Some(from)) => (from, here),
        (None, None) => return Ok(None),
    };
    Ok(Some(Inbound {
        chat: numbered(account, from)?,
        anchor: Anchor::new(message.message_id.to_string()),
        sender: Sender {
            id: SenderId::new(here.to_string()),
            name: None,
            bot: false,
        },
        place: Place::Group { addressed: false },
        kind: InboundKind::Moved {
            to: numbered(account, to)?,
        },
        text: String::new(),
        files: Vec::new(),
        quoted: None,
        forwarded_from: None,
        preface: None,
        at: said_at(message)?,
    }))
}

pub(crate) fn said_at(message: &Message) -> Result<Timestamp, String> {
    Timestamp::from_second(message.date)
        .map_err(|error| format!("the date {}: {error}", message.date))
}

fn numbered(account: &AccountId, chat: i64) -> Result<ChatKey, String> {
    let conversation = Conversation::new(chat.to_string()).map_err(|error| error.to_string())?;
    Ok(ChatKey::new(account.clone(), conversation))
}

pub(crate) fn chat_key(account: &AccountId, message: &Message) -> Result<ChatKey, String> {
    let chat = numbered(account, message.chat.id)?;
    // A reply in an ordinary group has a thread id too, and is no topic.
    match message
        .message_thread_id
        .filter(|_| message.is_topic_message)
    {
        Some(thread) => {
            let thread = Thread::new(thread.to_string()).map_err(|error| error.to_string())?;
            Ok(chat.in_thread(thread))
        }
        None => Ok(chat),
    }
}

/// Whoever speaks as a chat (an anonymous administrator, a channel) is that chat; the user beside it is a stand-in.
fn sender(message: &Message) -> Option<Sender> {
    if let Some(chat) = &message.sender_chat {
        return Some(Sender {
            id: SenderId::new(chat.id.to_string()),
            name: chat.name(),
            bot: false,
        });
    }
    let user = message.from.as_ref()?;
    Some(Sender {
        id: SenderId::new(user.id.to_string()),
        name: user.name(),
        bot: user.is_bot,
    })
}

/// The stretch of a text that an entity covers.
fn covered<'a>(text: &'a str, entity: &Entity) -> Option<&'a str> {
    let end = entity.offset.checked_add(entity.length)?;
    let mut at = 0;
    let mut bounds = (None, None);
    for (byte, character) in text
        .char_indices()
        .chain(std::iter::once((text.len(), '\0')))
    {
        if at == entity.offset {
            bounds.0 = Some(byte);
        }
        if at == end {
            bounds.1 = Some(byte);
        }
        at += character.len_utf16();
    }
    text.get(bounds.0?..bounds.1?)
}

fn words(message: &Message) -> (&str, &[Entity]) {
    match (&message.text, &message.caption) {
        (Some(text), _) => (text, &message.entities),
        (None, Some(caption)) => (caption, &message.caption_entities),
        (None, None) => ("", &[]),
    }
}

/// The command that a message begins with, as it was written.
fn command(message: &Message) -> Option<&str> {
    let (text, entities) = words(message);
    entities
        .iter()
        .find(|entity| entity.kind == "bot_command" && entity.offset == 0)
        .and_then(|entity| covered(text, entity))
}

fn addressed(me: &Me, message: &Message) -> bool {
    let (text, entities) = words(message);
    let ours = |name: &str| name.eq_ignore_ascii_case(&me.username);
    let mentioned = entities.iter().any(|entity| match entity.kind.as_str() {
        "mention" => covered(text, entity)
            .and_then(|word| word.strip_prefix('@'))
            .is_some_and(ours),
        "text_mention" => entity.user.as_ref().is_some_and(|user| user.id == me.id),
        _ => false,
    });
    let commanded = command(message)
        .is_some_and(|word| word.split_once('@').is_none_or(|(_, name)| ours(name)));
    // In a forum every message answers the one that made its topic, and we may have made it.
    let answered = message.reply_to_message.as_ref().is_some_and(|target| {
        target.forum_topic_created.is_none()
            && target
                .from
                .as_ref()
                .is_some_and(|author| author.id == me.id)
    });
    mentioned || commanded || answered
}

pub(crate) struct Content {
    pub(crate) text: String,
    pub(crate) files: Vec<InboundFile>,
}

/// The words as markdown, a line for each thing that has none, and the files.
pub(crate) fn content(me: &Me, message: &Message) -> Content {
    let (text, entities) = words(message);
    let mut text = markdown(text, entities);
    if let Some((name, bot)) = command(message).and_then(|word| word.split_once('@'))
        && bot.eq_ignore_ascii_case(&me.username)
        && let Some(rest) = text
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('@'))
        && let Some(rest) = rest.get(bot.len()..)
    {
        text = format!("{name}{rest}");
    }
    for line in lines(message) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line);
    }
    Content {
        text,
        files: files(message),
    }
}

fn files(message: &Message) -> Vec<InboundFile> {
    let mut files = Vec::new();
    let mut add = |file: &File, kind: FileKind, mime: Option<&str>| {
        files.push(InboundFile {
            handle: FileHandle::new(file.file_id.clone()),
            name: file.file_name.clone(),
            mime: file.mime_type.clone().or_else(|| mime.map(str::to_owned)),
            size: file.file_size,
            kind,
        });
    };
    let largest = message
        .photo
        .iter()
        .flatten()
        .max_by_key(|size| (size.width.saturating_mul(size.height), size.file_size));
    if let Some(photo) = largest {
        add(photo, FileKind::Photo, Some("image/jpeg"));
    }
    if let Some(animation) = &message.animation {
        // The same file comes as a document beside it, for old clients.
        add(animation, FileKind::Video, Some("video/mp4"));
    } else if let Some(document) = &message.document {
        add(document, FileKind::Document, None);
    }
    if let Some(voice) = &message.voice {
        add(voice, FileKind::Voice, Some("audio/ogg"));
    }
    if let Some(audio) = &message.audio {
        add(audio, FileKind::Audio, None);
    }
    if let Some(video) = &message.video {
        add(video, FileKind::Video, None);
    }
    if let Some(note) = &message.video_note {
        add(note, FileKind::Video, Some("video/mp4"));
    }
    files
}

fn sticker(sticker: &Sticker) -> String {
    let kind = match (sticker.is_animated, sticker.is_video) {
        (true, _) => "animated sticker",
        (false, true) => "video sticker",
        (false, false) => "sticker",
    };
    match &sticker.emoji {
        Some(emoji) => format!("[{kind} {emoji}]"),
        None => format!("[{kind}]"),
    }
}

fn lines(message: &Message) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(message.sticker.as_ref().map(sticker));
    if let Some(venue) = &message.venue {
        let (at, title) = (&venue.location, &venue.title);
        lines.push(format!(
            "[venue: {title}, {} ({}, {})]",
            venue.address, at.latitude, at.longitude
        ));
    } else if let Some(at) = &message.location {
        lines.push(format!("[location: {}, {}]", at.latitude, at.longitude));
    }
    if let Some(contact) = &message.contact {
        let last = contact.last_name.as_deref().unwrap_or_default();
        let name = format!("{} {last}", contact.first_name);
        lines.push(format!(
            "[contact: {}, {}]",
            name.trim(),
            contact.phone_number
        ));
    }
    if let Some(poll) = &message.poll {
        let options: Vec<&str> = poll
            .options
            .iter()
            .map(|option| option.text.as_str())
            .collect();
        lines.push(format!(
            "[poll: {} ({})]",
            poll.question,
            options.join(" / ")
        ));
    }
    if let Some(dice) = &message.dice {
        lines.push(format!("[dice {}: {}]", dice.emoji, dice.value));
    }
    let named = [
        (&message.story, "[story]"),
        (&message.game, "[game]"),
        (&message.invoice, "[invoice]"),
        (&message.paid_media, "[paid media]"),
        (&message.checklist, "[checklist]"),
        (&message.giveaway, "[giveaway]"),
        (&message.live_photo, "[live photo]"),
        (&message.rich_message, "[rich message]"),
    ];
    lines.extend(
        named
            .into_iter()
            .filter(|(there, _)| there.is_some())
            .map(|(_, line)| line.to_owned()),
    );
    lines
}
