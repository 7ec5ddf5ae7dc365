//! The messages protocol: streams as the provider and its look-alikes send them, and what is sent.

use model::{
    Content, Delta, Message, ModelError, Replay, ReplayBlock, Reply, Request, StopReason, ToolSpec,
    Usage,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use tidings_model_http::Manner;
use tidings_model_http::anthropic::{Decoder, encode};

use crate::kit::{Kit, PNG, ROUTE, Wire, any_json, call, events, limits, said};

const KIT: Kit = Kit {
    make: || Box::new(Decoder::new(ROUTE, limits())),
    wire: Wire::Events,
    markers: &["message_stop"],
};

fn start() -> Value {
    json!({ "type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "content": [], "stop_reason": null,
        "usage": { "input_tokens": 5, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 1 },
    } })
}

fn begin(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn delta(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn end(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn stop(reason: &str) -> [Value; 2] {
    [
        json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 9 } }),
        json!({ "type": "message_stop" }),
    ]
}

fn words(text: &str) -> Vec<Value> {
    vec![
        begin(0, json!({ "type": "text", "text": "" })),
        delta(0, json!({ "type": "text_delta", "text": text })),
        end(0),
    ]
}

/// With the events' names, as the provider sends them.
fn stream(blocks: impl IntoIterator<Item = Value>, reason: &str) -> String {
    let all = [start()].into_iter().chain(blocks).chain(stop(reason));
    all.map(|one| {
        let kind = one.get("type").unwrap().as_str().unwrap().to_owned();
        format!("event: {kind}\ndata: {one}\n\n")
    })
    .collect()
}

fn cost() -> Option<Usage> {
    Some(Usage {
        input: 325,
        cached: 300,
        output: 9,
    })
}

#[test]
fn words_by_the_book() {
    let blocks = [
        begin(0, json!({ "type": "text", "text": "" })),
        json!({ "type": "ping" }),
        delta(0, json!({ "type": "text_delta", "text": "Héllo " })),
        delta(0, json!({ "type": "citations_delta", "citation": {} })),
        delta(0, json!({ "type": "text_delta", "text": "中🦀" })),
        end(0),
    ];
    let expected = Reply {
        usage: cost(),
        ..said("Héllo 中🦀", StopReason::End)
    };
    assert_eq!(KIT.reply(&stream(blocks, "end_turn")), Ok(expected));
}

