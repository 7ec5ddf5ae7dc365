//! Which path leads where: one table, which the description is made of as well.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use axum::{Json, Router, middleware};
use tokio::sync::watch;

use crate::error::Refused;
use crate::openapi::Operation;
use crate::options::{Options, Status};
use crate::{
    assets, conversations, events, files, guard, login, metrics, openapi, page, parcels, sandboxes,
    servers, usage, v1,
};

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
    /// What a monitor was last told.
    pub(crate) metrics: metrics::Kept,
    /// What is remembered of programs between their requests.
    pub(crate) v1: v1::Desk,
}

/// Alive either way: a probe must not restart what only lacks room.
async fn health(State(surface): State<Arc<Surface>>) -> String {
    match surface.options.status.degraded() {
        None => "ok".to_owned(),
        Some(trouble) => format!("degraded: {trouble}"),
    }
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

/// How a row is asked for. Where there is GET, there is HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
}

/// Who may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// Everybody whom the guard lets through.
    Open,
    /// Only who has an open session.
    Session,
    /// Only programs with a key.
    Key,
}

/// A row of the table.
pub(crate) struct Route {
    pub(crate) verb: Verb,
    pub(crate) path: &'static str,
    pub(crate) door: Door,
    /// Its description; `None` for pages and what belongs to them, and for `/v1`, whose form others gave it.
    pub(crate) operation: Option<fn() -> Operation>,
    handler: fn(MethodFilter) -> MethodRouter<Arc<Surface>>,
}

/// All of them. The router and the description are made of these.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route {
            verb: Verb::Get,
            path: "/",
            door: Door::Open,
            operation: None,
            handler: |verb| on(verb, page::home),
        },
        Route {
            verb: Verb::Get,
            path: "/outbox",
            door: Door::Open,
            operation: None,
            handler: |verb| on(verb, parcels::all),
        },
        Route {
            verb: Verb::Get,
            path: "/outbox/{id}",
            door: Door::Open,
            operation: None,
            handler: |verb| on(verb, parcels::one),
        },
        Route {
            verb: Verb::Get,
            path: "/sandboxes",
            door: Door::Open,
            operation: None,
            handler: |verb| on(verb, sandboxes::all),
        },
        Route {
            verb: Verb::Get,
            path: "/servers",
            door: Door::Open,
            operation: None,
            handler: |verb| on(verb, servers::all),
        },
        Route {
            verb: Verb::Get,
            path: "/usage",
            door: Door::Open,
            operation: None,
            handler: |verb| on(verb, usage::all),
        },
        Route {
            verb: Verb::Get,
            path: "/assets/{build}/{*name}",
            door: Door::Open,
            operation: None,
            handler: |verb| on(verb, assets::asset),
        },
        Route {
            verb: Verb::Get,
            path: "/login",
            door: Door::Open,
            operation: Some(openapi::enter),
            handler: |verb| on(verb, login::enter),
        },
        Route {
            verb: Verb::Post,
            path: "/logout",
            door: Door::Open,
            operation: Some(openapi::leave),
            handler: |verb| on(verb, login::leave),
        },
        Route {
            verb: Verb::Get,
            path: "/health",
            door: Door::Open,
            operation: Some(openapi::health),
            handler: |verb| on(verb, health),
        },
        Route {
            verb: Verb::Get,
            path: "/ready",
            door: Door::Open,
            operation: Some(openapi::ready),
            handler: |verb| on(verb, ready),
        },
        Route {
            verb: Verb::Get,
            path: "/metrics",
            door: Door::Open,
            operation: Some(openapi::metrics),
            handler: |verb| on(verb, metrics::metrics),
        },
        Route {
            verb: Verb::Get,
            path: "/api/openapi.json",
            door: Door::Open,
            operation: Some(openapi::describe),
            handler: |verb| on(verb, openapi::serve),
        },
        Route {
            verb: Verb::Get,
            path: "/api/status",
            door: Door::Session,
            operation: Some(openapi::status),
            handler: |verb| on(verb, status),
        },
        Route {
            verb: Verb::Get,
            path: "/api/conversations",
            door: Door::Session,
            operation: Some(openapi::list),
            handler: |verb| on(verb, conversations::list),
        },
        Route {
            verb: Verb::Post,
            path: "/api/conversations",
            door: Door::Session,
            operation: Some(openapi::create),
            handler: |verb| on(verb, conversations::create),
        },
        Route {
            verb: Verb::Get,
            path: "/api/conversations/{id}/messages",
            door: Door::Session,
            operation: Some(openapi::messages),
            handler: |verb| on(verb, conversations::messages),
        },
        Route {
            verb: Verb::Post,
            path: "/api/conversations/{id}/messages",
            door: Door::Session,
            operation: Some(openapi::say),
            handler: |verb| on(verb, conversations::say),
        },
        Route {
            verb: Verb::Get,
            path: "/api/conversations/{id}/messages/{message}",
            door: Door::Session,
            operation: Some(openapi::progress),
            handler: |verb| on(verb, conversations::progress),
        },
        Route {
            verb: Verb::Post,
            path: "/api/conversations/{id}/taps",
            door: Door::Session,
            operation: Some(openapi::tap),
            handler: |verb| on(verb, conversations::tap),
        },
        Route {
            verb: Verb::Get,
            path: "/api/conversations/{id}/events",
            door: Door::Session,
            operation: Some(openapi::events),
            handler: |verb| on(verb, events::events),
        },
        Route {
            verb: Verb::Post,
            path: "/api/conversations/{id}/files",
            door: Door::Session,
            operation: Some(openapi::upload),
            handler: |verb| on(verb, files::upload),
        },
        Route {
            verb: Verb::Get,
            path: "/api/outbox",
            door: Door::Session,
            operation: Some(openapi::parcels),
            handler: |verb| on(verb, parcels::list),
        },
        Route {
            verb: Verb::Get,
            path: "/api/outbox/{id}",
            door: Door::Session,
            operation: Some(openapi::parcel),
            handler: |verb| on(verb, parcels::show),
        },
        Route {
            verb: Verb::Post,
            path: "/api/outbox/{id}/{verb}",
            door: Door::Session,
            operation: Some(openapi::act),
            handler: |verb| on(verb, parcels::act),
        },
        Route {
            verb: Verb::Get,
            path: "/api/usage",
            door: Door::Session,
            operation: Some(openapi::usage),
            handler: |verb| on(verb, usage::list),
        },
        Route {
            verb: Verb::Get,
            path: "/api/sandboxes",
            door: Door::Session,
            operation: Some(openapi::sandboxes),
            handler: |verb| on(verb, sandboxes::list),
        },
        Route {
            verb: Verb::Post,
            path: "/api/sandboxes/{id}/stop",
            door: Door::Session,
            operation: Some(openapi::stop_sandbox),
            handler: |verb| on(verb, sandboxes::stop),
        },
        Route {
            verb: Verb::Get,
            path: "/api/mcp",
            door: Door::Session,
            operation: Some(openapi::tool_servers),
            handler: |verb| on(verb, servers::list),
        },
        Route {
            verb: Verb::Post,
            path: "/api/mcp/{profile}/{server}/accept",
            door: Door::Session,
            operation: Some(openapi::accept_tools),
            handler: |verb| on(verb, servers::accept),
        },
        Route {
            verb: Verb::Get,
            path: "/files/{profile}/{hash}/{name}",
            door: Door::Session,
            operation: Some(openapi::download),
            handler: |verb| on(verb, files::download),
        },
        Route {
            verb: Verb::Post,
            path: "/v1/chat/completions",
            door: Door::Key,
            operation: None,
            handler: |verb| on(verb, v1::completions),
        },
        Route {
            verb: Verb::Get,
            path: "/v1/models",
            door: Door::Key,
            operation: None,
            handler: |verb| on(verb, v1::models),
        },
        Route {
            verb: Verb::Get,
            path: "/v1/models/{id}",
            door: Door::Key,
            operation: None,
            handler: |verb| on(verb, v1::model),
        },
        Route {
            verb: Verb::Get,
            path: "/v1/files/{id}/content",
            door: Door::Key,
            operation: None,
            handler: |verb| on(verb, v1::file),
        },
        Route {
            verb: Verb::Get,
            path: "/v1/{*rest}",
            door: Door::Key,
            operation: None,
            handler: |verb| on(verb, v1::not_there),
        },
        Route {
            verb: Verb::Post,
            path: "/v1/{*rest}",
            door: Door::Key,
            operation: None,
            handler: |verb| on(verb, v1::not_there),
        },
    ]
}

