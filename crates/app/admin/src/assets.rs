//! Style, scripts and pictures of the pages, inside the binary.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use rust_embed::Embed;

use crate::asked::Asked;
use crate::error::Refused;
use crate::router::Surface;

#[derive(Embed)]
#[folder = "assets/"]
struct Assets;

/// One hash over all of them. It stands in each address, so that a browser may keep what it has for ever, and scripts can
/// name each other without knowing it.
pub(crate) fn build() -> String {
    let mut names: Vec<_> = Assets::iter().collect();
    names.sort();
    let mut hasher = blake3::Hasher::new();
    for name in names {
        let data = Assets::get(&name).map(|file| file.data).unwrap_or_default();
        for field in [name.as_bytes(), &data] {
            hasher.update(&(field.len() as u64).to_be_bytes());
            hasher.update(field);
        }
    }
    hasher.finalize().to_hex().chars().take(16).collect()
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some(_) | None => "application/octet-stream",
    }
}

/// `GET /assets/BUILD/NAME`.
pub(crate) async fn asset(
    State(surface): State<Arc<Surface>>,
    Asked(Path((build, name))): Asked<Path<(String, String)>>,
) -> Result<Response, Refused> {
    let file = Assets::get(&name).ok_or_else(|| Refused::missing("page"))?;
    let keep = if build == surface.build {
        "public, max-age=31536000, immutable"
    } else {
        "no-store"
    };
    let mut response = file.data.into_owned().into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(media_type(&name)),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    Ok(response)
}
