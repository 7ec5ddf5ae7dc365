//! The two-phase carrier: a placeholder without content, then an edit that fills it.
//!
//! Telegram has no key that refuses a repeat, and a bot can't read what it sent. A lost answer to the placeholder leaves at
//! worst an empty one; once its id is stored, filling it twice shows the same as filling it once.

use chat::{Delivery, Done, Fault, FaultKind, Op, Receipt, Shape, Step};
use sandbox::{BlobStore, size_text};
use serde_json::{Map, Value, json};
use waybill::ChatKey;

use crate::api::Api;
use crate::classify::Effect;
use crate::deliver::{address, beginning, form, put_text, put_words};
use crate::outgoing::words;
use crate::taps;
use crate::wire::Sent;

/// The form's name of the file that an edit uploads.
const UPLOAD: &str = "upload";

/// Puts the placeholder there.
pub(crate) async fn put(api: &Api, delivery: &Delivery<'_>) -> Result<Done, Fault> {
    let mut parameters = beginning(delivery)?;
    let text = match delivery.op {
        Op::Text(_) | Op::Question { .. } => "…".to_owned(),
        Op::File { artifact, .. } => format!(
            "⏳ {} ({}) is on its way…",
            artifact.name,
            size_text(artifact.blob.size)
        ),
    };
    parameters.insert("text".to_owned(), text.into());
    let sent: Sent = api.call(Effect::Send, "sendMessage", &parameters).await?;
    failpoint::point("C9");
    Ok(Done::Step(Step::new(sent.message_id.to_string())))
}

/// Fills it; again, if need be.
pub(crate) async fn fill(
    api: &Api,
    file_out: u64,
    delivery: &Delivery<'_>,
    step: &Step,
    blobs: &dyn BlobStore,
) -> Result<Done, Fault> {
    let mut parameters = placed(delivery.chat, step)?;
    let edited: Result<Value, Fault> = match delivery.op {
        Op::Question { body, choices, .. } => {
            put_text(&mut parameters, body, delivery.may_be_repeat)?;
            if !choices.is_empty() {
                parameters.insert("reply_markup".to_owned(), taps::keyboard(choices));
            }
            api.call(Effect::Send, "editMessageText", &parameters).await
        }
        Op::Text(body) => {
            put_text(&mut parameters, body, delivery.may_be_repeat)?;
            api.call(Effect::Send, "editMessageText", &parameters).await
        }
        Op::File {
            artifact,
            shape,
            caption,
        } => {
            let mut media = Map::new();
            let kind = match shape {
                Shape::Photo => "photo",
                Shape::Document | Shape::Auto | Shape::Voice => "document",
            };
            media.insert("type".to_owned(), kind.into());
            media.insert("media".to_owned(), format!("attach://{UPLOAD}").into());
            let said = words(caption.as_ref(), delivery.may_be_repeat);
            if !said.text.is_empty() {
                put_words(&mut media, "caption", "caption_entities", said)?;
            }
            parameters.insert("media".to_owned(), Value::Object(media));
            let form = form(&parameters, UPLOAD, artifact, file_out, blobs).await?;
            api.upload(Effect::Send, "editMessageMedia", form).await
        }
    };
    failpoint::point("C9");
    match edited {
        Ok(_message) => Ok(filled(step)),
        Err(fault) if fault.kind == FaultKind::NoChange => Ok(filled(step)),
        Err(fault) => Err(fault),
    }
}

fn filled(step: &Step) -> Done {
    Done::All(Receipt::new(step.as_str()))
}

/// Takes a placeholder away that will not be filled. Best effort: a bot may delete what it wrote within two days.
pub(crate) async fn take_away(api: &Api, chat: &ChatKey, step: &Step) {
    let gone: Result<bool, Fault> = match placed(chat, step) {
        Ok(parameters) => {
            api.call(Effect::Repeatable, "deleteMessage", &parameters)
                .await
        }
        Err(fault) => Err(fault),
    };
    if let Err(fault) = gone {
        tracing::warn!(%chat, text = %fault.text, "a placeholder could not be taken away");
    }
}

fn placed(chat: &ChatKey, step: &Step) -> Result<Map<String, Value>, Fault> {
    let id: i64 = step.as_str().parse().map_err(|_no_number| {
        let text = format!("'{}' is no message of Telegram's", step.as_str());
        Fault::new(FaultKind::PermItem, text)
    })?;
    let mut parameters = address(chat)?;
    parameters.remove("message_thread_id");
    parameters.insert("message_id".to_owned(), json!(id));
    Ok(parameters)
}