#[test]
fn ways_to_end() {
    for (reason, expected) in [
        ("end_turn", StopReason::End),
        ("stop_sequence", StopReason::End),
        ("pause_turn", StopReason::End),
        ("a_new_reason", StopReason::End),
        ("tool_use", StopReason::End),
        ("max_tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("refusal", StopReason::Refused),
    ] {
        let told = KIT.reply(&stream(words("a"), reason)).unwrap();
        assert_eq!((told.text.as_str(), told.stop), ("a", expected), "{reason}");
    }
    KIT.broke_off("");
    KIT.broke_off(&events([start()]));
    let without_stop: Vec<Value> = [start()]
        .into_iter()
        .chain(words("a"))
        .chain(stop("end_turn").into_iter().take(1))
        .collect();
    KIT.broke_off(&events(without_stop));
}

#[test]
fn calls_in_parallel_are_put_together() {
    let blocks = [
        begin(0, json!({ "type": "text", "text": "Let me look." })),
        end(0),
        begin(
            1,
            json!({ "type": "tool_use", "id": "toolu_a", "name": "terminal", "input": {} }),
        ),
        begin(
            2,
            json!({ "type": "tool_use", "id": "toolu_b", "name": "list_files", "input": {} }),
        ),
        delta(1, json!({ "type": "input_json_delta", "partial_json": "" })),
        delta(
            1,
            json!({ "type": "input_json_delta", "partial_json": "{\"command\":" }),
        ),
        delta(
            1,
            json!({ "type": "input_json_delta", "partial_json": "\"ls\"}" }),
        ),
        end(1),
        end(2),
        begin(
            3,
            json!({ "type": "tool_use", "id": "toolu_c", "name": "x", "input": { "n": 1 } }),
        ),
        end(3),
        begin(
            4,
            json!({ "type": "server_tool_use", "id": "srv", "name": "web_search", "input": {} }),
        ),
        delta(
            4,
            json!({ "type": "input_json_delta", "partial_json": "{\"query\":1}" }),
        ),
        end(4),
    ];
    let stream = stream(blocks, "tool_use");
    let expected = Reply {
        calls: vec![
            call("toolu_a", "terminal", json!({ "command": "ls" })),
            call("toolu_b", "list_files", json!({})),
            call("toolu_c", "x", json!({ "n": 1 })),
        ],
        usage: cost(),
        ..said("Let me look.", StopReason::ToolUse)
    };
    assert_eq!(KIT.reply(&stream), Ok(expected));
    let tools: Vec<Delta> = KIT.deltas(&stream).into_iter().skip(1).collect();
    assert_eq!(
        tools,
        ["terminal", "list_files", "x"].map(|name| Delta::Tool(name.to_owned()))
    );
}

#[test]
fn a_call_that_was_cut_is_never_run() {
    let half = [
        begin(
            0,
            json!({ "type": "tool_use", "id": "a", "name": "write_file", "input": {} }),
        ),
        delta(
            0,
            json!({ "type": "input_json_delta", "partial_json": "{\"path\":\"a" }),
        ),
    ];
    for reason in ["max_tokens", "refusal"] {
        let told = KIT.reply(&stream(half.clone(), reason)).unwrap();
        assert_eq!(told.calls, [], "{reason}");
    }
    let told = KIT.reply(&stream(half, "tool_use")).unwrap();
    let arguments = &told.calls.first().unwrap().arguments;
    assert_eq!(arguments, &Err("{\"path\":\"a".to_owned()));
}

fn thinking(index: u64, thought: &str, signature: &str) -> Vec<Value> {
    vec![
        begin(
            index,
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
        ),
        delta(
            index,
            json!({ "type": "thinking_delta", "thinking": thought }),
        ),
        delta(
            index,
            json!({ "type": "signature_delta", "signature": signature }),
        ),
        end(index),
    ]
}

fn tool(index: u64, id: &str) -> Vec<Value> {
    vec![
        begin(
            index,
            json!({ "type": "tool_use", "id": id, "name": "x", "input": {} }),
        ),
        end(index),
    ]
}

fn block(call: Option<usize>, data: Value) -> ReplayBlock {
    ReplayBlock { call, data }
}

#[test]
fn thoughts_are_kept_apart_and_wanted_back_beside_calls() {
    let blocks = thinking(0, "first", "s1")
        .into_iter()
        .chain([
            begin(1, json!({ "type": "redacted_thinking", "data": "sealed" })),
            end(1),
            begin(2, json!({ "type": "text", "text": "Hm." })),
            end(2),
        ])
        .chain(thinking(3, "second", "s2"))
        .chain(tool(4, "a"))
        .chain(tool(5, "b"));
    let told = KIT.reply(&stream(blocks, "tool_use")).unwrap();
    assert_eq!(
        (told.text.as_str(), told.reasoning.as_str()),
        ("Hm.", "first\n\nsecond")
    );
    let thought = |text: &str, signature: &str| json!({ "type": "thinking", "thinking": text, "signature": signature });
    let expected = Replay {
        route: ROUTE.to_owned(),
        blocks: vec![
            block(None, thought("first", "s1")),
            block(
                None,
                json!({ "type": "redacted_thinking", "data": "sealed" }),
            ),
            block(Some(0), thought("second", "s2")),
        ],
    };
    assert_eq!(told.replay, Some(expected));
    let done = thinking(0, "hm", "s")
        .into_iter()
        .chain([begin(1, json!({ "type": "text", "text": "Hi" }))]);
    let told = KIT.reply(&stream(done, "end_turn")).unwrap();
    assert_eq!(
        (told.text.as_str(), told.replay),
        ("Hi", None),
        "nothing demands it"
    );
    let unsigned = thinking(0, "hm", "").into_iter().chain(tool(1, "a"));
    assert_eq!(
        KIT.reply(&stream(unsigned, "tool_use")).unwrap().replay,
        None
    );
}

#[test]
fn what_look_alikes_leave_out_or_add() {
    let all = [
        json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": "Hi" } }),
        json!({ "type": "a_new_event", "index": 7 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "a_new_block" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "a_new_delta" } }),
        json!({ "type": "content_block_delta", "index": 1, "delta": null }),
        json!([]),
        json!(7),
        json!({}),
        json!({ "type": "message_delta", "delta": { "stop_reason": null }, "usage": { "input_tokens": 10, "output_tokens": 2 } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "input_tokens": 0, "output_tokens": 3 } }),
        json!({ "type": "message_stop" }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "after the end" } }),
    ];
    let expected = Reply {
        usage: Some(Usage {
            input: 10,
            cached: 0,
            output: 3,
        }),
        ..said("Hi", StopReason::End)
    };
    assert_eq!(KIT.reply(&(events(all) + "data: [DONE]\n\n")), Ok(expected));
}

