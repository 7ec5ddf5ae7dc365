//! From a request to its answer: read, check, strike, act.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{ConnectInfo, Path, Request, State as Shared};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::act::{Refusal, act};
use super::listener::Cut;
use super::request::{Call, Unread, read};
use super::script::{Gate, Rule, Scope, Trouble};
use super::state::State;
use super::{check, ledger, polls};

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
    let at = ledger::now();
    if state.with(|inner| strike_unread(&mut inner.rules, &method)) {
        read_half(request).await;
        return cut_off(&cut);
    }
    let mut parsed = match read(request).await {
        Ok(parsed) => parsed,
        // Nobody is there any more to hear an answer.
        Err(Unread::BrokenOff) => return cut_off(&cut),
        Err(Unread::Malformed(why)) => {
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
    let (number, trouble, revoked) = state.with(|inner| {
        let number = inner.note(&call, at);
        let trouble = strike(&mut inner.rules, &call)
            .or_else(|| inner.sky.as_mut().and_then(|sky| sky.strike(&call)));
        let told = trouble.as_ref().map(Trouble::name);
        inner.amend(number, |entry| entry.trouble = told);
        (
            number,
            trouble,
            inner.bots.get(&call.token).is_none_or(|bot| bot.revoked),
        )
    });
    let sent = if revoked {
        Sent::whole(refuse(401, "Unauthorized"))
    } else {
        fulfil(&state, &cut, call, number, checked, trouble).await
    };
    state.with(|inner| {
        inner.amend(number, |entry| {
            entry.status = sent.whole.then(|| sent.response.status().as_u16());
            entry.answered_at = Some(ledger::now());
        });
    });
    sent.response
}

/// An answer, and whether it goes out whole.
struct Sent {
    response: Response,
    whole: bool,
}

impl Sent {
    fn whole(response: Response) -> Self {
        Self {
            response,
            whole: true,
        }
    }

    fn broken(response: Response) -> Self {
        Self {
            response,
            whole: false,
        }
    }
}

async fn fulfil(
    state: &Arc<State>,
    cut: &Cut,
    call: Call,
    number: usize,
    checked: Result<(), String>,
    trouble: Option<Trouble>,
) -> Sent {
    if let Err(why) = checked {
        state.with(|inner| inner.violations.push(format!("{}: {why}", call.method)));
        let code = if check::known(&call.method) { 400 } else { 404 };
        return Sent::whole(refuse(code, &format!("Bad Request: {why}")));
    }
    let early = match trouble.as_ref().and_then(Trouble::wait) {
        Some(seconds) => Err((seconds, Scope::Chat)),
        None => state.with(|inner| inner.rates.pass(&call)),
    };
    if let Err(wait) = early {
        state.with(|inner| inner.amend(number, |entry| entry.wait = Some(wait)));
        return Sent::whole(flood(wait.0, trouble.as_ref()));
    }
    if let Some(refusal) = trouble.as_ref().and_then(refusal) {
        return Sent::whole(refusal);
    }
    if let Some(Trouble::Drop) = trouble {
        return Sent::broken(cut_off(cut));
    }
    let done = match (&trouble, call.method.as_str()) {
        (trouble, "getUpdates") => {
            if let Some(Trouble::Hold(gate)) = trouble {
                gate.pass().await;
            }
            let updates = polls::get_updates(state, &call).await;
            updates.map(|updates| match &trouble {
                Some(trouble) => polls::confuse(state, &call, trouble, updates),
                None => updates,
            })
        }
        (Some(Trouble::Hold(gate)), _) => late(state, gate.clone(), call, number).await,
        _ => perform(state, &call, number),
    };
    let body = match done {
        Ok(result) => json!({"ok": true, "result": result}),
        Err(Refusal { code: 413, .. }) => {
            return Sent::whole(raw(
                413,
                "text/html",
                "<html><h1>413 Request Entity Too Large</h1></html>",
            ));
        }
        Err(Refusal { code, description }) => {
            let words = Some(description.clone());
            state.with(|inner| inner.amend(number, |entry| entry.refusal = words));
            return Sent::whole(refuse(code, &description));
        }
    };
    match trouble {
        Some(Trouble::AcceptThenDrop) => Sent::broken(cut_off(cut)),
        Some(Trouble::AcceptThen500) => Sent::whole(refuse(500, "Internal Server Error")),
        Some(Trouble::HalfBody) => Sent::broken(half(body.to_string().as_bytes())),
        Some(Trouble::Trickle(pause)) => Sent::whole(trickle(body.to_string(), pause)),
        Some(Trouble::HoldAnswer(gate)) => {
            gate.pass().await;
            Sent::whole(respond(200, &body))
        }
        _ => Sent::whole(respond(200, &body)),
    }
}

/// Does what a request asks for, and writes into the book that it was done.
fn perform(state: &State, call: &Call, number: usize) -> Result<Value, Refusal> {
    state.with(|inner| {
        let done = act(inner, call)?;
        let message = done.get("message_id").and_then(Value::as_i64);
        inner.amend(number, |entry| {
            entry.done = true;
            entry.message = message;
        });
        Ok(done)
    })
}

/// Does it when the gate is released, whether somebody still waits for the answer or not.
async fn late(state: &Arc<State>, gate: Gate, call: Call, number: usize) -> Result<Value, Refusal> {
    let (told, hears) = oneshot::channel();
    let shared = Arc::clone(state);
    if let Ok(mut late) = state.late.lock() {
        late.spawn(async move {
            gate.pass().await;
            // Nobody may hear it any more; it is done all the same.
            drop(told.send(perform(&shared, &call, number)));
        });
    }
    hears.await.unwrap_or_else(|_gone| {
        Err(Refusal {
            code: 500,
            description: "Internal Server Error".to_owned(),
        })
    })
}

fn strike_unread(rules: &mut [(Rule, Trouble)], method: &str) -> bool {
    rules.iter_mut().any(|(rule, trouble)| {
        matches!(trouble, Trouble::HalfRequest) && rule.strikes_unread(method)
    })
}

/// Reads the first half of what was announced.
async fn read_half(request: Request) {
    let announced = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok())
        .unwrap_or(0);
    let mut body = request.into_body().into_data_stream();
    let mut read = 0;
    while read < announced / 2
        && let Some(Ok(piece)) = body.next().await
    {
        read += piece.len();
    }
}

