//! From what a person sent to what the model reads: files are fetched and laid into the sandbox, words are put together.

use chat::{Inbound, InboundFile, InboundKind, Place};
use model::{Content, Message};
use sandbox::size_text;
use waybill::TurnScope;

use crate::knowledge::spoken;
use crate::{Ports, Tenant};

/// Files that are fetched from one message.
const MOST_FILES: usize = 20;

/// What stands before words that somebody else wrote first.
pub(crate) const FORWARDED: &str = "[Forwarded; first written by ";
/// What stands before words that are quoted, line by line behind `> `.
pub(crate) const QUOTED: &str = "quoted as data:]";
/// What stands before a file's place in the sandbox.
pub(crate) const ATTACHED: &str = "[attached: ";

/// A message, ready for the model, and the lines that the person must read about it.
pub(crate) struct Received {
    pub(crate) message: Message,
    pub(crate) notes: Vec<String>,
}

/// Fetches the files of a message into the sandbox and puts its words together.
pub(crate) async fn receive(
    ports: &Ports,
    tenant: &Tenant,
    scope: &TurnScope,
    inbound: &Inbound,
) -> Received {
    let mut lines = Vec::new();
    let mut notes = Vec::new();
    for file in inbound.files.iter().take(MOST_FILES) {
        let name = file.name.clone().unwrap_or_else(|| unnamed(file));
        match fetch(ports, tenant, scope, inbound, file, &name).await {
            Ok(line) => lines.push(line),
            Err(reason) => {
                lines.push(format!("[not attached: {name}: {reason}]"));
                notes.push(format!("⚠ {name} did not reach the agent: {reason}"));
            }
        }
    }
    if inbound.files.len() > MOST_FILES {
        let over = inbound.files.len() - MOST_FILES;
        lines.push(format!(
            "[{over} more files were not fetched: a message takes {MOST_FILES}]"
        ));
        notes.push(format!(
            "⚠ {over} files did not reach the agent: a message takes {MOST_FILES}"
        ));
    }
    let spoken = spoken(ports, tenant, inbound).await;
    let text = words(&spoken, &lines);
    Received {
        message: Message::User {
            content: vec![Content::Text { text }],
        },
        notes,
    }
}

async fn fetch(
    ports: &Ports,
    tenant: &Tenant,
    scope: &TurnScope,
    inbound: &Inbound,
    file: &InboundFile,
    name: &str,
) -> Result<String, String> {
    let limit = tenant.attachment_bytes;
    if file.size.is_some_and(|size| size > limit) {
        return Err(format!("the file is larger than {}", size_text(limit)));
    }
    let mut writer = ports
        .blobs
        .create(scope.profile())
        .await
        .map_err(|error| error.to_string())?;
    let fetched = ports
        .files
        .fetch(&inbound.chat.account, &file.handle, limit, writer.as_mut())
        .await;
    fetched.map_err(|error| error.to_string())?;
    let blob = writer
        .finish(name)
        .await
        .map_err(|error| error.to_string())?;
    let opened = ports.blobs.open(scope.profile(), &blob.hash).await;
    let (_, bytes) = opened.map_err(|error| error.to_string())?;
    let staged = tenant
        .sandbox
        .stage(scope, &tenant.spec, name, bytes)
        .await
        .map_err(|error| error.to_string())?;
    Ok(format!(
        "{ATTACHED}{} ({}, {})]",
        staged.path,
        blob.mime,
        size_text(blob.size)
    ))
}

fn unnamed(file: &InboundFile) -> String {
    let ending = match file.kind {
        chat::FileKind::Photo => "jpg",
        chat::FileKind::Voice => "ogg",
        chat::FileKind::Audio => "mp3",
        chat::FileKind::Video => "mp4",
        chat::FileKind::Document => "bin",
    };
    let stem = match file.kind {
        chat::FileKind::Photo => "photo",
        chat::FileKind::Voice => "voice",
        chat::FileKind::Audio => "audio",
        chat::FileKind::Video => "video",
        chat::FileKind::Document => "file",
    };
    format!("{stem}.{ending}")
}

/// Others' words stand apart, named as theirs; the sender's come last and unmarked.
fn words(inbound: &Inbound, attached: &[String]) -> String {
    let mut text = String::new();
    // With the message and not in the fixed prompt: that stays the same to the byte, whatever each request says.
    if let Some(preface) = &inbound.preface
        && !preface.instructions.is_empty()
    {
        text.push_str("[Instructions of the program that asks; they hold for this message:]\n");
        text.push_str(preface.instructions.trim());
        text.push_str("\n\n[The message:]\n");
    }
    if inbound.kind == InboundKind::Edit {
        text.push_str("[The person changed an earlier message. It reads now:]\n");
    }
    if let Some(quoted) = &inbound.quoted {
        let author = quoted.author.as_deref().unwrap_or("somebody");
        text.push_str(&format!("[This answers a message of {author}; {QUOTED}\n"));
        for line in quoted.text.lines() {
            text.push_str(&format!("> {line}\n"));
        }
    }
    if let Some(origin) = &inbound.forwarded_from {
        text.push_str(&format!("{FORWARDED}{origin}:]\n"));
    }
    if let (Place::Group { .. }, Some(name)) = (inbound.place, &inbound.sender.name) {
        text.push_str(&format!("{name}: "));
    }
    text.push_str(inbound.text.trim());
    for line in attached {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line);
    }
    text
}
