use std::time::Duration;

use model::{
    Content, Delta, Message, ModelError, ModelPort as _, Reply, Request, StopReason, ToolSpec,
    Usage,
};
use net::Client;
use serde_json::json;
use testkit::model_server::{Gate, Match, ModelServer, Turn};
use tidings_model_http::{HttpModel, Options};
use waybill::Secret;

const SOON: Duration = Duration::from_secs(10);

fn options(server: &ModelServer) -> Options {
    let key = Secret::new("very-secret-key".to_owned());
    Options {
        idle: Duration::from_millis(400),
        after_finish: Duration::from_millis(100),
        first_piece: Duration::from_millis(900),
        ..Options::new("acme", server.base_url(), "m-1", Some(key))
    }
}

fn at(server: &ModelServer) -> HttpModel {
    HttpModel::new(
        Client::new(net::Options::default()).unwrap(),
        options(server),
    )
}

fn request(text: &str) -> Request {
    let content = vec![Content::Text {
        text: text.to_owned(),
    }];
    Request {
        system: "You are Ada.".to_owned(),
        messages: vec![Message::User { content }],
        tools: Vec::new(),
    }
}

async fn ask(model: &HttpModel, text: &str) -> (Vec<Delta>, Result<Reply, ModelError>) {
    let mut deltas = Vec::new();
    let answer = model
        .ask(&request(text), &mut |delta| deltas.push(delta))
        .await;
    (deltas, answer)
}

async fn failing(turn: Turn) -> ModelError {
    let server = ModelServer::start().await.unwrap();
    server.push(turn);
    let told = ask(&at(&server), "hi").await.1.unwrap_err();
    assert!(
        !format!("{told} {told:?}").contains("very-secret-key"),
        "{told:?}"
    );
    assert!(!told.to_string().contains("127.0.0.1"), "{told}");
    told
}

