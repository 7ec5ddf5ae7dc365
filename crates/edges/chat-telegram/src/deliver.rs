//! One part on the wire, once.

use std::io;

use bytes::Bytes;
use chat::{Body, Delivery, Done, Fault, FaultKind, Op, Receipt, Shape, Way};
use futures_util::stream::{self, Stream};
use net::Multipart;
use sandbox::{ArtifactRef, BlobError, BlobReader, BlobStore, size_text};
use serde_json::{Map, Value, json};
use waybill::ChatKey;

use crate::api::Api;
use crate::carrier;
use crate::classify::Effect;
use crate::outgoing::{Words, words};
use crate::taps;
use crate::wire::Sent;

/// The id of a forum's general topic; the platform wants it left out.
const GENERAL: i64 = 1;

pub(crate) async fn deliver(
    api: &Api,
    file_out: u64,
    delivery: Delivery<'_>,
    blobs: &dyn BlobStore,
) -> Result<Done, Fault> {
    match (delivery.way, delivery.step) {
        (Way::Carried, None) => carrier::put(api, &delivery).await,
        (Way::Carried, Some(step)) => carrier::fill(api, file_out, &delivery, step, blobs).await,
        (Way::Direct, _) => direct(api, file_out, &delivery, blobs)
            .await
            .map(|sent| Done::All(receipt(&sent))),
    }
}

async fn direct(
    api: &Api,
    file_out: u64,
    delivery: &Delivery<'_>,
    blobs: &dyn BlobStore,
) -> Result<Sent, Fault> {
    let mut parameters = beginning(delivery)?;
    let sent: Sent = match delivery.op {
        Op::Question { body, choices, .. } => {
            put_text(&mut parameters, body, delivery.may_be_repeat)?;
            if !choices.is_empty() {
                parameters.insert("reply_markup".to_owned(), taps::keyboard(choices));
            }
            api.call(Effect::Send, "sendMessage", &parameters).await?
        }
        Op::Text(body) => {
            put_text(&mut parameters, body, delivery.may_be_repeat)?;
            api.call(Effect::Send, "sendMessage", &parameters).await?
        }
        Op::File {
            artifact,
            shape,
            caption,
        } => {
            let said = words(caption.as_ref(), delivery.may_be_repeat);
            if !said.text.is_empty() {
                put_words(&mut parameters, "caption", "caption_entities", said)?;
            }
            let (method, field) = match shape {
                Shape::Photo => ("sendPhoto", "photo"),
                Shape::Voice => ("sendVoice", "voice"),
                Shape::Document | Shape::Auto => ("sendDocument", "document"),
            };
            let form = form(&parameters, field, artifact, file_out, blobs).await?;
            api.upload(Effect::Send, method, form).await?
        }
    };
    failpoint::point("C9");
    Ok(sent)
}

/// Where to, what it answers, whether it rings.
pub(crate) fn beginning(delivery: &Delivery<'_>) -> Result<Map<String, Value>, Fault> {
    let mut parameters = address(delivery.chat)?;
    if let Some(message_id) = delivery
        .anchor
        .and_then(|anchor| anchor.as_str().parse::<i64>().ok())
    {
        let reply = json!({"message_id": message_id, "allow_sending_without_reply": true});
        parameters.insert("reply_parameters".to_owned(), reply);
    }
    if delivery.silent {
        parameters.insert("disable_notification".to_owned(), true.into());
    }
    Ok(parameters)
}

/// The words of a text message.
pub(crate) fn put_text(
    parameters: &mut Map<String, Value>,
    body: &Body,
    may_be_repeat: bool,
) -> Result<(), Fault> {
    let said = words(Some(body), may_be_repeat);
    put_words(parameters, "text", "entities", said)?;
    parameters.insert(
        "link_preview_options".to_owned(),
        json!({"is_disabled": true}),
    );
    Ok(())
}