#[test]
fn errors_inside_a_stream() {
    let begun = events([start()].into_iter().chain(words("The result")));
    for (tail, expected) in [
        (
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } }),
            "acme failed: Overloaded",
        ),
        (
            json!({ "type": "error", "error": { "type": "api_error", "message": "boom" } }),
            "acme failed: boom",
        ),
        (
            json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow down" } }),
            "acme says wait: slow down",
        ),
        (
            json!({ "type": "error", "error": { "type": "authentication_error", "message": "no" } }),
            "acme refused the key: no",
        ),
        (
            json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "odd" } }),
            "acme refused the request: odd",
        ),
        (
            json!({ "error": { "message": "boom" } }),
            "acme failed: boom",
        ),
    ] {
        let stream = format!("{begun}event: error\ndata: {tail}\n\n");
        assert_eq!(
            KIT.error(&(stream + &events(stop("end_turn")))),
            expected,
            "{tail}"
        );
    }
    assert!(KIT.error("data: {\"type\":\n\n").contains("no JSON"));
}

#[test]
fn answers_without_end_are_stopped() {
    let piece = delta(0, json!({ "type": "text_delta", "text": "x".repeat(100) }));
    let told = KIT
        .decode(&[events(vec![piece; 50]).as_bytes()])
        .1
        .unwrap_err();
    assert!(
        told.to_string().contains("longer than 4000 bytes"),
        "{told}"
    );
    let calls = (0..20).flat_map(|at| tool(at, &format!("c{at}")));
    let told = KIT
        .decode(&[stream(calls, "tool_use").as_bytes()])
        .1
        .unwrap_err();
    assert!(told.to_string().contains("more than 8 tools"), "{told}");
}

#[test]
fn a_whole_answer_is_an_answer() {
    let mut body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [
            { "type": "thinking", "thinking": "hm", "signature": "s" },
            { "type": "text", "text": "Hi" },
            { "type": "tool_use", "id": "a", "name": "x", "input": { "n": 1 } },
        ],
        "usage": { "input_tokens": 7, "output_tokens": 2 },
    });
    let told = KIT.whole(&body.to_string()).unwrap();
    assert_eq!((told.text.as_str(), told.reasoning.as_str()), ("Hi", "hm"));
    assert_eq!(told.calls, [call("a", "x", json!({ "n": 1 }))]);
    assert_eq!(told.replay.unwrap().blocks.len(), 1);
    body["stop_reason"] = Value::Null;
    assert!(matches!(
        KIT.whole(&body.to_string()),
        Err(ModelError::BrokeOff { .. })
    ));
}

fn text(text: &str) -> Content {
    Content::Text {
        text: text.to_owned(),
    }
}

fn image(mime: &str, base64: &str) -> Content {
    Content::Image {
        mime: mime.to_owned(),
        base64: base64.to_owned(),
    }
}

fn result(call: &str, content: &str, failed: bool) -> Message {
    Message::Tool {
        call: call.to_owned(),
        name: "x".to_owned(),
        content: content.to_owned(),
        failed,
    }
}

