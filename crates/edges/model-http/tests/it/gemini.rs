//! The generate-content protocol: streams as the provider sends them, and what is sent.

use model::{
    Content, Delta, Message, Replay, ReplayBlock, Reply, Request, StopReason, ToolCall, ToolSpec,
    Usage,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use tidings_model_http::Manner;
use tidings_model_http::gemini::{Decoder, Unsigned, encode};

use crate::kit::{GIF, Kit, PNG, ROUTE, Wire, any_json, call, events, limits, said};

const KIT: Kit = Kit {
    make: || Box::new(Decoder::new(ROUTE, limits())),
    wire: Wire::Events,
    markers: &["finishReason", "blockReason"],
};

fn parts(parts: Value) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "index": 0 }], "responseId": "r1" })
}

fn last(parts: Value, reason: &str) -> Value {
    json!({
        "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": reason, "index": 0 }],
        "usageMetadata": {
            "promptTokenCount": 20, "cachedContentTokenCount": 8, "candidatesTokenCount": 3, "thoughtsTokenCount": 40, "totalTokenCount": 63,
        },
        "responseId": "r1",
    })
}

fn cost() -> Option<Usage> {
    Some(Usage {
        input: 20,
        cached: 8,
        output: 43,
    })
}

fn answered(text: &str, stop: StopReason) -> Reply {
    Reply {
        usage: cost(),
        ..said(text, stop)
    }
}

#[test]
fn words_by_the_book() {
    let usage_so_far = json!({ "candidates": [], "usageMetadata": { "promptTokenCount": 20, "candidatesTokenCount": 1 } });
    let stream = events([
        parts(json!([{ "text": "Héllo " }])),
        usage_so_far,
        last(json!([{ "text": "中" }, { "text": "🦀" }]), "STOP"),
    ]);
    assert_eq!(
        KIT.reply(&stream),
        Ok(answered("Héllo 中🦀", StopReason::End))
    );
    let a_reason_with_every_piece = events([
        last(json!([{ "text": "a" }]), "STOP"),
        last(json!([{ "text": "b" }]), "STOP"),
    ]);
    assert_eq!(
        KIT.reply(&a_reason_with_every_piece),
        Ok(answered("ab", StopReason::End))
    );
}

#[test]
fn ways_to_end() {
    let words = json!([{ "text": "a" }]);
    for (reason, expected) in [
        ("STOP", StopReason::End),
        ("OTHER", StopReason::End),
        ("A_NEW_REASON", StopReason::End),
        ("MAX_TOKENS", StopReason::Length),
        ("SAFETY", StopReason::Refused),
        ("RECITATION", StopReason::Refused),
        ("PROHIBITED_CONTENT", StopReason::Refused),
    ] {
        let told = KIT.reply(&events([last(words.clone(), reason)]));
        assert_eq!(told, Ok(answered("a", expected)), "{reason}");
    }
    for reason in [
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
    ] {
        let told = KIT.error(&events([last(words.clone(), reason)]));
        assert_eq!(told, format!("acme failed: it stopped with {reason}"));
    }
    let said_nothing = KIT.error(&events([last(json!([]), "OTHER")]));
    assert_eq!(said_nothing, "acme failed: it stopped with OTHER");
    let blocked =
        json!({ "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" }, "usageMetadata": {} });
    assert_eq!(
        KIT.reply(&events([blocked])),
        Ok(said("", StopReason::Refused))
    );
    KIT.broke_off("");
    KIT.broke_off(&events([parts(words)]));
    KIT.broke_off(&events([json!({ "candidates": [{ "index": 0 }] })]));
}

#[test]
fn thoughts_are_never_the_answer() {
    let stream = events([
        parts(json!([{ "text": "hm", "thought": true }])),
        last(
            json!([{ "text": "Hi" }, { "text": "", "thoughtSignature": "s" }]),
            "STOP",
        ),
    ]);
    let told = KIT.reply(&stream).unwrap();
    assert_eq!(
        (told.text.as_str(), told.reasoning.as_str(), told.replay),
        ("Hi", "hm", None)
    );
}

