//! The page: the list, and beside it the parcel that is open. It reads without a script; `assets/outbox.js` keeps it fresh
//! and acts.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use outbox::{MessageRow, PartState, QueueDepth};
use waybill::{MessageId, Timestamp};

use crate::asked::Asked;
use crate::error::Refused;
use crate::login;
use crate::page::{Gate, gate, render};
use crate::parcels::parcel::{Badge, Parcel, Row, badge};
use crate::parcels::stamp::{Shown, Stamp};
use crate::parcels::wanted::{Chosen, some};
use crate::router::Surface;

/// A state that can be chosen, with how many parts stand there now.
struct Chip {
    words: &'static str,
    class: &'static str,
    name: &'static str,
    url: String,
    current: bool,
    /// Only for states that are no end: the rest are many.
    count: Option<u64>,
}

/// An account that has to wait.
struct Waiting {
    account: String,
    why: &'static str,
    until: Stamp,
}

#[derive(Template)]
#[template(path = "outbox.html")]
struct Outbox<'a> {
    build: &'a str,
    chosen: &'a Chosen,
    profiles: Vec<String>,
    chips: Vec<Chip>,
    waiting: Vec<Waiting>,
    /// What can't be done, and what to do.
    complaint: Option<String>,
    rows: Vec<Row>,
    newest: Option<String>,
    older: Option<String>,
    all: String,
    narrows: bool,
    /// A parcel was asked for.
    asked: bool,
    parcel: Option<Parcel>,
}

/// `GET /outbox`.
pub(crate) async fn all(
    State(surface): State<Arc<Surface>>,
    headers: HeaderMap,
    Asked(Query(chosen)): Asked<Query<Chosen>>,
) -> Result<Response, Refused> {
    draw(&surface, &headers, &chosen, None).await
}

/// `GET /outbox/ID`.
pub(crate) async fn one(
    State(surface): State<Arc<Surface>>,
    headers: HeaderMap,
    Asked(Path(id)): Asked<Path<String>>,
    Asked(Query(chosen)): Asked<Query<Chosen>>,
) -> Result<Response, Refused> {
    draw(&surface, &headers, &chosen, Some(&id)).await
}

/// What the store has for the page.
#[derive(Default)]
struct Found {
    rows: Vec<MessageRow>,
    next: Option<MessageId>,
    depths: Vec<QueueDepth>,
    open: Option<MessageRow>,
}

async fn look(surface: &Surface, chosen: &Chosen, id: Option<&str>) -> Result<Found, Refused> {
    let filter = chosen.filter().map_err(Refused::malformed)?;
    let outbox = &surface.options.outbox;
    let (rows, next) = some(surface, filter).await?;
    let open = match id.and_then(|id| id.parse().ok()) {
        Some(id) => outbox.show(id).await?,
        None => None,
    };
    Ok(Found {
        rows,
        next,
        depths: outbox.depths().await?,
        open,
    })
}

async fn draw(
    surface: &Surface,
    headers: &HeaderMap,
    chosen: &Chosen,
    id: Option<&str>,
) -> Result<Response, Refused> {
    if !login::logged_in(surface, headers).await? {
        return gate(surface, Gate::LoggedOut);
    }
    let (found, complaint, status) = match look(surface, chosen, id).await {
        Ok(found) if id.is_some() && found.open.is_none() => (found, None, StatusCode::NOT_FOUND),
        Ok(found) => (found, None, StatusCode::OK),
        Err(refused) => {
            let text = format!("The outbox can’t be shown: {}.", refused.text());
            (Found::default(), Some(text), refused.status())
        }
    };
    let now = surface.options.clock.now();
    let without = |chosen: &Chosen| Chosen {
        before: String::new(),
        ..chosen.clone()
    };
    let open = found.open.as_ref().map(|row| row.id);
    let rows: Vec<Row> = found
        .rows
        .iter()
        .map(|row| Row::of(row, chosen, open))
        .collect();
    let page = Outbox {
        build: &surface.build,
        chosen,
        profiles: profiles(surface),
        chips: chips(chosen, &found.depths),
        waiting: waiting(&found.depths, now),
        rows,
        newest: (!chosen.before.is_empty()).then(|| without(chosen).at("/outbox")),
        older: found.next.map(|before| {
            let older = Chosen {
                before: before.to_string(),
                ..chosen.clone()
            };
            older.at("/outbox")
        }),
        all: chosen.at("/outbox"),
        narrows: chosen.narrows(),
        asked: id.is_some() && complaint.is_none(),
        complaint,
        parcel: found.open.as_ref().map(Parcel::of),
    };
    render(status, &page)
}

fn profiles(surface: &Surface) -> Vec<String> {
    let cards = surface.options.profiles.iter();
    cards.map(|card| card.id.to_string()).collect()
}

/// In the order in which they need somebody.
const STATES: [PartState; 10] = [
    PartState::Held,
    PartState::Unknown,
    PartState::Retry,
    PartState::Queued,
    PartState::Sending,
    PartState::Failed,
    PartState::Expired,
    PartState::Sent,
    PartState::Cancelled,
    PartState::Superseded,
];

fn chips(chosen: &Chosen, depths: &[QueueDepth]) -> Vec<Chip> {
    let mut open: BTreeMap<&str, u64> = BTreeMap::new();
    for (state, count) in depths.iter().flat_map(|depth| &depth.open) {
        *open.entry(state).or_default() += count;
    }
    let with = |state: &str| {
        let other = Chosen {
            state: state.to_owned(),
            before: String::new(),
            ..chosen.clone()
        };
        other.at("/outbox")
    };
    let all = Chip {
        words: "All",
        class: "plain",
        name: "all",
        url: with(""),
        current: chosen.state.trim().is_empty(),
        count: None,
    };
    let each = STATES.into_iter().map(|state| {
        let Badge { words, class, name } = badge(state);
        Chip {
            words,
            class,
            name,
            url: with(name),
            current: chosen.state.trim() == name,
            count: (!state.is_end()).then(|| open.get(name).copied().unwrap_or_default()),
        }
    });
    // Where nothing stands there is nothing to choose.
    let each = each.filter(|chip| chip.current || chip.count != Some(0));
    std::iter::once(all).chain(each).collect()
}

fn waiting(depths: &[QueueDepth], now: Timestamp) -> Vec<Waiting> {
    depths
        .iter()
        .flat_map(|depth| {
            let throttled = depth
                .throttled_until
                .map(|until| ("the platform asked it to wait", until));
            let resting = depth.resting_until.map(|until| {
                let why = "it rests, for its login or its network does not work; it is tried again";
                (why, until)
            });
            let ways = [throttled, resting].into_iter().flatten();
            ways.map(|(why, until)| (depth.account.to_string(), why, until))
        })
        .filter(|(_, _, until)| *until > now)
        .map(|(account, why, until)| Waiting {
            account,
            why,
            until: Stamp::new(until, Shown::Until),
        })
        .collect()
}