/// The platform gives the id 0 to what it took and shows later: accepted, and nothing to point at.
fn receipt(sent: &Sent) -> Receipt {
    match sent.message_id {
        0 => Receipt::new(""),
        id => Receipt::new(id.to_string()),
    }
}

/// The chat and the topic. `typing` is shown in the general topic by its id, messages are not sent so.
pub(crate) fn address(chat: &ChatKey) -> Result<Map<String, Value>, Fault> {
    let mut parameters = Map::new();
    let name = chat.conversation.as_str();
    let id = match name.parse::<i64>() {
        Ok(id) => Value::from(id),
        Err(_name) if name.starts_with('@') => Value::from(name),
        Err(_neither) => {
            let text = format!(
                "'{name}' is no Telegram chat: it takes a number, or @NAME for a public channel"
            );
            return Err(Fault::new(FaultKind::PermChat, text));
        }
    };
    parameters.insert("chat_id".to_owned(), id);
    if let Some(thread) = &chat.thread {
        let number = thread.as_str().parse::<i64>().map_err(|_no_number| {
            Fault::new(
                FaultKind::PermChat,
                format!("'{thread}' is no Telegram topic: it takes a number"),
            )
        })?;
        if number != GENERAL {
            parameters.insert("message_thread_id".to_owned(), number.into());
        }
    }
    Ok(parameters)
}

pub(crate) fn put_words(
    parameters: &mut Map<String, Value>,
    text: &str,
    entities: &str,
    said: Words,
) -> Result<(), Fault> {
    if !said.entities.is_empty() {
        let list = serde_json::to_value(&said.entities).map_err(|error| {
            Fault::new(
                FaultKind::PermItem,
                format!("formatting can't be written: {error}"),
            )
        })?;
        parameters.insert(entities.to_owned(), list);
    }
    parameters.insert(text.to_owned(), said.text.into());
    Ok(())
}

pub(crate) async fn form(
    parameters: &Map<String, Value>,
    field: &str,
    artifact: &ArtifactRef,
    file_out: u64,
    blobs: &dyn BlobStore,
) -> Result<Multipart, Fault> {
    let (size, reader) = blobs
        .open(&artifact.profile, &artifact.blob.hash)
        .await
        .map_err(|error| unread(&artifact.name, &error))?;
    if size > file_out {
        let text = format!(
            "{} has {}, and Telegram takes files up to {}",
            artifact.name,
            size_text(size),
            size_text(file_out)
        );
        return Err(Fault::new(FaultKind::PermItem, text));
    }
    let mut form = Multipart::new();
    for (name, value) in parameters {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        form = form.text(name, text);
    }
    Ok(form.file(
        field,
        &wire_name(&artifact.name),
        &artifact.blob.mime,
        size,
        pieces(reader, size),
    ))
}

fn unread(name: &str, error: &BlobError) -> Fault {
    let kind = match error {
        BlobError::Missing => FaultKind::PermItem,
        BlobError::Full(_) | BlobError::Io(_) => FaultKind::TempReject,
    };
    Fault::new(kind, format!("{name}: {error}"))
}

/// A form can't carry these in a file's name, and the platform does not undo their escapes.
fn wire_name(name: &str) -> String {
    name.chars()
        .map(|one| match one {
            '"' => '\'',
            '\\' => '_',
            control if control.is_control() => ' ',
            other => other,
        })
        .collect()
}

/// The file's bytes, piece by piece. Between two pieces the reader waits for the disk, and what was handed on goes out.
fn pieces(
    reader: Box<dyn BlobReader>,
    size: u64,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    stream::unfold((Some(reader), 0_u64), move |(reader, sent)| async move {
        let mut reader = reader?;
        match reader.next().await {
            Ok(Some(piece)) => {
                let then = sent.saturating_add(piece.len() as u64);
                if sent < size.div_ceil(2) && size.div_ceil(2) <= then {
                    failpoint::point("C6");
                }
                Some((Ok(piece), (Some(reader), then)))
            }
            Ok(None) => None,
            Err(error) => Some((Err(io::Error::other(error)), (None, sent))),
        }
    })
}