#[tokio::test]
async fn an_answer_arrives_piece_by_piece() {
    let server = ModelServer::start().await.unwrap();
    let gate = Gate::new();
    server.push(
        Turn::text("Hel")
            .pause_until(&gate)
            .then_text("lo")
            .usage(7, 2),
    );
    let model = at(&server);
    assert_eq!(model.name(), "acme/m-1");
    let (give, mut pieces) = tokio::sync::mpsc::unbounded_channel();
    let asked = request("hi");
    let mut sink = |delta| give.send(delta).unwrap();
    let (answer, ()) = tokio::join!(model.ask(&asked, &mut sink), async {
        assert_eq!(pieces.recv().await, Some(Delta::Text("Hel".to_owned())));
        gate.release();
    });
    let expected = Reply {
        text: "Hello".to_owned(),
        reasoning: String::new(),
        calls: Vec::new(),
        stop: StopReason::End,
        usage: Some(Usage {
            input: 7,
            cached: 0,
            output: 2,
        }),
        replay: None,
    };
    assert_eq!(answer, Ok(expected));
    let recorded = server.requests().remove(0);
    assert_eq!(
        recorded.headers.get("authorization").map(String::as_str),
        Some("Bearer very-secret-key")
    );
    let expected = json!({
        "model": "m-1", "stream": true, "stream_options": { "include_usage": true },
        "messages": [{ "role": "system", "content": "You are Ada." }, { "role": "user", "content": "hi" }],
    });
    assert_eq!(recorded.body, expected);
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_tool_call_arrives() {
    let server = ModelServer::start().await.unwrap();
    server.push(Turn::text("Let me look.").then_tool("terminal", json!({ "command": "ls" })));
    let (deltas, answer) = ask(&at(&server), "list").await;
    let answer = answer.unwrap();
    assert_eq!(
        deltas,
        [
            Delta::Text("Let me look.".to_owned()),
            Delta::Tool("terminal".to_owned())
        ]
    );
    let call = answer.calls.first().unwrap();
    assert_eq!(
        (answer.stop, call.name.as_str()),
        (StopReason::ToolUse, "terminal")
    );
    assert_eq!(
        call.arguments.as_ref().unwrap().get("command"),
        Some(&json!("ls"))
    );
}

#[tokio::test]
async fn two_models_are_served_by_one_server() {
    let server = ModelServer::start().await.unwrap();
    server.push_for(Match::LastUser("blue".to_owned()), Turn::text("for blue"));
    server.push_for(Match::Model("m-2".to_owned()), Turn::text("for m-2"));
    server.push(Turn::text("for anybody"));
    let model = at(&server);
    let other = HttpModel::new(
        Client::new(net::Options::default()).unwrap(),
        Options {
            model: "m-2".to_owned(),
            ..options(&server)
        },
    );
    assert_eq!(ask(&other, "hi").await.1.unwrap().text, "for m-2");
    assert_eq!(ask(&model, "hi").await.1.unwrap().text, "for anybody");
    assert_eq!(ask(&model, "blue?").await.1.unwrap().text, "for blue");
    let told = ask(&model, "more").await.1.unwrap_err();
    assert!(
        told.to_string()
            .contains("no turn for this request; the last user message is: more"),
        "{told}"
    );
    assert_eq!(server.unscripted().len(), 1);
    server.always("as ever", Duration::from_millis(1));
    assert_eq!(ask(&model, "more").await.1.unwrap().text, "as ever");
}

#[tokio::test]
async fn an_answer_that_is_cut_is_an_error_after_its_pieces() {
    let server = ModelServer::start().await.unwrap();
    server.push(Turn::deltas(["The ", "result"]).cut());
    let (deltas, answer) = ask(&at(&server), "hi").await;
    assert_eq!(deltas.len(), 2);
    assert!(
        matches!(answer, Err(ModelError::BrokeOff { .. })),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_server_that_ends_without_its_marker() {
    assert!(matches!(
        failing(Turn::text("Hi").without_finish()).await,
        ModelError::BrokeOff { .. }
    ));
    assert!(matches!(
        failing(Turn::raw_stream("data: {\"choices\":[{\"del")).await,
        ModelError::BrokeOff { .. }
    ));
    assert!(matches!(
        failing(Turn::raw_stream(&b"data: \xe4\xb8"[..])).await,
        ModelError::BrokeOff { .. }
    ));
    let server = ModelServer::start().await.unwrap();
    server.push(Turn::text("Hi").without_done());
    assert_eq!(ask(&at(&server), "hi").await.1.unwrap().text, "Hi");
}

const FINISH: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

#[tokio::test]
async fn a_cut_before_the_end_of_the_stream_is_a_cut() {
    let told = failing(Turn::text("Hi").then_raw(FINISH).cut()).await;
    assert!(matches!(told, ModelError::BrokeOff { .. }), "{told:?}");
}

#[tokio::test]
async fn a_server_that_never_closes_has_answered_all_the_same() {
    let server = ModelServer::start().await.unwrap();
    let gate = Gate::new();
    server.push(Turn::text("Hi").then_raw(FINISH).pause_until(&gate));
    assert_eq!(ask(&at(&server), "hi").await.1.unwrap().text, "Hi");
}

#[tokio::test]
async fn a_server_that_falls_silent() {
    let gate = Gate::new();
    let told = failing(Turn::text("Hi").pause_until(&gate)).await;
    assert_eq!(
        told,
        ModelError::Silent {
            provider: "acme".to_owned(),
            silence: Duration::from_millis(400)
        }
    );
}

#[tokio::test]
async fn a_slow_beginning_is_no_silence() {
    let server = ModelServer::start().await.unwrap();
    let role = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
    let slow = Duration::from_millis(500);
    server.push(
        Turn::empty()
            .then_raw(role)
            .then_pause(slow)
            .then_text("Hi"),
    );
    assert_eq!(ask(&at(&server), "hi").await.1.unwrap().text, "Hi");
}

#[tokio::test]
async fn comments_keep_a_connection_alive_and_are_no_answer() {
    let mut turn = Turn::empty();
    for _ in 0..40 {
        turn = turn
            .then_raw(": OPENROUTER PROCESSING\n\n")
            .then_pause(Duration::from_millis(50));
    }
    let told = failing(turn).await;
    assert_eq!(
        told,
        ModelError::Silent {
            provider: "acme".to_owned(),
            silence: Duration::from_millis(900)
        }
    );
}

#[tokio::test]
async fn a_server_that_says_no() {
    let throttled = failing(Turn::status(
        429,
        r#"{"error":{"message":"slow down"}}"#,
        &[("retry-after", "5")],
    ))
    .await;
    assert_eq!(
        throttled,
        ModelError::Throttled {
            provider: "acme".to_owned(),
            cause: "HTTP 429: slow down".to_owned(),
            after: Some(Duration::from_secs(5))
        }
    );
    for odd in ["999999", "2abc", "-1"] {
        let told = failing(Turn::status(429, "{}", &[("retry-after", odd)])).await;
        assert!(
            matches!(told, ModelError::Throttled { after: None, .. }),
            "{odd}: {told:?}"
        );
    }
    let key = failing(Turn::status(
        401,
        r#"{"error":{"message":"bad key very-secret-key"}}"#,
        &[],
    ))
    .await;
    assert_eq!(
        key.to_string(),
        "acme refused the key: HTTP 401: bad key •••"
    );
    let page = failing(Turn::status(
        200,
        "<html></html>",
        &[("content-type", "text/html")],
    ))
    .await;
    assert!(
        page.to_string().contains("web page; is base_url right?"),
        "{page}"
    );
    let broken = failing(Turn::status(
        200,
        "{\"choices\"",
        &[("content-type", "application/json")],
    ))
    .await;
    assert!(broken.to_string().contains("no JSON"), "{broken}");
    let inside = failing(Turn::status(
        200,
        r#"{"error":{"message":"boom","code":500}}"#,
        &[("content-type", "application/json")],
    ))
    .await;
    assert_eq!(inside.to_string(), "acme failed: HTTP 500: boom");
}

#[tokio::test]
async fn a_model_that_thought_until_its_tokens_were_spent() {
    let server = ModelServer::start().await.unwrap();
    let body = r#"{"choices":[{"message":{"content":""},"finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":8000}}"#;
    server.push(Turn::status(
        200,
        body,
        &[("content-type", "application/json")],
    ));
    server.push(Turn::empty().then_reasoning("hm").finish("length"));
    let model = at(&server);
    for _ in 0..2 {
        let answer = ask(&model, "hi").await.1.unwrap();
        assert_eq!(
            (answer.stop, answer.text.as_str()),
            (StopReason::Length, "")
        );
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream() {
    let server = ModelServer::start().await.unwrap();
    let body = r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    server.push(Turn::status(
        200,
        body,
        &[("content-type", "application/json; charset=utf-8")],
    ));
    let (deltas, answer) = ask(&at(&server), "hi").await;
    assert_eq!(
        (deltas, answer.unwrap().text.as_str()),
        (vec![Delta::Text("Hi".to_owned())], "Hi")
    );
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let server = ModelServer::start().await.unwrap();
    let model = at(&server);
    drop(server);
    let deadline = tokio::time::Instant::now() + SOON;
    loop {
        let told = ask(&model, "hi").await.1.unwrap_err();
        if matches!(told, ModelError::Unreachable { .. }) {
            assert!(
                told.to_string().starts_with("acme could not be reached: "),
                "{told}"
            );
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{told:?}");
    }
}

#[tokio::test]
async fn a_model_that_takes_tools_only_without_reasoning() {
    let server = ModelServer::start().await.unwrap();
    let no = r#"{"error":{"message":"Function tools with reasoning_effort are not supported for m-1 in /v1/chat/completions. Set reasoning_effort to 'none'.","param":"reasoning_effort"}}"#;
    server.push(Turn::status(400, no, &[]));
    server.push(Turn::text("one"));
    server.push(Turn::text("two"));
    let model = at(&server);
    let mut asked = request("hi");
    asked.tools.push(ToolSpec {
        name: "terminal".to_owned(),
        description: "Runs.".to_owned(),
        parameters: json!({ "type": "object" }),
    });
    for expected in ["one", "two"] {
        assert_eq!(model.ask(&asked, &mut |_| {}).await.unwrap().text, expected);
    }
    let efforts: Vec<_> = server
        .requests()
        .iter()
        .map(|one| one.body.get("reasoning_effort").cloned())
        .collect();
    assert_eq!(efforts, [None, Some(json!("none")), Some(json!("none"))]);
}

#[tokio::test]
async fn dropping_the_question_closes_the_connection() {
    let server = ModelServer::start().await.unwrap();
    let gate = Gate::new();
    server.push(Turn::text("Hi").pause_until(&gate));
    let model = at(&server);
    let asked = request("hi");
    let mut nobody = |_| {};
    tokio::select! {
        answer = model.ask(&asked, &mut nobody) => panic!("it waits at the gate: {answer:?}"),
        reached = gate.reached(SOON) => assert!(reached),
    }
    server.push(Turn::text("again"));
    assert_eq!(ask(&model, "hi").await.1.unwrap().text, "again");
    assert!(server.wait_for_requests(2, SOON).await);
}

#[tokio::test]
async fn the_scripted_server_is_strict() {
    let server = ModelServer::start().await.unwrap();
    let client = Client::new(net::Options::default()).unwrap();
    let url = format!("{}/chat/completions", server.base_url());
    for bad in [
        json!({ "model": "m" }),
        json!({ "model": "m", "messages": [{ "role": "user", "content": "" }] }),
        json!({ "model": "m", "messages": [{ "role": "user", "content": "a" }, { "role": "user", "content": "b" }] }),
        json!({ "model": "m", "messages": [{ "role": "user", "content": "a" }, { "role": "tool", "tool_call_id": "x", "content": "b" }] }),
        json!({ "model": "m", "messages": [{ "role": "user", "content": "a" }, { "role": "assistant", "tool_calls": [{ "id": "x", "function": { "name": "t", "arguments": "{" } }] }] }),
        json!({ "model": "m", "messages": [{ "role": "user", "content": "a" }, { "role": "assistant", "tool_calls": [{ "id": "x", "function": { "name": "t", "arguments": "{}" } }] }, { "role": "user", "content": "b" }] }),
    ] {
        assert_eq!(
            client.post(&url).json(&bad).send().await.unwrap().status(),
            400,
            "{bad}"
        );
    }
    assert_eq!(server.violations().len(), 6);
}
