//! The API: list, show, act.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use outbox::Verb;
use outbox::view::{ActedView, MessageView};
use serde::Deserialize;
use serde_json::{Value, json};
use waybill::MessageId;

use crate::asked::Asked;
use crate::error::Refused;
use crate::parcels::wanted::{Wanted, some};
use crate::router::Surface;

fn id(text: &str) -> Result<MessageId, Refused> {
    text.parse()
        .map_err(|error: waybill::IdError| Refused::malformed(error.to_string()))
}

/// `GET /api/outbox?state=&profile=&account=&chat=&before=&most=`.
pub(crate) async fn list(
    State(surface): State<Arc<Surface>>,
    Asked(Query(wanted)): Asked<Query<Wanted>>,
) -> Result<Json<Value>, Refused> {
    let filter = wanted.filter().map_err(Refused::malformed)?;
    let (rows, next) = some(&surface, filter).await?;
    let messages: Vec<MessageView<'_>> = rows.iter().map(MessageView::of).collect();
    Ok(Json(json!({ "messages": messages, "next": next })))
}

/// `GET /api/outbox/ID`.
pub(crate) async fn show(
    State(surface): State<Arc<Surface>>,
    Asked(Path(text)): Asked<Path<String>>,
) -> Result<Json<Value>, Refused> {
    let row = surface.options.outbox.show(id(&text)?).await?;
    let row = row.ok_or_else(|| Refused::missing(&format!("parcel: {text}")))?;
    Ok(Json(json!(MessageView::of(&row))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    part: Option<u32>,
}

/// `POST /api/outbox/ID/VERB?part=N`: 200 with what changed and what did not; 409 if nothing did.
pub(crate) async fn act(
    State(surface): State<Arc<Surface>>,
    Asked(Path((text, verb))): Asked<Path<(String, String)>>,
    Asked(Query(Which { part })): Asked<Query<Which>>,
) -> Result<Json<ActedView>, Refused> {
    let id = id(&text)?;
    let verb = Verb::ALL
        .into_iter()
        .find(|known| known.name() == verb)
        .ok_or_else(|| {
            let known = Verb::ALL.map(Verb::name).join(", ");
            Refused::missing(&format!("wish: '{verb}'; wishes are {known}"))
        })?;
    let now = surface.options.clock.now();
    let acted = surface.options.outbox.act(id, part, verb, now).await?;
    let Some(acted) = acted else {
        return Err(Refused::missing(&match part {
            Some(part) => format!("parcel, or it has no part {part}: {id}"),
            None => format!("parcel: {id}"),
        }));
    };
    let view = ActedView::of(id, verb, &acted);
    if view.changed.is_empty() {
        return Err(Refused::new(
            StatusCode::CONFLICT,
            "conflict",
            nothing_done(&view),
        ));
    }
    tracing::info!(%id, ?part, verb = verb.name(), "the owner acted on a parcel");
    Ok(Json(view))
}

fn nothing_done(view: &ActedView) -> String {
    let each: Vec<String> = view
        .left
        .iter()
        .map(|part| format!("part {}: {}", part.part, part.why.unwrap_or_default()))
        .collect();
    format!("nothing was changed; {}", each.join("; "))
}
