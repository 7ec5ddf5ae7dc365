//! Each protocol over a real connection: addresses, headers, what is learnt from refusals.

use std::time::Duration;

use model::{
    Content, Facts, Message, ModelError, ModelPort as _, Reply, Request, StopReason, ToolSpec,
};
use net::Client;
use serde_json::{Value, json};
use tidings_model_http::{Api, HttpModel, Options, Thinking};
use waybill::Secret;

use crate::kit::{PNG, call, events};
use crate::server::{Said, Server};

const EVENTS: &str = "text/event-stream";
const LINES: &str = "application/x-ndjson";

fn model(server: &Server, api: Api, folder: &str) -> HttpModel {
    let key = Secret::new("very-secret-key".to_owned());
    let base = format!("{}{folder}", server.url);
    let options = Options {
        api,
        after_finish: Duration::from_millis(100),
        context: 16_384,
        ..Options::new("acme", &base, "m-1", Some(key))
    };
    HttpModel::new(Client::new(net::Options::default()).unwrap(), options)
}

fn hello() -> Request {
    Request {
        system: String::new(),
        messages: vec![Message::User {
            content: vec![Content::Text {
                text: "hi".to_owned(),
            }],
        }],
        tools: Vec::new(),
    }
}

/// The model called a tool, and the tool answered.
fn after_a_call(reply: &Reply) -> Request {
    let mut request = hello();
    request.tools.push(ToolSpec {
        name: "x".to_owned(),
        description: "Does.".to_owned(),
        parameters: json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
    });
    request.messages.push(Message::Assistant {
        text: reply.text.clone(),
        calls: reply.calls.clone(),
        replay: reply.replay.clone(),
    });
    request
        .messages
        .extend(reply.calls.iter().map(|call| Message::Tool {
            call: call.id.clone(),
            name: call.name.clone(),
            content: "done".to_owned(),
            failed: false,
        }));
    request
}

async fn ask(model: &HttpModel, request: &Request) -> Result<Reply, ModelError> {
    model.ask(request, &mut |_| {}).await
}

