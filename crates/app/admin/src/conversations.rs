//! Conversations and their messages.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chat::ChatAdapter as _;
use chat_web::{Said, SayError, Tapped};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use session::ConversationRow;
use waybill::{Conversation, ProfileId};

use crate::asked::Asked;
use crate::error::Refused;
use crate::files;
use crate::progress::view;
use crate::router::Surface;
use crate::view::{EntryView, Form};

/// Most conversations in the list.
const LISTED: usize = 200;
/// Most entries that a page gets at once: the last ones.
pub(crate) const ENTRIES: usize = 500;

fn row(row: &ConversationRow) -> Value {
    json!({
        "id": row.conversation,
        "profile": row.profile,
        "title": row.title,
        "touched_at": row.touched_at.as_millisecond(),
    })
}

/// The conversation of this id, which must be there.
pub(crate) async fn find(surface: &Surface, id: String) -> Result<ConversationRow, Refused> {
    let id = Conversation::new(id).map_err(|error| Refused::malformed(error.to_string()))?;
    surface
        .options
        .visible
        .conversation(&id)
        .await?
        .ok_or_else(|| Refused::missing("conversation"))
}

pub(crate) fn parse<T: DeserializeOwned>(
    body: Result<Bytes, BytesRejection>,
) -> Result<T, Refused> {
    let body = body.map_err(|error| Refused::too_large(error.to_string()))?;
    serde_json::from_slice(&body)
        .map_err(|error| Refused::malformed(format!("the request can't be read: {error}")))
}

/// `GET /api/conversations`.
pub(crate) async fn list(State(surface): State<Arc<Surface>>) -> Result<Json<Value>, Refused> {
    let rows = surface.options.visible.conversations(LISTED).await?;
    Ok(Json(
        json!({ "conversations": rows.iter().map(row).collect::<Vec<_>>() }),
    ))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewConversation {
    profile: ProfileId,
}

/// `POST /api/conversations`.
pub(crate) async fn create(
    State(surface): State<Arc<Surface>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refused> {
    let NewConversation { profile } = parse(body)?;
    if !surface
        .options
        .profiles
        .iter()
        .any(|card| card.id == profile)
    {
        return Err(Refused::missing(&format!("profile: '{profile}'")));
    }
    let id = surface.options.ids.uuid().simple().to_string();
    let conversation =
        Conversation::new(id).map_err(|error| Refused::unavailable(error.to_string()))?;
    let touched_at = surface.options.clock.now();
    let made = ConversationRow {
        conversation,
        profile,
        title: String::new(),
        touched_at,
    };
    let answer = row(&made);
    surface.options.visible.open(made).await?;
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shown {
    #[serde(default)]
    form: Form,
}

/// `GET /api/conversations/ID/messages?form=html|markdown`.
pub(crate) async fn messages(
    State(surface): State<Arc<Surface>>,
    Asked(Path(id)): Asked<Path<String>>,
    Asked(Query(shown)): Asked<Query<Shown>>,
) -> Result<Json<Value>, Refused> {
    let found = find(&surface, id).await?;
    let entries = surface
        .options
        .visible
        .entries(&found.conversation, 0, ENTRIES)
        .await?;
    let entries: Vec<EntryView> = entries
        .iter()
        .map(|entry| EntryView::of(entry, None, shown.form))
        .collect();
    Ok(Json(
        json!({ "conversation": row(&found), "entries": entries }),
    ))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMessage {
    id: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    files: Vec<NewFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewFile {
    hash: sandbox::ContentHash,
    name: String,
}

/// `POST /api/conversations/ID/messages`: 202 when it is durable. The same `id` again changes nothing.
pub(crate) async fn say(
    State(surface): State<Arc<Surface>>,
    Asked(Path(id)): Asked<Path<String>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refused> {
    let found = find(&surface, id).await?;
    let message: NewMessage = parse(body)?;
    if message.files.len() > files::MOST {
        return Err(refusal(SayError::TooManyFiles));
    }
    let mut named = Vec::with_capacity(message.files.len());
    for file in message.files {
        named.push(files::uploaded(&surface, &found.profile, file.hash, &file.name).await?);
    }
    let said = Said {
        conversation: found.conversation,
        message: message.id,
        text: message.text,
        files: named,
    };
    let heard = surface.options.web.say(said).await.map_err(refusal)?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "entry": heard.entry }))).into_response())
}

/// `GET /api/conversations/ID/messages/MESSAGE`: how far a message is that was said here.
pub(crate) async fn progress(
    State(surface): State<Arc<Surface>>,
    Asked(Path((id, message))): Asked<Path<(String, String)>>,
) -> Result<Json<Value>, Refused> {
    let found = find(&surface, id).await?;
    let (web, answers) = (&surface.options.web, &surface.options.v1.answers);
    let event = Said::event_key_of(&found.conversation, &message);
    let progress = answers.progress(web.account(), &event).await?;
    let progress = progress.ok_or_else(|| Refused::missing("message"))?;
    Ok(Json(view(&progress)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTap {
    id: String,
    entry: i64,
    token: String,
}

/// `POST /api/conversations/ID/taps`: an answer of a question was chosen. 202 when it is durable, with what came of it.
pub(crate) async fn tap(
    State(surface): State<Arc<Surface>>,
    Asked(Path(id)): Asked<Path<String>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refused> {
    let found = find(&surface, id).await?;
    let NewTap { id, entry, token } = parse(body)?;
    let tapped = Tapped {
        conversation: found.conversation,
        id,
        entry,
        token,
    };
    let answer = surface.options.web.tap(tapped).await.map_err(refusal)?;
    let (says, over) = answer.map_or((None, false), |answer| (Some(answer.says), answer.over));
    Ok((
        StatusCode::ACCEPTED,
        Json(json!({ "says": says, "over": over })),
    )
        .into_response())
}

fn refusal(error: SayError) -> Refused {
    let text = error.to_string();
    match error {
        SayError::Empty | SayError::Id | SayError::TooManyFiles => Refused::malformed(text),
        SayError::TooLong => Refused::too_large(text),
        SayError::NotStored(_) | SayError::NotListening | SayError::Unknown => {
            Refused::unavailable(text)
        }
    }
}