/// The rows behind this door.
fn behind(door: Door) -> Router<Arc<Surface>> {
    routes()
        .into_iter()
        .filter(|row| row.door == door)
        .fold(Router::new(), |router, row| {
            let verb = match row.verb {
                Verb::Get => MethodFilter::GET,
                Verb::Post => MethodFilter::POST,
            };
            router.route(row.path, (row.handler)(verb))
        })
        .method_not_allowed_fallback(move || async move {
            match door {
                Door::Open | Door::Session => Refused::method().into_response(),
                Door::Key => v1::Refusal::method().into_response(),
            }
        })
}

pub(crate) fn router(surface: Arc<Surface>) -> Router {
    let inside = behind(Door::Session).layer(middleware::from_fn_with_state(
        Arc::clone(&surface),
        login::require,
    ));
    let programs = behind(Door::Key).layer(middleware::from_fn_with_state(
        Arc::clone(&surface),
        v1::require,
    ));
    behind(Door::Open)
        .merge(inside)
        .merge(programs)
        .fallback(|| async { Refused::missing("page") })
        .layer(DefaultBodyLimit::max(BODY))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&surface),
            guard::guard,
        ))
        .with_state(surface)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_of_the_owner_is_behind_the_session() {
        for route in routes() {
            let data = route.path.starts_with("/api/") || route.path.starts_with("/files/");
            let behind = data && route.path != "/api/openapi.json";
            assert_eq!(route.door == Door::Session, behind, "{}", route.path);
            let of_programs = route.path.starts_with("/v1/");
            assert_eq!(route.door == Door::Key, of_programs, "{}", route.path);
        }
    }
}