/// Answers a few bytes at a time.
fn trickle(whole: String, pause: Duration) -> Response {
    let length = whole.len();
    let pieces: Vec<Bytes> = whole
        .as_bytes()
        .chunks(length.div_ceil(8).max(1))
        .map(Bytes::copy_from_slice)
        .collect();
    let slow = futures_util::stream::iter(pieces).then(move |piece| async move {
        tokio::time::sleep(pause).await;
        Ok::<_, std::io::Error>(piece)
    });
    let mut response = raw(200, "application/json", Body::from_stream(slow));
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    response
}

/// 429 in the way that the trouble wants; without one, in header and body.
fn flood(seconds: u64, trouble: Option<&Trouble>) -> Response {
    if let Some(Trouble::FloodHeader(_)) = trouble {
        let mut response = raw(429, "text/html", "<html>Too Many Requests</html>");
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
        return response;
    }
    let mut response = respond(
        429,
        &json!({"ok": false, "error_code": 429, "description": format!("Too Many Requests: retry after {seconds}"), "parameters": {"retry_after": seconds}}),
    );
    if !matches!(trouble, Some(Trouble::FloodBody(_))) {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
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
        Trouble::Flood(seconds) | Trouble::FloodHeader(seconds) | Trouble::FloodBody(seconds) => {
            flood(*seconds, Some(trouble))
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
        | Trouble::HalfRequest
        | Trouble::Trickle(_)
        | Trouble::Twice
        | Trouble::Reversed
        | Trouble::Again
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
        inner.note(&call, ledger::now());
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
