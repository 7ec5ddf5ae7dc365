//! The whole description, put together from the router's table.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use crate::guard::is_data;
use crate::login;
use crate::openapi::schemas;
use crate::router::{Door, Route, Surface, Verb, routes};

/// Of the description, not of the program: a stranger need not know which release runs here.
const VERSION: &str = "1";

/// The name of the cookie's scheme within the description.
const COOKIE: &str = "session";

/// `GET /api/openapi.json`. It changes with a release alone, so it may be kept for a while.
pub(crate) async fn serve(State(surface): State<Arc<Surface>>) -> Response {
    let headers = [(header::CACHE_CONTROL, "max-age=300")];
    let document = document(&routes(), &login::cookie_name(&surface));
    (headers, Json(document)).into_response()
}

fn document(routes: &[Route], cookie: &str) -> Value {
    let mut paths = Map::new();
    for route in routes {
        let Some(operation) = operation(route) else {
            continue;
        };
        let item = paths.entry(template(route.path)).or_insert(json!({}));
        item[verb(route.verb)] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tidings",
            "version": VERSION,
            "description": "The gateway's own API: what the pages can do, programs can do. Every refusal is an `Error`.",
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "responses": refusals(),
            "securitySchemes": { COOKIE: {
                "type": "apiKey",
                "in": "cookie",
                "name": cookie,
                "description": "`tidings login` prints a link, good for one use: `GET` it, and keep the cookie of the answer.",
            } },
        },
    })
}

fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "get",
        Verb::Post => "post",
    }
}

/// A path as OpenAPI writes it: there is no sign for "the rest".
fn template(path: &str) -> String {
    path.replace("{*", "{")
}

fn operation(route: &Route) -> Option<Value> {
    let told = (route.operation?)();
    let mut answers = Map::new();
    for (status, answer) in told.answers {
        answers.insert(status.to_string(), answer);
    }
    let guarded = guarded(route).into_iter().chain(told.refusals);
    for status in guarded {
        let reference = json!({ "$ref": format!("#/components/responses/{}", name(status)) });
        answers.entry(status.to_string()).or_insert(reference);
    }
    let parameters: Vec<Value> = in_path(route.path)
        .map(|name| schemas::in_path(route.path, name))
        .chain(told.parameters)
        .collect();
    let mut operation = json!({
        "operationId": told.id,
        "summary": told.summary,
        "security": match route.door {
            Door::Open => json!([]),
            Door::Session => json!([{ COOKIE: [] }]),
            // What programs ask has no description here: others gave it its form.
            Door::Key => return None,
        },
        "responses": answers,
    });
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = told.body {
        operation["requestBody"] = body;
    }
    Some(operation)
}

fn in_path(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// What the guards before a route can answer.
fn guarded(route: &Route) -> Vec<u16> {
    let mut statuses = vec![421];
    // An upload may take its time.
    if !route.path.ends_with("/files") {
        statuses.push(408);
    }
    if route.door == Door::Session {
        statuses.extend([401, 503]);
    }
    if in_path(route.path).next().is_some() {
        statuses.push(400);
    }
    if is_data(route.path) || route.verb == Verb::Post {
        statuses.push(403);
    }
    statuses
}

const REFUSALS: [(u16, &str, &str); 10] = [
    (
        400,
        "Malformed",
        "The request can't be read, or asks for what can't be.",
    ),
    (
        401,
        "LoggedOut",
        "No open session: the cookie is missing, too old, or logged out.",
    ),
    (403, "Foreign", "A browser sent it for another page."),
    (404, "NotFound", "There is no such thing."),
    (408, "Late", "It took too long."),
    (409, "Conflict", "As things stand it can't be done."),
    (413, "TooLarge", "More than can be taken."),
    (
        421,
        "Host",
        "The gateway does not go by the name in `Host`.",
    ),
    (
        503,
        "Unavailable",
        "Not now: the store failed, or the gateway starts or stops.",
    ),
    (507, "NoRoom", "The gateway's disk is full."),
];

fn name(status: u16) -> &'static str {
    REFUSALS
        .iter()
        .find(|(known, ..)| *known == status)
        .map_or("Unavailable", |(_, name, _)| *name)
}

fn refusals() -> Value {
    let each = REFUSALS.iter().map(|(_, name, text)| {
        let schema = json!({ "$ref": "#/components/schemas/Error" });
        let response = json!({
            "description": text,
            "content": { "application/json": { "schema": schema } },
        });
        ((*name).to_owned(), response)
    });
    Value::Object(each.collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Routes for people's eyes alone. Everything else is for programs too.
    const PAGES: [&str; 7] = [
        "/",
        "/assets/{build}/{*name}",
        "/outbox",
        "/outbox/{id}",
        "/sandboxes",
        "/servers",
        "/usage",
    ];

    fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|inner| references(inner, found));
            }
            Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn every_route_is_described_and_every_description_has_a_route() {
        let document = document(&routes(), "tidings_1");
        let described: BTreeSet<(String, String)> = document["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, item)| {
                let verbs = item.as_object().unwrap().keys();
                verbs.map(move |verb| (verb.clone(), path.clone()))
            })
            .collect();
        let routed: BTreeSet<(String, String)> = routes()
            .into_iter()
            .filter(|route| !PAGES.contains(&route.path) && route.door != Door::Key)
            .map(|route| (verb(route.verb).to_owned(), template(route.path)))
            .collect();
        assert_eq!(described, routed);
    }

    #[test]
    fn no_route_goes_around_the_table() {
        let source = include_str!("../router.rs");
        assert_eq!(source.matches(".route(").count(), 1);
        assert_eq!(source.matches("nest").count(), 0);
    }

    #[test]
    fn no_two_operations_have_the_same_name() {
        let mut seen = BTreeSet::new();
        for route in routes() {
            if let Some(told) = route.operation {
                let id = told().id;
                assert!(seen.insert(id), "{id}");
            }
        }
    }

    #[test]
    fn every_part_that_is_referred_to_is_there_and_none_is_left_over() {
        let document = document(&routes(), "tidings_1");
        let mut referred = BTreeSet::new();
        references(&document, &mut referred);
        let mut there = BTreeSet::new();
        for kind in ["schemas", "responses"] {
            for name in document["components"][kind].as_object().unwrap().keys() {
                there.insert(format!("#/components/{kind}/{name}"));
            }
        }
        let there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
        assert_eq!(referred, there);
    }

    #[test]
    fn every_refusal_has_its_own_name() {
        for route in routes() {
            let told = route.operation.map(|told| told().refusals);
            for status in guarded(&route)
                .into_iter()
                .chain(told.into_iter().flatten())
            {
                let known = REFUSALS.iter().any(|(known, ..)| *known == status);
                assert!(known, "{status} of {}", route.path);
            }
        }
    }
}
