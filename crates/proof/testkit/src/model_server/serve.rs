//! The wire of the scripted server.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};

use super::turn::{Answer, Ending, Step};
use super::{Match, Recorded, Shared, Turn};

const LARGEST_REQUEST: usize = 64 << 20;

pub(super) fn router(shared: Shared) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat))
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

async fn chat(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let headers = headers
        .iter()
        .map(|(name, value)| {
            (
                name.as_str().to_owned(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        })
        .collect();
    let recorded = Recorded {
        path: uri.path().to_owned(),
        headers,
        body: body.clone(),
    };
    let (turn, latency) = {
        let mut state = shared.lock();
        if state.author.is_none() {
            state.requests.push(recorded.clone());
        }
        shared.seen.send_replace(state.requests.len());
        if let Some(why) = super::strict::refusal(&body) {
            state.violations.push(why.clone());
            return refuse(
                400,
                &format!("the scripted model refuses this request: {why}"),
            );
        }
        let special = state
            .turns
            .iter()
            .position(|(on, _)| !matches!(on, Match::Any) && on.fits(&body));
        let found = special.or_else(|| {
            state
                .turns
                .iter()
                .position(|(on, _)| matches!(on, Match::Any))
        });
        let written = state.author.as_ref().map(|author| author(&body));
        match (found, written, state.always.clone()) {
            (Some(at), _, _) => (state.turns.remove(at).1, Duration::ZERO),
            (None, Some(turn), _) => (turn, Duration::ZERO),
            (None, None, Some((text, latency))) => (Turn::text(&text), latency),
            (None, None, None) => {
                state.unscripted.push(recorded);
                let asked = last_text(&body, "user");
                return refuse(
                    500,
                    &format!(
                        "the scripted model has no turn for this request; the last user message is: {asked}"
                    ),
                );
            }
        }
    };
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    play(turn, &body)
}

fn refuse(code: u16, text: &str) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (
        status,
        axum::Json(json!({ "error": { "message": text, "type": "scripted" } })),
    )
        .into_response()
}

fn play(turn: Turn, body: &Value) -> Response {
    let model = body.get("model").cloned().unwrap_or_default();
    let (finish, usage, ending) = (turn.finish_reason(), turn.usage, turn.ending);
    let steps = match turn.answer {
        Answer::Status {
            code,
            headers,
            body,
        } => return status(code, &headers, body),
        Answer::Stream(steps) => steps,
    };
    if body.get("stream").and_then(Value::as_bool) != Some(true) {
        return whole(&steps, &finish, usage, &model);
    }
    let chunk = |choices: Value| json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "model": model, "choices": choices });
    let mut steps: VecDeque<Step> = steps
        .into_iter()
        .map(|step| match step {
            Step::Delta(delta) => event(&chunk(
                json!([{ "index": 0, "delta": delta, "finish_reason": null }]),
            )),
            other @ (Step::Raw(_) | Step::Pause(_) | Step::Wait(_) | Step::Cut) => other,
        })
        .collect();
    if ending != Ending::WithoutFinish {
        steps.push_back(event(&chunk(
            json!([{ "index": 0, "delta": {}, "finish_reason": finish }]),
        )));
        let wanted = body
            .pointer("/stream_options/include_usage")
            .and_then(Value::as_bool)
            == Some(true);
        if let Some((input, output)) = usage
            && wanted
        {
            let mut last = chunk(json!([]));
            last["usage"] = json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output });
            steps.push_back(event(&last));
        }
    }
    if ending == Ending::Done {
        steps.push_back(Step::Raw(Bytes::from_static(b"data: [DONE]\n\n")));
    }
    (
        [(header::CONTENT_TYPE, "text/event-stream")],
        Body::from_stream(stream::unfold(steps, next)),
    )
        .into_response()
}

fn event(value: &Value) -> Step {
    Step::Raw(Bytes::from(format!("data: {value}\n\n")))
}

async fn next(mut steps: VecDeque<Step>) -> Option<(io::Result<Bytes>, VecDeque<Step>)> {
    loop {
        match steps.pop_front()? {
            Step::Raw(bytes) => return Some((Ok(bytes), steps)),
            Step::Delta(_) => {}
            Step::Pause(pause) => tokio::time::sleep(pause).await,
            Step::Wait(gate) => gate.pass().await,
            Step::Cut => {
                // What was said before must be on the wire first; the connection writes when the body waits.
                tokio::time::sleep(Duration::from_millis(5)).await;
                return Some((Err(io::Error::other("cut by the script")), VecDeque::new()));
            }
        }
    }
}

fn status(code: u16, headers: &[(String, String)], body: String) -> Response {
    let mut answer = Response::builder().status(code);
    for (name, value) in headers {
        answer = answer.header(name, value);
    }
    match answer.body(Body::from(body)) {
        Ok(answer) => answer,
        Err(error) => refuse(500, &format!("the script's status can't be sent: {error}")),
    }
}

fn whole(steps: &[Step], finish: &str, usage: Option<(u64, u64)>, model: &Value) -> Response {
    let mut text = String::new();
    let mut calls: Vec<Value> = Vec::new();
    for step in steps {
        let Step::Delta(delta) = step else { continue };
        text.push_str(
            delta
                .get("content")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        );
        let Some(call) = delta.pointer("/tool_calls/0") else {
            continue;
        };
        let rest = call
            .pointer("/function/arguments")
            .and_then(Value::as_str)
            .unwrap_or_default();
        match calls.last_mut().filter(|_| call.get("id").is_none()) {
            Some(last) => {
                let begun = last
                    .pointer("/function/arguments")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                last["function"]["arguments"] = Value::from(format!("{begun}{rest}"));
            }
            None => calls.push(call.clone()),
        }
    }
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        message["tool_calls"] = Value::from(calls);
    }
    let mut body = json!({ "id": "chatcmpl-1", "object": "chat.completion", "model": model, "choices": [{ "index": 0, "message": message, "finish_reason": finish }] });
    if let Some((input, output)) = usage {
        body["usage"] = json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output });
    }
    axum::Json(body).into_response()
}

/// The text of the last message of a role, parts joined.
pub(super) fn last_text(body: &Value, role: &str) -> String {
    let messages = body.get("messages").and_then(Value::as_array);
    let last = messages.and_then(|all| {
        all.iter()
            .rev()
            .find(|one| one.get("role").and_then(Value::as_str) == Some(role))
    });
    match last.and_then(|one| one.get("content")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| part.get("text").and_then(Value::as_str))
                .collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
