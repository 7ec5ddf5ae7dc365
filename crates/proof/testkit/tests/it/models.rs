//! The scripted model: what it refuses, protocol by protocol, and what it tells.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tidings_testkit::http::{Answer, Ask};
use tidings_testkit::model_server::{Match, ModelServer, Turn, Wire};

struct Bench {
    model: ModelServer,
    wire: Wire,
}

impl Bench {
    async fn new(wire: Wire) -> Self {
        let model = ModelServer::start().await.unwrap();
        Self { model, wire }
    }

    async fn ask(&self, body: &Value) -> Answer {
        let path = match self.wire {
            Wire::Chat => "/v1/chat/completions",
            Wire::Responses => "/v1/responses",
            Wire::Messages => "/v1/messages",
            Wire::Ollama => "/api/chat",
            Wire::Gemini => "/v1beta/models/m:streamGenerateContent?alt=sse",
        };
        let address = self.model.base_url().split('/').nth(2).unwrap();
        let address: SocketAddr = address.parse().unwrap();
        let ask = Ask::post(path)
            .header("anthropic-version", "2023-06-01")
            .json(body);
        ask.send(address).await.unwrap()
    }

    /// Each is refused, with a word that says why, and listed.
    async fn refuses(&self, cases: &[(&str, Value)]) {
        for (number, (why, body)) in cases.iter().enumerate() {
            let answer = self.ask(body).await;
            assert_eq!(answer.status, 400, "{why}: {body}");
            assert!(
                answer.text().contains("the scripted model refuses"),
                "{}",
                answer.text()
            );
            let listed = self.model.violations();
            assert_eq!(listed.len(), number + 1);
            assert!(
                listed[number].contains(why),
                "'{}' says nothing of '{why}'",
                listed[number]
            );
        }
    }

    /// This one is taken.
    async fn takes(&self, body: &Value) -> String {
        self.model.push(Turn::text("good"));
        let answer = self.ask(body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text()
    }
}

/// A request with other fields.
fn with(base: &Value, fields: &Value) -> Value {
    let mut body = base.clone();
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

#[tokio::test]
async fn messages_that_break_a_rule_are_refused() {
    let bench = Bench::new(Wire::Messages).await;
    let person = json!({ "role": "user", "content": "hi" });
    let call = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "t", "input": {} }] });
    let result = json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a", "content": "x" }] });
    let good = json!({ "model": "m", "max_tokens": 9_000, "stream": true, "messages": [person, call, result] });
    assert!(
        bench
            .takes(&good)
            .await
            .contains("\"type\":\"message_stop\"")
    );
    let said = |messages: Value| with(&good, &json!({ "messages": messages }));
    let block =
        |block: Value| said(json!([person, { "role": "assistant", "content": [block] }, person]));
    bench
        .refuses(&[
            (
                "'messages' must be a list",
                json!({ "model": "m", "max_tokens": 1 }),
            ),
            ("'messages' must not be an empty list", said(json!([]))),
            ("'model'", with(&good, &json!({ "model": "" }))),
            ("'max_tokens'", with(&good, &json!({ "max_tokens": 0 }))),
            (
                "'budget_tokens'",
                with(
                    &good,
                    &json!({ "thinking": { "type": "enabled", "budget_tokens": 9_000 } }),
                ),
            ),
            (
                "'stream_options' is unknown",
                with(&good, &json!({ "stream_options": {} })),
            ),
            (
                "schema",
                with(
                    &good,
                    &json!({ "tools": [{ "name": "t", "input_schema": {} }] }),
                ),
            ),
            (
                "no name",
                with(
                    &good,
                    &json!({ "tools": [{ "name": "t t", "input_schema": { "type": "object" } }] }),
                ),
            ),
            (
                "'system'",
                said(json!([{ "role": "system", "content": "x" }, person])),
            ),
            ("first message", said(json!([call, result]))),
            ("two user messages", said(json!([person, person]))),
            (
                "last message",
                said(json!([person, { "role": "assistant", "content": "x" }])),
            ),
            ("were not answered", said(json!([person, call, person]))),
            ("answers no open call", said(json!([result]))),
            (
                "two calls have the id",
                said(json!([person, call, result, call, result])),
            ),
            ("empty", said(json!([{ "role": "user", "content": " " }]))),
            ("empty", block(json!({ "type": "text", "text": "" }))),
            (
                "'input' must be an object",
                block(json!({ "type": "tool_use", "id": "a", "name": "t", "input": "{}" })),
            ),
            (
                "no name",
                block(json!({ "type": "tool_use", "id": "a:b", "name": "t", "input": {} })),
            ),
            (
                "signed",
                block(json!({ "type": "thinking", "thinking": "x", "signature": "y" })),
            ),
            (
                "a block 'image' of assistant",
                block(json!({ "type": "image" })),
            ),
        ])
        .await;
}