#[test]
fn calls_come_whole_with_what_is_wanted_back() {
    let stream = events([
        parts(json!([
            { "functionCall": { "name": "terminal", "args": { "command": "ls" }, "id": "fc-1" }, "thoughtSignature": "sealed" },
            { "functionCall": { "name": "x" } },
        ])),
        last(
            json!([{ "functionCall": { "name": "y", "args": {} } }]),
            "STOP",
        ),
    ]);
    let expected = Reply {
        calls: vec![
            call("fc-1", "terminal", json!({ "command": "ls" })),
            call("call_r1_1", "x", json!({})),
            call("call_r1_2", "y", json!({})),
        ],
        replay: Some(Replay {
            route: ROUTE.to_owned(),
            blocks: vec![ReplayBlock {
                call: Some(0),
                data: json!({ "id": "fc-1", "thoughtSignature": "sealed" }),
            }],
        }),
        ..answered("", StopReason::ToolUse)
    };
    assert_eq!(KIT.reply(&stream), Ok(expected));
    assert_eq!(
        KIT.deltas(&stream),
        ["terminal", "x", "y"].map(|name| Delta::Tool(name.to_owned()))
    );
    let cut = KIT.reply(&stream.replace("STOP", "MAX_TOKENS"));
    assert_eq!(cut, Ok(answered("", StopReason::Length)));
}

#[test]
fn what_is_odd_is_passed_over() {
    let stream = events([
        json!(7),
        json!({}),
        json!([]),
        json!({ "candidates": null }),
        json!({ "candidates": [{ "index": 1, "content": { "parts": [{ "text": "another" }] } }] }),
        json!({ "candidates": [{ "finishReason": "FINISH_REASON_UNSPECIFIED" }] }),
        json!({ "promptFeedback": { "blockReason": "BLOCK_REASON_UNSPECIFIED" } }),
        parts(
            json!([{ "executableCode": { "code": "1" } }, { "inlineData": {} }, { "functionCall": null }, { "text": null }, 7]),
        ),
        json!({ "candidates": [{ "content": { "parts": [{ "text": "Hi" }] }, "finishReason": "STOP" }] }),
    ]);
    assert_eq!(KIT.reply(&stream), Ok(said("Hi", StopReason::End)));
}

#[test]
fn errors_inside_a_stream() {
    let begun = events([parts(json!([{ "text": "The result" }]))]);
    for (tail, expected) in [
        (
            json!({ "error": { "code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE" } }),
            "acme failed: HTTP 503: The model is overloaded.",
        ),
        (
            json!([{ "error": { "code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED" } }]),
            "acme says wait: HTTP 429: slow down",
        ),
        (
            json!({ "error": { "code": 400, "message": "The input token count (9) exceeds the maximum number of tokens allowed (8).", "status": "INVALID_ARGUMENT" } }),
            "the conversation is too long for acme: HTTP 400: The input token count (9) exceeds the maximum number of tokens allowed (8).",
        ),
    ] {
        let stream = begun.clone() + &events([tail, last(json!([]), "STOP")]);
        assert_eq!(KIT.error(&stream), expected);
    }
}

#[test]
fn answers_without_end_are_stopped() {
    let endless = vec![parts(json!([{ "text": "x".repeat(100) }])); 50];
    let told = KIT.decode(&[events(endless).as_bytes()]).1.unwrap_err();
    assert!(
        told.to_string().contains("longer than 4000 bytes"),
        "{told}"
    );
    let calls = vec![parts(json!([{ "functionCall": { "name": "x" } }])); 20];
    let told = KIT.decode(&[events(calls).as_bytes()]).1.unwrap_err();
    assert!(told.to_string().contains("more than 8 tools"), "{told}");
}

#[test]
fn a_whole_answer_is_an_answer() {
    let body = last(json!([{ "text": "Hi" }]), "STOP");
    assert_eq!(
        KIT.whole(&body.to_string()),
        Ok(answered("Hi", StopReason::End))
    );
    let listed = json!([
        parts(json!([{ "text": "H" }])),
        last(json!([{ "text": "i" }]), "STOP")
    ]);
    assert_eq!(
        KIT.whole(&listed.to_string()),
        Ok(answered("Hi", StopReason::End))
    );
}

fn person(content: Vec<Content>) -> Message {
    Message::User { content }
}

fn result(call: &str, content: &str, failed: bool) -> Message {
    Message::Tool {
        call: call.to_owned(),
        name: "x".to_owned(),
        content: content.to_owned(),
        failed,
    }
}

fn after_two_calls(calls: Vec<ToolCall>) -> Request {
    let text = |text: &str| Content::Text {
        text: text.to_owned(),
    };
    let image = |base64: &str| Content::Image {
        mime: "image/jpeg".to_owned(),
        base64: base64.to_owned(),
    };
    let block = ReplayBlock {
        call: Some(0),
        data: json!({ "id": "fc/1", "thoughtSignature": "sealed" }),
    };
    Request {
        system: "You are Ada.".to_owned(),
        messages: vec![
            person(vec![text("look"), image(PNG), image(GIF)]),
            Message::Assistant {
                text: "Yes.".to_owned(),
                calls,
                replay: Some(Replay {
                    route: ROUTE.to_owned(),
                    blocks: vec![block],
                }),
            },
            result("b", "no", true),
            result("fc/1", "yes", false),
            person(vec![text("hurry")]),
        ],
        tools: vec![
            ToolSpec {
                name: "x".to_owned(),
                description: "Does.".to_owned(),
                parameters: json!({
                    "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["n"], "patternProperties": {},
                    "properties": { "n": { "type": "integer", "pattern": "^a", "const": 3 }, "pattern": { "anyOf": [{ "type": "string", "default": "" }, true] } },
                }),
            },
            ToolSpec {
                name: "y".to_owned(),
                description: "Does.".to_owned(),
                parameters: json!({ "type": "object", "properties": {} }),
            },
        ],
    }
}