#[test]
fn a_turn_with_tools_is_sent_with_its_marks() {
    let replay = Some(Replay {
        route: ROUTE.to_owned(),
        blocks: vec![
            block(
                None,
                json!({ "type": "thinking", "thinking": "hm", "signature": "s" }),
            ),
            block(Some(1), json!({ "type": "redacted_thinking", "data": "d" })),
        ],
    });
    let request = Request {
        system: "You are Ada.".to_owned(),
        messages: vec![
            Message::User {
                content: vec![
                    text("look"),
                    image("image/png", PNG),
                    image("image/png", "AAAA"),
                ],
            },
            Message::Assistant {
                text: "Yes. ".to_owned(),
                calls: vec![call("a", "x", json!({ "n": 1 })), call("b", "x", json!({}))],
                replay,
            },
            result("b", "", false),
            result("a", "no", true),
            Message::User {
                content: vec![text("hurry")],
            },
        ],
        tools: ["x", "y"]
            .map(|name| ToolSpec {
                name: name.to_owned(),
                description: "Does.".to_owned(),
                parameters: json!({ "type": "object" }),
            })
            .to_vec(),
    };
    let mark = json!({ "type": "ephemeral" });
    let expected = json!({
        "model": "m-1", "max_tokens": 100, "stream": true,
        "system": [{ "type": "text", "text": "You are Ada.", "cache_control": mark }],
        "tools": [
            { "name": "x", "description": "Does.", "input_schema": { "type": "object" } },
            { "name": "y", "description": "Does.", "input_schema": { "type": "object" }, "cache_control": mark },
        ],
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "look" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": PNG } },
                { "type": "text", "text": "(a picture of a kind that this model can't look at)", "cache_control": mark },
            ] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "s" },
                { "type": "text", "text": "Yes." },
                { "type": "tool_use", "id": "a", "name": "x", "input": { "n": 1 } },
                { "type": "redacted_thinking", "data": "d" },
                { "type": "tool_use", "id": "b", "name": "x", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "b", "content": "(empty)" },
                { "type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": true },
                { "type": "text", "text": "hurry", "cache_control": mark },
            ] },
        ],
    });
    assert_eq!(
        encode(&request, ROUTE, "m-1", 100, Manner::default()),
        expected
    );
    let elsewhere = encode(&request, "acme/other", "m-1", 100, Manner::default()).to_string();
    assert!(!elsewhere.contains("thinking"), "{elsewhere}");
}

#[test]
fn little_is_sent_where_there_is_little() {
    let hello = Message::Assistant {
        text: "hello".to_owned(),
        calls: Vec::new(),
        replay: None,
    };
    let request = Request {
        system: " ".to_owned(),
        messages: vec![hello],
        tools: Vec::new(),
    };
    let goes_on = |marked: bool| {
        let mut block = json!({ "type": "text", "text": "(the conversation goes on)" });
        if marked {
            block["cache_control"] = json!({ "type": "ephemeral" });
        }
        json!({ "role": "user", "content": [block] })
    };
    let expected = json!({ "model": "m-1", "max_tokens": 1, "stream": true, "messages": [
        goes_on(true), { "role": "assistant", "content": [{ "type": "text", "text": "hello" }] }, goes_on(true),
    ] });
    assert_eq!(
        encode(&request, ROUTE, "m-1", 1, Manner::default()),
        expected,
        "a person's word is first and last"
    );
    let large = Request {
        messages: vec![Message::User {
            content: vec![image("image/png", &"A".repeat((5 << 20) + 1))],
        }],
        ..request
    };
    let sent = encode(&large, ROUTE, "m-1", 1, Manner::default()).to_string();
    assert!(
        sent.contains("too large for this model") && sent.len() < 1000,
        "{sent}"
    );
}

const WORDS: &[&str] = &[
    "type",
    "message_start",
    "message",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "index",
    "delta",
    "content_block",
    "text",
    "text_delta",
    "thinking",
    "thinking_delta",
    "signature",
    "signature_delta",
    "tool_use",
    "input",
    "input_json_delta",
    "partial_json",
    "id",
    "name",
    "usage",
    "input_tokens",
    "stop_reason",
    "end_turn",
    "error",
    "content",
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
}