#[tokio::test]
async fn responses_that_break_a_rule_are_refused() {
    let bench = Bench::new(Wire::Responses).await;
    let person = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hi" }] });
    let call = json!({ "type": "function_call", "call_id": "a", "name": "t", "arguments": "{}" });
    let result = json!({ "type": "function_call_output", "call_id": "a", "output": "x" });
    let good =
        json!({ "model": "m", "stream": true, "store": false, "input": [person, call, result] });
    assert!(
        bench
            .takes(&good)
            .await
            .contains("event: response.completed")
    );
    let said = |input: Value| with(&good, &json!({ "input": input }));
    bench
        .refuses(&[
            ("'input' must be a list", json!({ "model": "m" })),
            ("'model'", with(&good, &json!({ "model": null }))),
            ("'messages' is unknown", with(&good, &json!({ "messages": [] }))),
            ("a tool of the type ''", with(&good, &json!({ "tools": [{ "name": "t", "parameters": { "type": "object" } }] }))),
            ("'function' is unknown", with(&good, &json!({ "tools": [{ "type": "function", "function": { "name": "t" } }] }))),
            ("were not answered", said(json!([person, call]))),
            ("were not answered", said(json!([person, call, person, result]))),
            ("answers no open call", said(json!([person, result]))),
            ("two calls have the id", said(json!([person, call, result, call, result]))),
            ("no JSON", said(json!([person, with(&call, &json!({ "arguments": "{" })), result]))),
            ("must be an object", said(json!([person, with(&call, &json!({ "arguments": "[]" })), result]))),
            ("no id", said(json!([person, with(&call, &json!({ "call_id": "x".repeat(65) }))]))),
            ("empty", said(json!([person, call, with(&result, &json!({ "output": "" }))]))),
            ("sealed", said(json!([person, { "type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x" }, call, result]))),
            ("a part 'text'", said(json!([{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }]))),
            ("the role 'tool'", said(json!([{ "role": "tool", "content": "hi" }]))),
        ])
        .await;
}

#[tokio::test]
async fn local_chats_that_break_a_rule_are_refused() {
    let bench = Bench::new(Wire::Ollama).await;
    let person = json!({ "role": "user", "content": "hi" });
    let call = json!({ "role": "assistant", "content": "", "tool_calls": [{ "function": { "name": "t", "arguments": {} } }] });
    let result = json!({ "role": "tool", "tool_name": "t", "content": "x" });
    let good = json!({ "model": "m", "options": { "num_ctx": 32_768 }, "messages": [person, call, result] });
    assert!(bench.takes(&good).await.contains("\"done\":true"));
    let said = |messages: Value| with(&good, &json!({ "messages": messages }));
    bench
        .refuses(&[
            ("num_ctx", with(&good, &json!({ "options": {} }))),
            ("'max_tokens' is unknown", with(&good, &json!({ "max_tokens": 1 }))),
            ("were not answered", said(json!([person, call]))),
            ("answers no open call", said(json!([person, result]))),
            ("must be an object", said(json!([person, { "role": "assistant", "content": "", "tool_calls": [{ "function": { "name": "t", "arguments": "{}" } }] }]))),
            ("must be text", said(json!([{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }]))),
            ("two user messages", said(json!([person, person]))),
            ("no base64", said(json!([{ "role": "user", "content": "", "images": ["data:image/png;base64,AAAA"] }]))),
            ("the system comes first", said(json!([person, { "role": "system", "content": "x" }]))),
        ])
        .await;
}

