//! From a request to its answer: read, check, strike, act.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{ConnectInfo, Path, Request, State as Shared};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::response::Response;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::act::{Refusal, act};
use super::listener::Cut;
use super::request::{Call, read};
use super::script::{Rule, Trouble};
use super::state::State;
use super::{check, polls};

fn respond(status: u16, value: &Value) -> Response {
    raw(status, "application/json", value.to_string())
}

fn raw(status: u16, mime: &str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
    if let Ok(mime) = mime.parse() {
        response.headers_mut().insert(CONTENT_TYPE, mime);
    }
    response
}

fn refuse(code: u16, description: &str) -> Response {
    respond(
        code,
        &json!({"ok": false, "error_code": code, "description": description}),
    )
}

/// Answers half of the body that was announced, and breaks off.
fn half(whole: &[u8]) -> Response {
    let (first, _) = whole.split_at(whole.len() / 2);
    let pieces = [
        Ok(Bytes::copy_from_slice(first)),
        Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
    ];
    let mut response = raw(
        200,
        "application/json",
        Body::from_stream(futures_util::stream::iter(pieces)),
    );
    response
        .headers_mut()
        .insert(CONTENT_LENGTH, whole.len().into());
    response
}

fn cut_off(cut: &Cut) -> Response {
    cut.now();
    raw(200, "application/json", "")
}

pub(super) async fn answer(
    Shared(state): Shared<Arc<State>>,
    ConnectInfo(cut): ConnectInfo<Cut>,
    Path((bot, method)): Path<(String, String)>,
    request: Request,
) -> Response {
    let Some(token) = bot.strip_prefix("bot").map(str::to_owned) else {
        return refuse(404, "Not Found");
    };
    if state.down.load(Ordering::SeqCst) {
        return cut_off(&cut);
    }
    let mut parsed = match read(request).await {
        Ok(parsed) => parsed,
        Err(why) => {
            state.with(|inner| inner.violations.push(format!("{method}: {why}")));
            return refuse(400, &format!("Bad Request: {why}"));
        }
    };
    let checked = check::check(&method, &mut parsed);
    let call = Call {
        at: Instant::now(),
        token,
        method,
        params: parsed.params,
        uploads: parsed.uploads,
        length: parsed.length,
    };
    let (trouble, revoked) = state.with(|inner| {
        inner.calls.push(call.clone());
        let trouble = strike(&mut inner.rules, &call);
        (
            trouble,
            inner.bots.get(&call.token).is_none_or(|bot| bot.revoked),
        )
    });
    if revoked {
        return refuse(401, "Unauthorized");
    }
    if let Err(why) = checked {
        state.with(|inner| inner.violations.push(format!("{}: {why}", call.method)));
        let code = if check::known(&call.method) { 400 } else { 404 };
        return refuse(code, &format!("Bad Request: {why}"));
    }
    if let Some(refusal) = trouble.as_ref().and_then(refusal) {
        return refusal;
    }
    if let Some(Trouble::Drop) = trouble {
        return cut_off(&cut);
    }
    if let Some(Trouble::Hold(gate)) = &trouble {
        gate.pass().await;
    }
    let done = if call.method == "getUpdates" {
        polls::get_updates(&state, &call).await
    } else {
        state.with(|inner| act(inner, &call))
    };
    let body = match done {
        Ok(result) => json!({"ok": true, "result": result}),
        Err(Refusal { code: 413, .. }) => {
            return raw(
                413,
                "text/html",
                "<html><h1>413 Request Entity Too Large</h1></html>",
            );
        }
        Err(Refusal { code, description }) => return refuse(code, &description),
    };
    match trouble {
        Some(Trouble::AcceptThenDrop) => cut_off(&cut),
        Some(Trouble::AcceptThen500) => refuse(500, "Internal Server Error"),
        Some(Trouble::HalfBody) => half(body.to_string().as_bytes()),
        Some(Trouble::HoldAnswer(gate)) => {
            gate.pass().await;
            respond(200, &body)
        }
        _ => respond(200, &body),
    }
}

fn strike(rules: &mut [(Rule, Trouble)], call: &Call) -> Option<Trouble> {
    let mut struck = None;
    for (rule, trouble) in rules {
        if struck.is_none() && rule.strikes(call) {
            struck = Some(trouble.clone());
        }
    }
    struck
}

/// The answer of a trouble that keeps a request from doing anything.
fn refusal(trouble: &Trouble) -> Option<Response> {
    Some(match trouble {
        Trouble::Flood(seconds) => {
            let mut response = respond(
                429,
                &json!({"ok": false, "error_code": 429, "description": format!("Too Many Requests: retry after {seconds}"), "parameters": {"retry_after": seconds}}),
            );
            response
                .headers_mut()
                .insert(RETRY_AFTER, (*seconds).into());
            response
        }
        Trouble::BadRequest(text) => refuse(400, &format!("Bad Request: {text}")),
        Trouble::Migrated(chat) => respond(
            400,
            &json!({"ok": false, "error_code": 400, "description": "Bad Request: group chat was upgraded to a supergroup chat", "parameters": {"migrate_to_chat_id": chat}}),
        ),
        Trouble::Unauthorized => refuse(401, "Unauthorized"),
        Trouble::Forbidden(text) => refuse(403, &format!("Forbidden: {text}")),
        Trouble::Conflict => refuse(
            409,
            "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
        ),
        Trouble::Server(status) => refuse(*status, "Internal Server Error: restart"),
        Trouble::Raw { status, mime, body } => raw(*status, mime, body.clone()),
        Trouble::AcceptThenDrop
        | Trouble::Drop
        | Trouble::AcceptThen500
        | Trouble::HalfBody
        | Trouble::Hold(_)
        | Trouble::HoldAnswer(_) => return None,
    })
}

pub(super) async fn download(
    Shared(state): Shared<Arc<State>>,
    ConnectInfo(cut): ConnectInfo<Cut>,
    Path((bot, path)): Path<(String, String)>,
) -> Response {
    let token = bot.strip_prefix("bot").unwrap_or_default().to_owned();
    let call = Call {
        at: Instant::now(),
        token: token.clone(),
        method: "file".to_owned(),
        params: Map::from_iter([("path".to_owned(), path.clone().into())]),
        uploads: Vec::new(),
        length: None,
    };
    let (trouble, revoked, found) = state.with(|inner| {
        inner.calls.push(call.clone());
        let trouble = strike(&mut inner.rules, &call);
        let revoked = inner.bots.get(&token).is_none_or(|bot| bot.revoked);
        let found = inner
            .files
            .values()
            .find(|file| file.path == path)
            .map(|file| file.bytes.clone());
        (trouble, revoked, found)
    });
    if revoked {
        return refuse(401, "Unauthorized");
    }
    if let Some(refusal) = trouble.as_ref().and_then(refusal) {
        return refusal;
    }
    let Some(bytes) = found else {
        return refuse(404, "Not Found");
    };
    match trouble {
        Some(Trouble::Drop | Trouble::AcceptThenDrop) => cut_off(&cut),
        Some(Trouble::HalfBody) => half(&bytes),
        Some(Trouble::Hold(gate) | Trouble::HoldAnswer(gate)) => {
            gate.pass().await;
            raw(200, "application/octet-stream", bytes)
        }
        _ => raw(200, "application/octet-stream", bytes),
    }
}
