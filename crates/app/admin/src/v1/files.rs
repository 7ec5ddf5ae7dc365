//! `GET /v1/files/ID/content`: what an answer linked to, for who has the key that it was made for.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use sandbox::ContentHash;

use super::Refusal;
use super::key::Caller;
use crate::files::serve;
use crate::router::Surface;

/// Only files that were sent to this client: a hash that somebody learned elsewhere opens nothing.
pub(crate) async fn content(
    State(surface): State<Arc<Surface>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let missing = || Refusal::missing("there is no such file, or it is kept no longer");
    let hash: ContentHash = id
        .strip_prefix("file-")
        .and_then(|hash| hash.parse().ok())
        .ok_or_else(missing)?;
    let ports = &surface.options.v1;
    let sent = ports
        .answers
        .sent_file(ports.api.account(), &caller.client, &caller.profile, &hash)
        .await?;
    let file = sent.ok_or_else(missing)?;
    Ok(serve(&surface, &caller.profile, hash, &file.name, &headers).await?)
}
