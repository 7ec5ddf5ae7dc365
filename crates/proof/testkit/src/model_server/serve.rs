//! HTTP: a request comes in, is judged and recorded, and a turn is played in its protocol.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};

use super::speak::{self, End, Frame, Piece, Spoken};
use super::turn::Answer;
use super::{Match, Recorded, Shared, Turn, Wire, strict};

const LARGEST_REQUEST: usize = 64 << 20;
/// The verb of a stream; the other one is `generateContent`.
const GEMINI_STREAM: &str = "streamGenerateContent";

pub(super) fn router(shared: Shared) -> Router {
    let at = |wire: Wire| {
        post(
            move |State(shared): State<Shared>, uri: Uri, headers: HeaderMap, bytes: Bytes| async move {
                answer(&shared, wire, &uri, &headers, &bytes).await
            },
        )
    };
    Router::new()
        .route("/v1/chat/completions", at(Wire::Chat))
        .route("/v1/responses", at(Wire::Responses))
        .route("/v1/messages", at(Wire::Messages))
        .route("/api/chat", at(Wire::Ollama))
        .route("/v1/models/{call}", post(gemini))
        .route("/v1beta/models/{call}", post(gemini))
        .route("/v1/models", get(models))
        .layer(DefaultBodyLimit::max(LARGEST_REQUEST))
        .with_state(shared)
}

async fn models(State(shared): State<Shared>) -> Response {
    let data: Vec<Value> = shared
        .lock()
        .models
        .iter()
        .map(|name| json!({ "id": name, "object": "model" }))
        .collect();
    axum::Json(json!({ "object": "list", "data": data })).into_response()
}

/// `MODEL:streamGenerateContent`, or the same without a stream.
async fn gemini(
    State(shared): State<Shared>,
    Path(call): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    let verb = call.rsplit_once(':').map(|(_, verb)| verb);
    match verb {
        Some(GEMINI_STREAM | "generateContent") => {
            answer(&shared, Wire::Gemini, &uri, &headers, &bytes).await
        }
        Some(_) | None => refuse(Wire::Gemini, 404, "there is no such method"),
    }
}

fn record(wire: Wire, uri: &Uri, headers: &HeaderMap, bytes: &[u8]) -> Recorded {
    let body: Value = serde_json::from_slice(bytes).unwrap_or(Value::Null);
    let headers = headers
        .iter()
        .map(|(name, value)| {
            (
                name.as_str().to_owned(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        })
        .collect();
    let model = match wire {
        // It stands in the address.
        Wire::Gemini => uri
            .path()
            .rsplit('/')
            .next()
            .and_then(|call| call.rsplit_once(':'))
            .map(|(model, _)| model),
        Wire::Chat | Wire::Responses | Wire::Messages | Wire::Ollama => {
            body.get("model").and_then(Value::as_str)
        }
    };
    Recorded {
        wire,
        model: model.unwrap_or_default().to_owned(),
        path: uri.path().to_owned(),
        headers,
        body,
    }
}

/// Whether the answer is wanted in pieces.
fn streams(asked: &Recorded) -> bool {
    let said = asked.body.get("stream").and_then(Value::as_bool);
    match asked.wire {
        Wire::Chat | Wire::Responses | Wire::Messages => said == Some(true),
        Wire::Ollama => said != Some(false),
        Wire::Gemini => asked.path.ends_with(GEMINI_STREAM),
    }
}

async fn answer(
    shared: &Shared,
    wire: Wire,
    uri: &Uri,
    headers: &HeaderMap,
    bytes: &[u8],
) -> Response {
    let asked = record(wire, uri, headers, bytes);
    let as_events = uri
        .query()
        .is_some_and(|query| query.split('&').any(|one| one == "alt=sse"));
    let (turn, latency, number) = {
        let mut state = shared.lock();
        if state.author.is_none() {
            state.requests.push(asked.clone());
        }
        shared.seen.send_replace(state.requests.len());
        let refusal = strict::refusal(&asked).or_else(|| {
            let listed = wire == Wire::Gemini && streams(&asked) && !as_events;
            listed.then(|| "a stream without 'alt=sse' is one list".to_owned())
        });
        if let Some(why) = refusal {
            state.violations.push(why.clone());
            return refuse(
                wire,
                400,
                &format!("the scripted model refuses this request: {why}"),
            );
        }
        state.answered += 1;
        let number = state.answered;
        let special = state
            .turns
            .iter()
            .position(|(on, _)| !matches!(on, Match::Any) && on.fits(&asked));
        let found = special.or_else(|| {
            state
                .turns
                .iter()
                .position(|(on, _)| matches!(on, Match::Any))
        });
        let written = state.author.as_ref().map(|author| author(&asked.body));
        match (found, written, state.always.clone()) {
            (Some(at), _, _) => (state.turns.remove(at).1, Duration::ZERO, number),
            (None, Some(turn), _) => (turn, Duration::ZERO, number),
            (None, None, Some((text, latency))) => (Turn::text(&text), latency, number),
            (None, None, None) => {
                let last = asked.last_text("user");
                state.unscripted.push(asked);
                return refuse(
                    wire,
                    500,
                    &format!(
                        "the scripted model has no turn for this request; the last user message is: {last}"
                    ),
                );
            }
        }
    };
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    play(turn, &asked, number)
}

fn refuse(wire: Wire, code: u16, text: &str) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, axum::Json(wire.error(code, text))).into_response()
}

fn play(turn: Turn, asked: &Recorded, number: usize) -> Response {
    let end = End {
        finish: turn.finish_reason(),
        usage: turn.usage,
        ending: turn.ending,
    };
    let steps = match turn.answer {
        Answer::Status {
            code,
            headers,
            body,
        } => return status(asked.wire, code, &headers, body),
        Answer::Stream(steps) => steps,
    };
    let frame = Frame {
        number,
        model: asked.model.clone(),
        request: asked.body.clone(),
    };
    if !streams(asked) {
        let whole = speak::whole(asked.wire, &Spoken::of(&steps), &end, &frame);
        return axum::Json(whole).into_response();
    }
    let pieces = speak::stream(asked.wire, steps, &end, frame);
    (
        [(header::CONTENT_TYPE, asked.wire.content_type())],
        Body::from_stream(stream::unfold(pieces, next)),
    )
        .into_response()
}

async fn next(mut pieces: VecDeque<Piece>) -> Option<(io::Result<Bytes>, VecDeque<Piece>)> {
    loop {
        match pieces.pop_front()? {
            Piece::Raw(bytes) => return Some((Ok(bytes), pieces)),
            Piece::Pause(pause) => tokio::time::sleep(pause).await,
            Piece::Wait(gate) => gate.pass().await,
            Piece::Cut => {
                // What was said before must be on the wire first; the connection writes when the body waits.
                tokio::time::sleep(Duration::from_millis(5)).await;
                return Some((Err(io::Error::other("cut by the script")), VecDeque::new()));
            }
        }
    }
}

fn status(wire: Wire, code: u16, headers: &[(String, String)], body: String) -> Response {
    let mut answer = Response::builder().status(code);
    for (name, value) in headers {
        answer = answer.header(name, value);
    }
    match answer.body(Body::from(body)) {
        Ok(answer) => answer,
        Err(error) => refuse(
            wire,
            500,
            &format!("the script's status can't be sent: {error}"),
        ),
    }
}
