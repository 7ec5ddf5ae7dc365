//! What a message answers.

use chat::{FileKind, Quoted};

use crate::inbound::{Me, content};
use crate::wire::{Message, User};

/// The words that a message answers: the marked stretch if there is one, else the whole message.
pub(crate) fn quoted(me: &Me, message: &Message) -> Option<Quoted> {
    let target = message
        .reply_to_message
        .as_ref()
        .filter(|target| target.forum_topic_created.is_none());
    let marked = message.quote.as_ref().map(|quote| quote.text.clone());
    if let Some(target) = target {
        return Some(Quoted {
            author: author(target),
            text: marked.unwrap_or_else(|| described(me, target)),
        });
    }
    // An answer to a message of another chat.
    let elsewhere = message.external_reply.as_ref()?;
    Some(Quoted {
        author: Some(elsewhere.origin.name()),
        text: marked.unwrap_or_else(|| "[a message of another chat]".to_owned()),
    })
}

fn author(message: &Message) -> Option<String> {
    match &message.sender_chat {
        Some(chat) => chat.name(),
        None => message.from.as_ref().and_then(User::name),
    }
}

fn described(me: &Me, message: &Message) -> String {
    let content = content(me, message);
    let mut text = content.text;
    for file in &content.files {
        let kind = match file.kind {
            FileKind::Photo => "photo",
            FileKind::Voice => "voice note",
            FileKind::Audio => "audio",
            FileKind::Video => "video",
            FileKind::Document => "document",
        };
        if !text.is_empty() {
            text.push('\n');
        }
        match &file.name {
            Some(name) => text.push_str(&format!("[{kind} {name}]")),
            None => text.push_str(&format!("[{kind}]")),
        }
    }
    text
}
