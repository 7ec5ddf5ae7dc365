//! One update, parsed by itself.

use chat::{Event, Inbound, InboundKind};
use serde::Deserialize;
use serde_json::value::RawValue;
use waybill::AccountId;

use crate::inbound::{Me, inbound};
use crate::taps::tap;
use crate::wire::{CallbackQuery, Message};

/// The kinds of update that we ask for.
pub(crate) const KINDS: [&str; 3] = ["message", "edited_message", "callback_query"];

#[derive(Deserialize)]
struct Numbered {
    update_id: i64,
}

#[derive(Deserialize)]
struct Update<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    edited_message: Option<&'a RawValue>,
    #[serde(borrow)]
    callback_query: Option<&'a RawValue>,
}

/// Only what names a message, so that one that can't be understood has the same key as when it can.
#[derive(Deserialize)]
struct Named {
    message_id: i64,
    edit_date: Option<i64>,
    chat: NamedChat,
}

#[derive(Deserialize)]
struct NamedChat {
    id: i64,
}

/// The update's number, if it has one, and the event.
///
/// A message's key is made of its chat and its id: an update's number may start anew after a week of silence. Every key
/// begins with the bot's id: another bot under the same account's name has chats and numbers of its own.
pub(crate) fn event(
    me: &Me,
    account: &AccountId,
    raw: &str,
    fallback: &str,
) -> (Option<i64>, Event) {
    let number = serde_json::from_str::<Numbered>(raw)
        .ok()
        .map(|update| update.update_id);
    let bot = me.id;
    let plain = number.map_or_else(
        || format!("x{bot}:{fallback}"),
        |number| format!("u{bot}:{number}"),
    );
    let event = |key, parsed| Event {
        key,
        raw: raw.to_owned(),
        parsed,
    };
    let update = match serde_json::from_str::<Update<'_>>(raw) {
        Ok(update) => update,
        Err(error) => return (number, event(plain, Err(format!("no update: {error}")))),
    };
    if number.is_none() {
        return (
            None,
            event(plain, Err("an update without a number".to_owned())),
        );
    }
    if let Some(query) = update.callback_query {
        return (number, tapped(account, query.get(), &plain, &event, bot));
    }
    let (body, kind) = match (update.message, update.edited_message) {
        (Some(body), _) => (body.get(), InboundKind::Message),
        (None, Some(body)) => (body.get(), InboundKind::Edit),
        (None, None) => return (number, event(plain, Ok(None))),
    };
    let key = match (serde_json::from_str::<Named>(body), &kind) {
        (Ok(named), InboundKind::Message | InboundKind::Moved { .. } | InboundKind::Tap { .. }) => {
            format!("m{bot}:{}:{}", named.chat.id, named.message_id)
        }
        (Ok(named), InboundKind::Edit) => {
            let date = named.edit_date.unwrap_or_default();
            format!("e{bot}:{}:{}:{date}", named.chat.id, named.message_id)
        }
        (Err(_malformed), _) => plain,
    };
    let parsed = serde_json::from_str::<Message>(body)
        .map_err(|error| format!("a message that can't be read: {error}"))
        .and_then(|message| inbound(me, account, &message, kind));
    (number, event(key, parsed))
}

/// A tap: its id is nobody else's, and holds for the bot alone.
fn tapped(
    account: &AccountId,
    query: &str,
    plain: &str,
    event: &impl Fn(String, Result<Option<Inbound>, String>) -> Event,
    bot: i64,
) -> Event {
    let parsed = serde_json::from_str::<CallbackQuery>(query);
    let key = match &parsed {
        Ok(query) => format!("c{bot}:{}", query.id),
        Err(_malformed) => plain.to_owned(),
    };
    let parsed = parsed
        .map_err(|error| format!("a tap that can't be read: {error}"))
        .and_then(|query| tap(account, &query));
    event(key, parsed)
}

#[cfg(test)]
mod tests;
