//! Buttons under messages, and what becomes of a tap on one.

use serde::Deserialize;
use serde_json::{Value, json};

use super::act::{Refusal, bad};
use super::edit::{SAME, mine, told};
use super::request::Call;
use super::state::{Inner, RoomKey};

/// A button under a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Button {
    /// What it says.
    pub text: String,
    /// What comes back with a tap (Bot API 10.1: 1 to 64 bytes).
    pub callback_data: String,
}

/// A tap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tap {
    /// Its id.
    pub id: String,
    /// What the person read of it, once it was answered.
    pub answer: Option<String>,
    /// Whether that stood in a box that has to be closed.
    pub alert: bool,
    pub(super) token: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Markup {
    inline_keyboard: Vec<Vec<Button>>,
}

/// The buttons that a request puts under its message.
pub(super) fn buttons(inner: &mut Inner, call: &Call) -> Result<Vec<Vec<Button>>, Refusal> {
    let markup = call.param("reply_markup");
    if markup.is_null() {
        return Ok(Vec::new());
    }
    let wrong = |inner: &mut Inner, why: String| {
        inner.violations.push(format!("{}: {why}", call.method));
        Err(bad(&format!("can't parse inline keyboard button: {why}")))
    };
    let markup = match Markup::deserialize(markup) {
        Ok(markup) => markup,
        Err(why) => return wrong(inner, why.to_string()),
    };
    let all = || markup.inline_keyboard.iter().flatten();
    if all().count() > 100 {
        return wrong(inner, "too many buttons".to_owned());
    }
    if markup.inline_keyboard.iter().any(Vec::is_empty) {
        return wrong(inner, "a row without buttons".to_owned());
    }
    if let Some(button) = all().find(|button| button.text.trim().is_empty()) {
        return wrong(inner, format!("a button without text: {button:?}"));
    }
    if let Some(button) = all().find(|button| !(1..=64).contains(&button.callback_data.len())) {
        inner
            .violations
            .push(format!("{}: {button:?}", call.method));
        return Err(bad("BUTTON_DATA_INVALID"));
    }
    Ok(markup.inline_keyboard)
}

pub(super) fn edit_markup(inner: &mut Inner, call: &Call) -> Result<Value, Refusal> {
    let buttons = buttons(inner, call)?;
    let (key, shown) = mine(inner, call)?;
    if shown.buttons == buttons {
        return Err(bad(SAME));
    }
    shown.buttons = buttons;
    Ok(told(inner, call, key, &[], serde_json::Map::new()))
}

pub(super) fn answer(inner: &mut Inner, call: &Call) -> Result<Value, Refusal> {
    let id = call.param("callback_query_id").as_str().unwrap_or_default();
    let text = call.param("text").as_str().unwrap_or_default();
    if text.chars().count() > 200 {
        inner
            .violations
            .push("answerCallbackQuery: a text of more than 200 characters".to_owned());
        return Err(bad("MESSAGE_TOO_LONG"));
    }
    let tap = inner
        .taps
        .iter_mut()
        .find(|tap| tap.id == id && tap.token == call.token);
    match tap {
        Some(tap) if tap.answer.is_none() => {
            tap.answer = Some(text.to_owned());
            tap.alert = call.param("show_alert") == &Value::Bool(true);
            Ok(true.into())
        }
        Some(_) | None => Err(bad(
            "query is too old and response timeout expired or query ID is invalid",
        )),
    }
}

/// A person taps a button; `data` is what it holds, or what somebody made up.
pub(super) fn put(
    inner: &mut Inner,
    token: &str,
    chat: i64,
    message_id: i64,
    (user, name): (i64, &str),
    data: &str,
) -> String {
    let bot = inner.bots.get(token).map_or(0, |bot| bot.id);
    let key = RoomKey::new(bot, chat);
    let id = format!(
        "{}",
        7_000_000_000_000_i64 + i64::try_from(inner.taps.len()).unwrap_or_default()
    );
    let message = inner
        .rooms
        .get(&key)
        .and_then(|room| room.messages.get(&message_id).cloned())
        .unwrap_or_else(|| json!({"message_id": message_id, "chat": {"id": chat, "type": "private"}, "date": 0}));
    inner.taps.push(Tap {
        id: id.clone(),
        answer: None,
        alert: false,
        token: token.to_owned(),
    });
    let query = json!({
        "id": id,
        "from": {"id": user, "is_bot": false, "first_name": name},
        "message": message,
        "chat_instance": format!("{chat}"),
        "data": data,
    });
    inner.push(token, json!({ "callback_query": query }));
    id
}
