//! The chat's page, and the gate before every page. The outbox has its own: `parcels::page`.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};

use crate::error::Refused;
use crate::login;
use crate::options::ProfileCard;
use crate::router::Surface;

#[derive(Template)]
#[template(path = "chat.html")]
struct Chat<'a> {
    build: &'a str,
    profiles: &'a [ProfileCard],
    attachment_bytes: u64,
    attachment_text: String,
    longest_text: usize,
    most_files: usize,
}

/// Why somebody stands before the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// No session.
    LoggedOut,
    /// A link that was used, is too old, or never was.
    StaleLink,
}

#[derive(Template)]
#[template(path = "gate.html")]
struct GatePage<'a> {
    build: &'a str,
    stale: bool,
}

pub(crate) fn render(status: StatusCode, page: &impl Template) -> Result<Response, Refused> {
    let html = page
        .render()
        .map_err(|error| Refused::unavailable(format!("the page could not be made: {error}")))?;
    Ok((status, Html(html)).into_response())
}

pub(crate) fn gate(surface: &Surface, why: Gate) -> Result<Response, Refused> {
    let page = GatePage {
        build: &surface.build,
        stale: why == Gate::StaleLink,
    };
    render(StatusCode::UNAUTHORIZED, &page)
}

/// `GET /`.
pub(crate) async fn home(
    State(surface): State<Arc<Surface>>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    if !login::logged_in(&surface, &headers).await? {
        return gate(&surface, Gate::LoggedOut);
    }
    let options = &surface.options;
    let page = Chat {
        build: &surface.build,
        profiles: &options.profiles,
        attachment_bytes: options.attachment_bytes,
        attachment_text: sandbox::size_text(options.attachment_bytes),
        longest_text: chat_web::LONGEST_TEXT,
        most_files: crate::files::MOST,
    };
    render(StatusCode::OK, &page)
}