#[tokio::test]
async fn contents_that_break_a_rule_are_refused() {
    let bench = Bench::new(Wire::Gemini).await;
    let person = json!({ "role": "user", "parts": [{ "text": "hi" }] });
    let answer = |part: Value| json!({ "role": "model", "parts": [part] });
    let old = answer(json!({ "functionCall": { "name": "t", "args": {} } }));
    let result = json!({ "role": "user", "parts": [{ "functionResponse": { "name": "t", "response": { "output": "x" } } }] });
    let words = answer(json!({ "text": "done" }));
    // A call of an earlier turn needs no signature.
    let good = json!({ "contents": [person, old, result, words, person] });
    assert!(
        bench
            .takes(&good)
            .await
            .contains("\"finishReason\":\"STOP\"")
    );
    let said = |contents: Value| json!({ "contents": contents });
    let signed = |signature: &str| {
        answer(
            json!({ "functionCall": { "name": "t", "args": {} }, "thoughtSignature": signature }),
        )
    };
    bench
        .takes(&said(json!([
            person,
            signed("skip_thought_signature_validator"),
            result
        ])))
        .await;
    bench
        .refuses(&[
            ("'contents' must be a list", json!({})),
            ("'model' is unknown", with(&good, &json!({ "model": "m" }))),
            ("without properties", with(&good, &json!({ "tools": [{ "functionDeclarations": [{ "name": "t", "parameters": { "type": "object" } }] }] }))),
            ("no thoughtSignature", said(json!([person, old, result]))),
            ("not as it was given", said(json!([person, signed("x"), result]))),
            ("were answered by", said(json!([person, old, person]))),
            ("were answered by", said(json!([result]))),
            ("two contents of user", said(json!([person, person]))),
            ("first content", said(json!([words, person]))),
            ("last content", said(json!([person, words]))),
            ("'args' must be an object", said(json!([person, answer(json!({ "functionCall": { "name": "t", "args": "{}" } }))]))),
            ("says nothing", said(json!([{ "role": "user", "parts": [{}] }]))),
            ("the role 'assistant'", said(json!([person, { "role": "assistant", "parts": [{ "text": "x" }] }]))),
        ])
        .await;
}

#[tokio::test]
async fn a_turn_is_found_by_its_words_in_every_protocol() {
    for (wire, body) in [
        (
            Wire::Chat,
            json!({ "model": "m", "stream": true, "messages": [{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "hi" }] }),
        ),
        (
            Wire::Responses,
            json!({ "model": "m", "stream": true, "instructions": "Be brief.", "input": "hi" }),
        ),
        (
            Wire::Messages,
            json!({ "model": "m", "stream": true, "max_tokens": 9, "system": "Be brief.", "messages": [{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }] }),
        ),
        (
            Wire::Ollama,
            json!({ "model": "m", "options": { "num_ctx": 1 }, "messages": [{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "hi" }] }),
        ),
        (
            Wire::Gemini,
            json!({ "systemInstruction": { "parts": [{ "text": "Be brief." }] }, "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] }),
        ),
    ] {
        let bench = Bench::new(wire).await;
        for on in [
            Match::Model("n".to_owned()),
            Match::System("Be long".to_owned()),
            Match::LastUser("ho".to_owned()),
        ] {
            bench.model.push_for(on, Turn::text("never"));
        }
        for on in [
            Match::Model("m".to_owned()),
            Match::System("brief".to_owned()),
            Match::LastUser("hi".to_owned()),
        ] {
            bench.model.push_for(on, Turn::text("found"));
            let said = bench.ask(&body).await;
            assert!(said.text().contains("found"), "{wire:?}: {}", said.text());
        }
        assert_eq!(bench.model.turns_left(), 3);
        let nothing = bench.ask(&body).await;
        assert_eq!(nothing.status, 500, "{wire:?}");
        assert_eq!(bench.model.unscripted().len(), 1);
        // Bytes of a script are those bytes alone.
        bench.model.push(Turn::raw_stream("nonsense"));
        assert_eq!(bench.ask(&body).await.text(), "nonsense", "{wire:?}");
    }
}
