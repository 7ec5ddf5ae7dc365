//! Which path leads where.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use tokio::sync::watch;

use crate::error::Refused;
use crate::options::{Options, Status};
use crate::{assets, conversations, events, files, guard, login, page};

/// Largest JSON body: the longest text, written in escapes, fits.
const BODY: usize = 2 << 20;

/// What every handler may look at.
pub(crate) struct Surface {
    pub(crate) options: Options,
    /// Where we listen.
    pub(crate) address: SocketAddr,
    /// The hash in the assets' addresses.
    pub(crate) build: String,
    /// Turns true when the listener closes; streams end then.
    pub(crate) stopping: watch::Receiver<bool>,
}

async fn ready(State(surface): State<Arc<Surface>>) -> Response {
    if surface.options.status.status().ready {
        "ready".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready").into_response()
    }
}

async fn status(State(surface): State<Arc<Surface>>) -> Json<Status> {
    Json(surface.options.status.status())
}

pub(crate) fn router(surface: Arc<Surface>) -> Router {
    let inside = Router::new()
        .route("/api/status", get(status))
        .route(
            "/api/conversations",
            get(conversations::list).post(conversations::create),
        )
        .route(
            "/api/conversations/{id}/messages",
            get(conversations::messages).post(conversations::say),
        )
        .route("/api/conversations/{id}/events", get(events::events))
        .route("/api/conversations/{id}/files", post(files::upload))
        .route("/files/{profile}/{hash}/{name}", get(files::download))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&surface),
            login::require,
        ));
    Router::new()
        .route("/", get(page::home))
        .route("/login", get(login::enter))
        .route("/logout", post(login::leave))
        .route("/health", get(|| async { "ok" }))
        .route("/ready", get(ready))
        .route("/assets/{build}/{*name}", get(assets::asset))
        .merge(inside)
        .fallback(|| async { Refused::missing("page") })
        .layer(DefaultBodyLimit::max(BODY))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&surface),
            guard::guard,
        ))
        .with_state(surface)
}