fn anthropic_words(text: &str) -> String {
    events([
        json!({ "type": "message_start", "message": { "id": "msg_1" } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": text } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
        json!({ "type": "message_stop" }),
    ])
}

fn anthropic_call() -> String {
    events([
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "hm", "signature": "s" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "a", "name": "x", "input": {} } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ])
}

#[tokio::test]
async fn a_turn_over_the_messages_protocol() {
    let server = Server::start([
        Said::stream(EVENTS, &anthropic_call()),
        Said::stream(EVENTS, &anthropic_words("Hi")),
    ])
    .await;
    let model = model(&server, Api::Anthropic, "/v1");
    let first = ask(&model, &hello()).await.unwrap();
    assert_eq!(first.calls, [call("a", "x", json!({}))]);
    let second = ask(&model, &after_a_call(&first)).await.unwrap();
    assert_eq!((second.text.as_str(), second.stop), ("Hi", StopReason::End));
    let asked = server.asked();
    let first = asked.first().unwrap();
    let header = |name: &str| first.headers.get(name).map(String::as_str);
    assert_eq!(first.path, "/v1/messages");
    assert_eq!(header("x-api-key"), Some("very-secret-key"));
    assert_eq!(header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(header("authorization"), None);
    assert_eq!(first.body.get("max_tokens"), Some(&json!(32_000)));
    let replayed = asked
        .get(1)
        .unwrap()
        .body
        .pointer("/messages/1/content/0")
        .unwrap();
    assert_eq!(
        replayed,
        &json!({ "type": "thinking", "thinking": "hm", "signature": "s" })
    );
}

#[tokio::test]
async fn a_signature_that_is_not_taken_any_more_does_not_end_the_conversation() {
    let no = r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}"#;
    let server = Server::start([
        Said::stream(EVENTS, &anthropic_call()),
        Said::status(400, no, &[]),
        Said::stream(EVENTS, &anthropic_words("Hi")),
        Said::stream(EVENTS, &anthropic_words("again")),
        Said::status(400, no, &[]),
    ])
    .await;
    let model = model(&server, Api::Anthropic, "/v1");
    let first = ask(&model, &hello()).await.unwrap();
    assert_eq!(ask(&model, &after_a_call(&first)).await.unwrap().text, "Hi");
    assert_eq!(
        ask(&model, &after_a_call(&first)).await.unwrap().text,
        "again",
        "what comes later is sent back again"
    );
    let told = ask(&model, &hello()).await;
    assert!(
        matches!(told, Err(ModelError::Refused { .. })),
        "nothing was left out, so it is not asked twice: {told:?}"
    );
    let sent: Vec<bool> = server
        .asked()
        .iter()
        .map(|one| one.body.to_string().contains("\"thinking\""))
        .collect();
    assert_eq!(sent, [false, true, false, true, false]);
}

#[tokio::test]
async fn a_model_that_writes_less_is_asked_within_its_bound_from_then_on() {
    let no = r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 32000 > 8192, which is the most for m-1"}}"#;
    let server = Server::start([
        Said::status(400, no, &[]),
        Said::stream(EVENTS, &anthropic_words("one")),
        Said::stream(EVENTS, &anthropic_words("two")),
    ])
    .await;
    let model = model(&server, Api::Anthropic, "/anthropic");
    for expected in ["one", "two"] {
        assert_eq!(ask(&model, &hello()).await.unwrap().text, expected);
    }
    let asked = server.asked();
    let bounds: Vec<Option<&Value>> = asked.iter().map(|one| one.body.get("max_tokens")).collect();
    assert_eq!(
        bounds,
        [Some(&json!(32_000)), Some(&json!(8192)), Some(&json!(8192))]
    );
    assert_eq!(asked.first().unwrap().path, "/anthropic/v1/messages");
}

fn looking() -> Request {
    let mut request = hello();
    let picture = Content::Image {
        mime: "image/png".to_owned(),
        base64: PNG.to_owned(),
    };
    request.messages.push(Message::User {
        content: vec![picture],
    });
    request
}

/// Which of the requests showed the picture.
fn shown(server: &Server) -> Vec<bool> {
    let asked = server.asked();
    asked
        .iter()
        .map(|one| one.body.to_string().contains(PNG))
        .collect()
}

#[tokio::test]
async fn a_model_that_sees_nothing_is_told_of_pictures_in_words_from_then_on() {
    let no = r#"{"type":"error","error":{"type":"invalid_request_error","message":"this model does not support images"}}"#;
    let server = Server::start([
        Said::status(400, no, &[]),
        Said::stream(EVENTS, &anthropic_words("one")),
        Said::stream(EVENTS, &anthropic_words("two")),
    ])
    .await;
    let model = model(&server, Api::Anthropic, "/anthropic");
    for expected in ["one", "two"] {
        assert_eq!(ask(&model, &looking()).await.unwrap().text, expected);
    }
    assert_eq!(shown(&server), [true, false, false]);
    let said = server.asked()[1].body.to_string();
    assert!(
        said.contains("(a picture, which this model can't look at)"),
        "{said}"
    );
}

#[tokio::test]
async fn a_picture_that_a_provider_does_not_take_does_not_end_the_conversation() {
    let no = r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.1.image.source.base64: Could not process image"}}"#;
    let server = Server::start([
        Said::status(400, no, &[]),
        Said::stream(EVENTS, &anthropic_words("one")),
        Said::status(400, no, &[]),
        Said::stream(EVENTS, &anthropic_words("two")),
    ])
    .await;
    let model = model(&server, Api::Anthropic, "/anthropic");
    for expected in ["one", "two"] {
        assert_eq!(ask(&model, &looking()).await.unwrap().text, expected);
    }
    assert_eq!(shown(&server), [true, false, true, false]);
}

#[tokio::test]
async fn a_refusal_that_names_pictures_where_there_are_none_is_a_refusal() {
    let no = r#"{"error":{"message":"this model does not support images"}}"#;
    let server = Server::start([
        Said::status(400, no, &[]),
        Said::stream(EVENTS, &anthropic_words("one")),
    ])
    .await;
    let model = model(&server, Api::Anthropic, "/anthropic");
    assert!(ask(&model, &hello()).await.is_err());
    assert_eq!(ask(&model, &looking()).await.unwrap().text, "one");
    assert_eq!(shown(&server), [false, true]);
}

#[tokio::test]
async fn a_model_that_is_known_to_see_nothing_is_shown_nothing() {
    let server = Server::start([Said::stream(EVENTS, &anthropic_words("one"))]).await;
    let options = Options {
        api: Api::Anthropic,
        facts: Facts {
            images: Some(false),
            ..Facts::default()
        },
        ..Options::new("acme", &server.url, "m-1", None)
    };
    let model = HttpModel::new(Client::new(net::Options::default()).unwrap(), options);
    assert_eq!(ask(&model, &looking()).await.unwrap().text, "one");
    assert_eq!(shown(&server), [false]);
}

#[tokio::test]
async fn a_model_that_does_not_think_as_wished_is_asked_without_from_then_on() {
    let no = |words: &str| {
        format!(
            r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"{words}"}}}}"#
        )
    };
    let server = Server::start([
        Said::status(
            400,
            &no("output_config: Extra inputs are not permitted"),
            &[],
        ),
        Said::status(400, &no("thinking: this model can't think"), &[]),
        Said::stream(EVENTS, &anthropic_words("one")),
        Said::stream(EVENTS, &anthropic_words("two")),
    ])
    .await;
    let options = Options {
        api: Api::Anthropic,
        thinking: Some(Thinking::High),
        ..Options::new("acme", &server.url, "m-1", None)
    };
    let model = HttpModel::new(Client::new(net::Options::default()).unwrap(), options);
    for expected in ["one", "two"] {
        assert_eq!(ask(&model, &hello()).await.unwrap().text, expected);
    }
    let asked = server.asked();
    let kinds: Vec<Option<&str>> = asked
        .iter()
        .map(|one| one.body.pointer("/thinking/type")?.as_str())
        .collect();
    assert_eq!(kinds, [Some("adaptive"), Some("enabled"), None, None]);
}

