//! The page. It reads without a script; `assets/servers.js` keeps it fresh and accepts.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::port::{ToolServer, ToolServerState};
use crate::error::Refused;
use crate::login;
use crate::page::{Gate, gate, render};
use crate::router::Surface;

#[derive(Template)]
#[template(path = "servers.html")]
struct Page<'a> {
    build: &'a str,
    cards: Vec<Card>,
}

/// A server as people read it.
struct Card {
    server: ToolServer,
    tone: &'static str,
    state: &'static str,
}

impl From<ToolServer> for Card {
    fn from(server: ToolServer) -> Self {
        let (tone, state) = match server.state {
            ToolServerState::Ready => ("good", "Ready"),
            ToolServerState::Connecting => ("plain", "Connecting"),
            ToolServerState::Away => ("bad", "Away"),
            ToolServerState::Changed => ("bad", "Changed"),
            ToolServerState::Resting => ("plain", "Resting"),
        };
        Self {
            server,
            tone,
            state,
        }
    }
}

/// `GET /servers`.
pub(crate) async fn all(
    State(surface): State<Arc<Surface>>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    if !login::logged_in(&surface, &headers).await? {
        return gate(&surface, Gate::LoggedOut);
    }
    let standing = surface.options.servers.standing();
    let page = Page {
        build: &surface.build,
        cards: standing.into_iter().map(Card::from).collect(),
    };
    render(StatusCode::OK, &page)
}
