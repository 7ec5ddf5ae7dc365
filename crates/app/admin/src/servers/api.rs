//! The API: list, accept.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use waybill::ProfileId;

use crate::asked::Asked;
use crate::conversations::parse;
use crate::error::Refused;
use crate::router::Surface;

/// `GET /api/mcp`.
pub(crate) async fn list(State(surface): State<Arc<Surface>>) -> Json<Value> {
    Json(json!({ "servers": surface.options.servers.standing() }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    question: String,
}

/// `POST /api/mcp/PROFILE/SERVER/accept`: 200 when the owner's word is taken; 404 if there is no such server; 409 if it asks
/// something else by now.
pub(crate) async fn accept(
    State(surface): State<Arc<Surface>>,
    Asked(Path((profile, server))): Asked<Path<(ProfileId, String)>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, Refused> {
    let Answer { question } = parse(body)?;
    let servers = &surface.options.servers;
    let all = servers.standing();
    if !all
        .iter()
        .any(|one| one.profile == profile && one.name == server)
    {
        return Err(Refused::missing("server"));
    }
    servers
        .accept(&profile, &server, &question)
        .map_err(|why| Refused::new(StatusCode::CONFLICT, "conflict", why))?;
    tracing::info!(%profile, server, "the owner accepted what a server offers");
    Ok(Json(json!({ "accepted": server })))
}