#[tokio::test]
async fn waits_that_a_provider_names() {
    let slow = r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#;
    let now = "Wed, 21 Oct 2026 07:00:00 GMT";
    let gemini = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}"#;
    for (api, body, headers, expected) in [
        (
            Api::Anthropic,
            slow,
            vec![("retry-after", "7")],
            Some(7_000),
        ),
        (
            Api::Anthropic,
            slow,
            vec![
                ("date", now),
                ("anthropic-ratelimit-requests-remaining", "3"),
                ("anthropic-ratelimit-requests-reset", "2026-10-21T08:00:00Z"),
                ("anthropic-ratelimit-output-tokens-remaining", "0"),
                (
                    "anthropic-ratelimit-output-tokens-reset",
                    "2026-10-21T07:00:20Z",
                ),
                ("anthropic-ratelimit-input-tokens-remaining", "0"),
                (
                    "anthropic-ratelimit-input-tokens-reset",
                    "2026-10-21T07:00:40Z",
                ),
            ],
            Some(40_000),
        ),
        (Api::Anthropic, slow, vec![], None),
        (Api::Gemini, gemini, vec![], Some(34_500)),
        (
            Api::OpenaiResponses,
            slow,
            vec![("retry-after-ms", "1500")],
            Some(1_500),
        ),
    ] {
        let server = Server::start([Said::status(429, body, &headers)]).await;
        let told = ask(&model(&server, api, "/v1"), &hello())
            .await
            .unwrap_err();
        let ModelError::Throttled { after, .. } = &told else {
            panic!("{told:?}");
        };
        assert_eq!(
            after.map(|wait| wait.as_millis()),
            expected,
            "{api:?} {headers:?}"
        );
        assert!(!told.to_string().contains("no credit"), "{told}");
    }
}

#[tokio::test]
async fn an_overloaded_provider_may_be_asked_again() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let server = Server::start([Said::status(529, body, &[])]).await;
    let told = ask(&model(&server, Api::Anthropic, "/v1"), &hello())
        .await
        .unwrap_err();
    assert_eq!(told.to_string(), "acme failed: HTTP 529: Overloaded");
    assert!(matches!(told, ModelError::Failed { .. }), "{told}");
}

fn ollama_words(text: &str) -> String {
    format!(
        "{}\n{}\n",
        json!({ "created_at": "t", "message": { "content": text }, "done": false }),
        json!({ "message": { "content": "" }, "done": true, "done_reason": "stop" })
    )
}

