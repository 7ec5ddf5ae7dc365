//! The API: list, stop.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::asked::Asked;
use crate::error::Refused;
use crate::router::Surface;
use crate::sandboxes::view::{Looked, look};

/// `GET /api/sandboxes`.
pub(crate) async fn list(State(surface): State<Arc<Surface>>) -> Json<Looked> {
    Json(look(&surface).await)
}

/// `POST /api/sandboxes/ID/stop`: 200 when it is ended; 404 if none stands by that id.
pub(crate) async fn stop(
    State(surface): State<Arc<Surface>>,
    Asked(Path(id)): Asked<Path<String>>,
) -> Result<Json<Value>, Refused> {
    for keeper in &surface.options.keepers {
        // Whose keeper can't be asked has nothing of that name; the others may.
        let standing = keeper.standing().await.unwrap_or_default();
        if standing.iter().all(|one| one.id != id) {
            continue;
        }
        return match keeper.stop(&id).await {
            Ok(()) => {
                tracing::info!(id, "the owner ended a sandbox");
                Ok(Json(json!({ "stopped": id })))
            }
            Err(error) => Err(Refused::new(
                StatusCode::CONFLICT,
                "conflict",
                format!("it was not ended: {error}"),
            )),
        };
    }
    Err(Refused::missing("sandbox any more"))
}