#[test]
fn a_turn_with_tools_is_sent_in_the_order_of_its_calls() {
    let request = after_two_calls(vec![
        call("fc/1", "x", json!({ "n": 1 })),
        call("b", "x", json!({})),
    ]);
    let expected = json!({
        "systemInstruction": { "parts": [{ "text": "You are Ada." }] },
        "tools": [{ "functionDeclarations": [
            { "name": "x", "description": "Does.", "parametersJsonSchema": {
                "type": "object", "required": ["n"],
                "properties": { "n": { "type": "integer", "enum": [3] }, "pattern": { "anyOf": [{ "type": "string" }, true] } },
            } },
            { "name": "y", "description": "Does." },
        ] }],
        "contents": [
            { "role": "user", "parts": [
                { "text": "look" },
                { "inlineData": { "mimeType": "image/png", "data": PNG } },
                { "text": "(a picture of a kind that this model can't look at)" },
            ] },
            { "role": "model", "parts": [
                { "text": "Yes." },
                { "functionCall": { "name": "x", "args": { "n": 1 }, "id": "fc/1" }, "thoughtSignature": "sealed" },
                { "functionCall": { "name": "x", "args": {} } },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "name": "x", "response": { "output": "yes" }, "id": "fc/1" } },
                { "functionResponse": { "name": "x", "response": { "error": "no" } } },
                { "text": "hurry" },
            ] },
        ],
    });
    assert_eq!(
        encode(&request, ROUTE, Unsigned::Plain, Manner::default()),
        expected
    );
}

#[test]
fn another_models_calls_go_without_its_signature() {
    let request = after_two_calls(vec![
        call("fc/1", "x", json!({})),
        call("b", "x", json!({})),
    ]);
    let of = |route: &str, unsigned: Unsigned, at: usize| {
        let sent = encode(&request, route, unsigned, Manner::default());
        sent.pointer(&format!("/contents/1/parts/{at}"))
            .unwrap()
            .clone()
    };
    let bare = json!({ "functionCall": { "name": "x", "args": {} } });
    assert_eq!(of("acme/other", Unsigned::Plain, 1), bare);
    let excused = json!({ "functionCall": { "name": "x", "args": {} }, "thoughtSignature": "skip_thought_signature_validator" });
    assert_eq!(of("acme/other", Unsigned::Excused, 1), excused);
    assert_eq!(
        of("acme/other", Unsigned::Excused, 2),
        bare,
        "only the first of a step"
    );
    let ours = of(ROUTE, Unsigned::Excused, 1);
    assert_eq!(ours.get("thoughtSignature"), Some(&json!("sealed")));
}

const WORDS: &[&str] = &[
    "candidates",
    "content",
    "parts",
    "text",
    "thought",
    "thoughtSignature",
    "functionCall",
    "name",
    "args",
    "id",
    "index",
    "finishReason",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "OTHER",
    "promptFeedback",
    "blockReason",
    "usageMetadata",
    "promptTokenCount",
    "error",
    "code",
    "message",
    "details",
    "retryDelay",
    "responseId",
];

proptest! {
    #[test]
    fn no_bytes_are_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..200), data in ".{0,60}") {
        KIT.bytes_of_any_kind(&bytes);
        KIT.bytes_of_any_kind(format!("data: {data}\n\n").as_bytes());
    }

    #[test]
    fn no_json_is_too_odd(all in proptest::collection::vec(any_json(WORDS), 0..6)) {
        KIT.json_of_any_kind(&all);
    }

    #[test]
    fn no_schema_is_too_odd(schema in any_json(&["type", "properties", "items", "anyOf", "const", "$defs", "pattern", "enum"])) {
        let tool = ToolSpec { name: "x".to_owned(), description: String::new(), parameters: json!({ "properties": { "a": schema } }) };
        let request = Request { system: String::new(), messages: Vec::new(), tools: vec![tool] };
        drop(encode(&request, ROUTE, Unsigned::Plain, Manner::default()));
    }
}
