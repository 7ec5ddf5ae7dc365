//! Questions with buttons, and taps on them.
//!
//! What comes back with a tap can be made up by anybody; only its question knows whether it is an answer. All that is done here
//! is best effort: an answer counts whether its sentence was shown or not.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use chat::{
    Body, Choice, Fault, FaultKind, Inbound, InboundKind, Place, Receipt, RichText, Sender,
    SenderId,
};
use serde_json::{Map, Value, json};
use waybill::{AccountId, Anchor, ChatKey};

use crate::api::Api;
use crate::classify::Effect;
use crate::deliver::{address, put_text};
use crate::inbound::{chat_key, said_at};
use crate::wire::CallbackQuery;

/// Most characters of an answer to a tap (Bot API 10.3).
const SENTENCE: usize = 200;
/// A longer sentence stands in a box that has to be closed: the other kind goes away by itself in a few seconds.
const GLANCE: usize = 60;
/// Questions whose messages are known.
const KEPT: usize = 256;

/// Reads a tap; `Ok(None)` for one on something that is no button of ours.
pub(crate) fn tap(account: &AccountId, query: &CallbackQuery) -> Result<Option<Inbound>, String> {
    let (Some(message), Some(data)) = (&query.message, &query.data) else {
        return Ok(None);
    };
    let place = match message.chat.kind.as_str() {
        "private" => Place::Direct,
        "group" | "supergroup" => Place::Group { addressed: true },
        _ => return Ok(None),
    };
    Ok(Some(Inbound {
        chat: chat_key(account, message)?,
        anchor: Anchor::new(message.message_id.to_string()),
        // Not the message's: that is the bot's.
        sender: Sender {
            id: SenderId::new(query.from.id.to_string()),
            name: query.from.name(),
            bot: query.from.is_bot,
        },
        place,
        kind: InboundKind::Tap {
            token: data.clone(),
            id: query.id.clone(),
        },
        text: String::new(),
        files: Vec::new(),
        quoted: None,
        forwarded_from: None,
        preface: None,
        at: said_at(message)?,
    }))
}

/// One button a row: what they say may be long.
pub(crate) fn keyboard(choices: &[Choice]) -> Value {
    let rows: Vec<Value> = choices
        .iter()
        .map(|choice| json!([{"text": choice.label, "callback_data": choice.token}]))
        .collect();
    json!({ "inline_keyboard": rows })
}

/// Tells whoever tapped what came of it; the buttons of a question that is over go.
pub(crate) async fn answer(api: &Api, chat: &ChatKey, id: &str, says: &str, over: Option<&Anchor>) {
    let sentence: String = says.chars().take(SENTENCE).collect();
    let parameters = json!({
        "callback_query_id": id,
        "text": sentence,
        "show_alert": says.chars().count() > GLANCE,
    });
    let told: Result<bool, Fault> = api
        .call(Effect::Repeatable, "answerCallbackQuery", &parameters)
        .await;
    shown(chat, told.map(drop));
    if let Some(anchor) = over {
        let gone: Result<Value, Fault> = match placed(chat, anchor.as_str()) {
            Ok(parameters) => {
                api.call(Effect::Repeatable, "editMessageReplyMarkup", &parameters)
                    .await
            }
            Err(fault) => Err(fault),
        };
        shown(chat, gone.map(drop));
    }
}

fn placed(chat: &ChatKey, message: &str) -> Result<Map<String, Value>, Fault> {
    let id: i64 = message.parse().map_err(|_no_number| {
        Fault::new(
            FaultKind::PermItem,
            format!("'{message}' is no message of Telegram's"),
        )
    })?;
    let mut parameters = address(chat)?;
    parameters.remove("message_thread_id");
    parameters.insert("message_id".to_owned(), id.into());
    Ok(parameters)
}

fn shown(chat: &ChatKey, done: Result<(), Fault>) {
    match done {
        Ok(()) => {}
        Err(fault) if fault.kind == FaultKind::NoChange => {}
        Err(fault) => {
            tracing::info!(%chat, text = %fault.text, "what became of a question could not be shown");
        }
    }
}

/// A question whose buttons are shown.
struct Shown {
    question: String,
    message: String,
    body: Body,
}

/// The messages of questions, for as long as they may be edited; the oldest go first.
#[derive(Default)]
pub(crate) struct Asked(Mutex<VecDeque<Shown>>);

impl Asked {
    /// A question is shown.
    pub(crate) fn note(&self, question: &str, receipt: &Receipt, body: &Body) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT {
            known.pop_front();
        }
        known.push_back(Shown {
            question: question.to_owned(),
            message: receipt.as_str().to_owned(),
            body: body.clone(),
        });
    }

    fn take(&self, question: &str) -> Option<Shown> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = known.iter().position(|shown| shown.question == question)?;
        known.remove(at)
    }

    /// A question is over: what became of it stands under its words, in place of its buttons.
    pub(crate) async fn over(&self, api: &Api, chat: &ChatKey, question: &str, outcome: &str) {
        let Some(was) = self.take(question) else {
            return;
        };
        let edited = match placed(chat, &was.message) {
            Ok(mut parameters) => match put_text(&mut parameters, &below(was.body, outcome), false)
            {
                Ok(()) => {
                    api.call(Effect::Repeatable, "editMessageText", &parameters)
                        .await
                }
                Err(fault) => Err(fault),
            },
            Err(fault) => Err(fault),
        };
        shown(chat, edited.map(|_message: Value| ()));
    }
}

/// The words, and a line below.
fn below(body: Body, line: &str) -> Body {
    match body {
        Body::Rich(rich) => Body::Rich(RichText {
            text: format!("{}\n\n{line}", rich.text),
            spans: rich.spans,
        }),
        Body::Markdown(text) => Body::Markdown(format!("{text}\n\n{line}")),
    }
}
