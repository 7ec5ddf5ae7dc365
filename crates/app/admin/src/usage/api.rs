//! The API.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};

use crate::asked::Asked;
use crate::error::Refused;
use crate::router::Surface;
use crate::usage::view::{Known, Usage, Wanted};

/// `GET /api/usage?days=N`.
pub(crate) async fn list(
    State(surface): State<Arc<Surface>>,
    Asked(Query(wanted)): Asked<Query<Wanted>>,
) -> Result<Json<Usage>, Refused> {
    let days = wanted.days().map_err(Refused::malformed)?;
    Ok(Json(Known::read(&surface, days).await?.view()))
}
