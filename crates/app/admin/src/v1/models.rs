//! `GET /v1/models`: a model is a profile, and a key is for one.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde_json::{Value, json};

use super::Refusal;
use super::key::Caller;
use crate::router::Surface;

fn model(surface: &Surface, caller: &Caller) -> Value {
    json!({
        "id": caller.profile,
        "object": "model",
        "created": surface.options.started_at.as_second(),
        "owned_by": "tidings",
    })
}

/// Whether the profile still is one: it may have gone from the configuration since the key was made.
fn is_there(surface: &Surface, caller: &Caller) -> bool {
    let mut cards = surface.options.profiles.iter();
    cards.any(|card| card.id == caller.profile)
}

/// `GET /v1/models`.
pub(crate) async fn all(
    State(surface): State<Arc<Surface>>,
    Extension(caller): Extension<Caller>,
) -> Json<Value> {
    let mut data = Vec::new();
    if is_there(&surface, &caller) {
        data.push(model(&surface, &caller));
    }
    Json(json!({ "object": "list", "data": data }))
}

/// `GET /v1/models/ID`.
pub(crate) async fn one(
    State(surface): State<Arc<Surface>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Refusal> {
    if id == caller.profile.as_str() && is_there(&surface, &caller) {
        Ok(Json(model(&surface, &caller)))
    } else {
        Err(Refusal::model(&id))
    }
}