#[tokio::test]
async fn a_turn_with_a_local_server() {
    let server = Server::start([Said::stream(LINES, &ollama_words("Hi"))]).await;
    let told = ask(&model(&server, Api::Ollama, "/v1"), &hello()).await;
    assert_eq!(told.unwrap().text, "Hi");
    let asked = server.asked().remove(0);
    assert_eq!(asked.path, "/api/chat");
    assert_eq!(asked.body.pointer("/options/num_ctx"), Some(&json!(16_384)));
    assert_eq!(
        asked.headers.get("authorization").map(String::as_str),
        Some("Bearer very-secret-key")
    );
    for (status, body, expected) in [
        (
            404,
            r#"{"error":"model 'm-1' not found"}"#,
            "acme refused the request: HTTP 404: model 'm-1' not found (check the model's name and base_url)",
        ),
        (
            400,
            r#"{"error":"m-1 does not support tools"}"#,
            "acme refused the request: HTTP 400: m-1 does not support tools",
        ),
        (
            400,
            r#"{"error":"the input length exceeds the context length"}"#,
            "the conversation is too long for acme: HTTP 400: the input length exceeds the context length",
        ),
        (
            503,
            r#"{"error":"server busy, please try again. maximum pending requests exceeded"}"#,
            "acme failed: HTTP 503: server busy, please try again. maximum pending requests exceeded",
        ),
    ] {
        let server = Server::start([Said::status(
            status,
            body,
            &[("content-type", "application/json")],
        )])
        .await;
        let told = ask(&model(&server, Api::Ollama, ""), &hello())
            .await
            .unwrap_err();
        assert_eq!(told.to_string(), expected);
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_is_none_over_any_protocol() {
    let gemini =
        events([json!({ "candidates": [{ "content": { "parts": [{ "text": "Hi" }] } }] })]);
    let responses =
        events([json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "Hi" })]);
    let anthropic = anthropic_words("Hi")
        .split("data: {\"type\":\"message_stop")
        .next()
        .unwrap()
        .to_owned();
    let ollama = ollama_words("Hi").lines().next().unwrap().to_owned() + "\n{\"do";
    for (api, kind, stream) in [
        (Api::Gemini, EVENTS, gemini),
        (Api::OpenaiResponses, EVENTS, responses),
        (Api::Anthropic, EVENTS, anthropic),
        (Api::Ollama, LINES, ollama),
    ] {
        for said in [
            Said::stream(kind, &stream),
            Said::stream(kind, &stream).cut(),
        ] {
            let server = Server::start([said]).await;
            let told = ask(&model(&server, api, ""), &hello()).await;
            assert!(
                matches!(told, Err(ModelError::BrokeOff { .. })),
                "{api:?}: {told:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_turn_over_the_responses_protocol() {
    let sealed =
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed" });
    let called = json!({ "type": "function_call", "id": "fc_1", "call_id": "a", "name": "x", "arguments": "{}" });
    let first = events([
        json!({ "type": "response.completed", "response": { "output": [sealed, called] } }),
    ]);
    let words = json!({ "type": "message", "content": [{ "type": "output_text", "text": "Hi" }] });
    let second =
        events([json!({ "type": "response.completed", "response": { "output": [words] } })]);
    let no = r#"{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include"}}"#;
    let server = Server::start([
        Said::stream(EVENTS, &first),
        Said::stream(EVENTS, &second),
        Said::status(400, no, &[]),
        Said::stream(EVENTS, &second),
        Said::stream(EVENTS, &second),
    ])
    .await;
    let model = model(&server, Api::OpenaiResponses, "/v1");
    let first = ask(&model, &hello()).await.unwrap();
    let asks = after_a_call(&first);
    for _ in 0..3 {
        assert_eq!(ask(&model, &asks).await.unwrap().text, "Hi");
    }
    let asked = server.asked();
    assert!(asked.iter().all(|one| one.path == "/v1/responses"));
    let includes: Vec<bool> = asked
        .iter()
        .map(|one| one.body.get("include").is_some())
        .collect();
    assert_eq!(
        includes,
        [true, true, true, false, false],
        "it is told once"
    );
    let replayed = asked.get(1).unwrap().body.pointer("/input/1").unwrap();
    assert_eq!(replayed, &sealed);
}

#[tokio::test]
async fn a_turn_over_the_generate_content_protocol() {
    let part = json!({ "functionCall": { "name": "x", "args": {}, "id": "a" }, "thoughtSignature": "sealed" });
    let content = |part: Value| {
        events([
            json!({ "candidates": [{ "content": { "parts": [part] }, "finishReason": "STOP" }] }),
        ])
    };
    let no = |message: &str| {
        Said::status(400, &json!([{ "error": { "code": 400, "message": message, "status": "INVALID_ARGUMENT" } }]).to_string(), &[])
    };
    let server = Server::start([
        Said::stream(EVENTS, &content(part.clone())),
        Said::stream(EVENTS, &content(json!({ "text": "Hi" }))),
        no("Corrupted thought signature."),
        Said::stream(EVENTS, &content(json!({ "text": "Hi" }))),
    ])
    .await;
    let model = model(&server, Api::Gemini, "/v1beta");
    let first = ask(&model, &hello()).await.unwrap();
    let asks = after_a_call(&first);
    for _ in 0..2 {
        assert_eq!(ask(&model, &asks).await.unwrap().text, "Hi");
    }
    let asked = server.asked();
    let first = asked.first().unwrap();
    assert_eq!(
        first.path,
        "/v1beta/models/m-1:streamGenerateContent?alt=sse"
    );
    assert_eq!(
        first.headers.get("x-goog-api-key").map(String::as_str),
        Some("very-secret-key")
    );
    let sent = |at: usize| {
        asked
            .get(at)
            .unwrap()
            .body
            .pointer("/contents/1/parts/0")
            .unwrap()
            .clone()
    };
    assert_eq!(sent(1), part);
    assert_eq!(sent(2), part);
    assert_eq!(
        sent(3).get("thoughtSignature"),
        Some(&json!("skip_thought_signature_validator"))
    );
}
