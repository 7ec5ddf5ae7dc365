//! The page. It reads without a script; `assets/sandboxes.js` keeps it fresh and acts.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use sandbox::Driver;
use waybill::Timestamp;

use crate::error::Refused;
use crate::login;
use crate::page::{Gate, gate, render};
use crate::parcels::{Shown, Stamp};
use crate::router::Surface;
use crate::sandboxes::view::{Command, Process, View, look};

/// One sandbox as people read it.
struct Card {
    id: String,
    title: String,
    /// Whom it serves, where that is one conversation.
    conversation: Option<String>,
    driver: String,
    made_of: String,
    running: bool,
    since: Option<Stamp>,
    lease: Option<Stamp>,
    over: bool,
    disk: Option<String>,
    memory: Option<String>,
    processes: Vec<Process>,
    commands: Vec<Command>,
}

impl Card {
    fn of(view: View, now: Timestamp) -> Self {
        let conversation = view
            .profile
            .as_ref()
            .and_then(|profile| {
                let rest = view.key.split_once(':')?.1;
                rest.strip_prefix(profile)?.strip_prefix(':')
            })
            .map(str::to_owned);
        Self {
            title: view.profile.unwrap_or_else(|| "of nobody known".to_owned()),
            conversation,
            id: view.id,
            driver: driver_name(view.driver),
            made_of: view.made_of,
            running: view.state == "running",
            since: view.since.map(|at| Stamp::new(at, Shown::Ago)),
            lease: view.lease.map(|at| Stamp::new(at, Shown::Until)),
            over: view.lease.is_some_and(|at| at <= now),
            disk: view.disk.map(sandbox::size_text),
            memory: view.memory.map(sandbox::size_text),
            processes: view.processes,
            commands: view.commands,
        }
    }
}

/// As the file writes it.
fn driver_name(driver: Driver) -> String {
    match serde_json::to_value(driver) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(_) | Err(_) => String::new(),
    }
}

#[derive(Template)]
#[template(path = "sandboxes.html")]
struct Page<'a> {
    build: &'a str,
    cards: Vec<Card>,
    away: Vec<String>,
    under_way: Vec<String>,
    walls: Vec<(String, String)>,
}

/// `GET /sandboxes`.
pub(crate) async fn all(
    State(surface): State<Arc<Surface>>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    if !login::logged_in(&surface, &headers).await? {
        return gate(&surface, Gate::LoggedOut);
    }
    let looked = look(&surface).await;
    let now = surface.options.clock.now();
    let page = Page {
        build: &surface.build,
        cards: looked
            .sandboxes
            .into_iter()
            .map(|view| Card::of(view, now))
            .collect(),
        away: looked.away,
        under_way: looked.under_way,
        walls: walls(&surface),
    };
    render(StatusCode::OK, &page)
}

/// Which walls each profile's sandbox has, as far as that is known.
fn walls(surface: &Surface) -> Vec<(String, String)> {
    let profiles = surface.options.status.status().profiles;
    profiles
        .into_iter()
        .filter(|profile| !profile.walls.is_empty())
        .map(|profile| (profile.id.to_string(), profile.walls))
        .collect()
}
