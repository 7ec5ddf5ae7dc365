//! The responses protocol: streams as the provider and its look-alikes send them, and what is sent.

use model::{
    Content, Delta, Message, ModelError, Replay, ReplayBlock, Reply, Request, StopReason, ToolSpec,
    Usage,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use tidings_model_http::Manner;
use tidings_model_http::openai_responses::{Decoder, Sealed, encode};

use crate::kit::{Kit, PNG, ROUTE, Wire, any_json, call, events, limits, said};

const KIT: Kit = Kit {
    make: || Box::new(Decoder::new(ROUTE, limits())),
    wire: Wire::Events,
    markers: &["response.completed", "response.incomplete"],
};

fn created() -> Value {
    json!({ "type": "response.created", "sequence_number": 0, "response": { "id": "resp_1", "status": "in_progress", "output": [] } })
}

fn added(place: u64, item: Value) -> Value {
    json!({ "type": "response.output_item.added", "output_index": place, "item": item })
}

fn done(place: u64, item: Value) -> Value {
    json!({ "type": "response.output_item.done", "output_index": place, "item": item })
}

fn piece(kind: &str, place: u64, delta: &str) -> Value {
    json!({ "type": format!("response.{kind}.delta"), "output_index": place, "item_id": format!("i{place}"), "delta": delta })
}

fn message(text: &str) -> Value {
    json!({ "type": "message", "id": "i0", "role": "assistant", "content": [{ "type": "output_text", "text": text, "annotations": [] }] })
}

fn function(call: &str, name: &str, arguments: &str) -> Value {
    json!({ "type": "function_call", "id": format!("fc_{call}"), "call_id": call, "name": name, "arguments": arguments })
}

fn completed(output: Value) -> Value {
    json!({ "type": "response.completed", "response": { "id": "resp_1", "status": "completed", "output": output, "usage": {
        "input_tokens": 10, "input_tokens_details": { "cached_tokens": 4 }, "output_tokens": 3, "output_tokens_details": { "reasoning_tokens": 1 },
    } } })
}

fn cost() -> Option<Usage> {
    Some(Usage {
        input: 10,
        cached: 4,
        output: 3,
    })
}

fn answered(text: &str) -> Reply {
    Reply {
        usage: cost(),
        ..said(text, StopReason::End)
    }
}

#[test]
fn words_are_taken_once() {
    let begun = |at: usize| {
        [
            created(),
            added(0, json!({ "type": "message", "id": "i0", "content": [] })),
            json!({ "type": "response.content_part.added", "output_index": 0, "part": { "type": "output_text", "text": "" } }),
            piece("output_text", 0, "Héllo "),
            piece("output_text", 0, "中🦀"),
            json!({ "type": "response.output_text.done", "output_index": 0, "text": "Héllo 中🦀" }),
            done(0, message("Héllo 中🦀")),
        ]
        .into_iter()
        .take(at)
    };
    let all = events(begun(7).chain([completed(json!([message("Héllo 中🦀")]))]));
    assert_eq!(KIT.reply(&all), Ok(answered("Héllo 中🦀")));
    let whole_items_only = events([
        created(),
        done(0, message("Hi")),
        completed(json!([message("Hi")])),
    ]);
    assert_eq!(KIT.reply(&whole_items_only), Ok(answered("Hi")));
    let only_the_end = events([completed(json!([message("Hi")]))]);
    assert_eq!(KIT.reply(&only_the_end), Ok(answered("Hi")));
    for at in 0..=7 {
        KIT.broke_off(&events(begun(at)));
    }
    KIT.broke_off("data: [DONE]\n\n");
}

#[test]
fn ways_to_end() {
    let ended = |status: &str, more: Value| {
        let mut response = json!({ "status": status, "output": [] });
        response
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        events([
            piece("output_text", 0, "a"),
            json!({ "type": format!("response.{status}"), "response": response }),
        ])
    };
    for (reason, expected) in [
        ("max_output_tokens", StopReason::Length),
        ("content_filter", StopReason::Refused),
        ("a_new_reason", StopReason::Length),
    ] {
        let stream = ended(
            "incomplete",
            json!({ "incomplete_details": { "reason": reason } }),
        );
        assert_eq!(KIT.reply(&stream), Ok(said("a", expected)), "{reason}");
    }
    KIT.broke_off(&ended("cancelled", json!({})));
    let refused = events([piece("refusal", 0, "I can't."), completed(json!([]))]);
    assert_eq!(KIT.reply(&refused).unwrap().stop, StopReason::Refused);
    let whole =
        json!({ "type": "message", "content": [{ "type": "refusal", "refusal": "I can't." }] });
    let told = KIT.reply(&events([completed(json!([whole]))])).unwrap();
    assert_eq!(
        (told.text.as_str(), told.stop),
        ("I can't.", StopReason::Refused)
    );
}

#[test]
fn calls_in_parallel_are_put_together() {
    let all = [
        created(),
        added(0, function("call_a", "terminal", "")),
        added(1, function("call_b", "list_files", "")),
        piece("function_call_arguments", 0, "{\"command\":"),
        piece("function_call_arguments", 1, "{}"),
        piece("function_call_arguments", 0, "\"ls\"}"),
        json!({ "type": "response.function_call_arguments.done", "output_index": 0, "arguments": "{\"command\":\"ls\"}" }),
        done(0, function("call_a", "terminal", "{\"command\":\"ls\"}")),
        done(1, function("call_b", "list_files", "{}")),
        done(2, function("call_c", "x", "{\"n\":1}")),
        completed(json!([
            function("call_a", "terminal", "{\"command\":\"ls\"}"),
            function("call_b", "list_files", "{}"),
            function("call_c", "x", "{\"n\":1}"),
        ])),
    ];
    let expected = Reply {
        calls: vec![
            call("call_a", "terminal", json!({ "command": "ls" })),
            call("call_b", "list_files", json!({})),
            call("call_c", "x", json!({ "n": 1 })),
        ],
        stop: StopReason::ToolUse,
        ..answered("")
    };
    let stream = events(all.clone());
    assert_eq!(KIT.reply(&stream), Ok(expected.clone()));
    assert_eq!(
        KIT.deltas(&stream),
        ["terminal", "list_files", "x"].map(|name| Delta::Tool(name.to_owned()))
    );
    let told_once = events(all.into_iter().skip(10));
    assert_eq!(KIT.reply(&told_once), Ok(expected));
}

#[test]
fn a_call_that_was_cut_is_never_run() {
    let half = [
        added(0, function("a", "write_file", "")),
        piece("function_call_arguments", 0, "{\"path\":\"a"),
    ];
    KIT.broke_off(&events(half.clone()));
    let incomplete = json!({ "type": "response.incomplete", "response": { "output": [], "incomplete_details": { "reason": "max_output_tokens" } } });
    let told = KIT.reply(&events(half.clone().into_iter().chain([incomplete])));
    assert_eq!(told, Ok(said("", StopReason::Length)));
    let told = KIT
        .reply(&events(half.into_iter().chain([completed(json!([]))])))
        .unwrap();
    assert_eq!(
        told.calls.first().unwrap().arguments,
        Err("{\"path\":\"a".to_owned())
    );
}

#[test]
fn reasoning_is_kept_apart_and_wanted_back_beside_calls() {
    let sealed = json!({
        "type": "reasoning", "id": "rs_1", "status": "completed", "encrypted_content": "sealed",
        "summary": [{ "type": "summary_text", "text": "first" }, { "type": "summary_text", "text": "second" }],
    });
    let part = json!({ "type": "response.reasoning_summary_part.added", "output_index": 0 });
    let thought = [
        added(
            0,
            json!({ "type": "reasoning", "id": "rs_1", "summary": [] }),
        ),
        part.clone(),
        piece("reasoning_summary_text", 0, "first"),
        part,
        piece("reasoning_summary_text", 0, "second"),
        done(0, sealed.clone()),
    ];
    let called = thought.clone().into_iter().chain([
        done(1, function("a", "x", "{}")),
        completed(json!([sealed.clone(), function("a", "x", "{}")])),
    ]);
    let told = KIT.reply(&events(called)).unwrap();
    assert_eq!(
        (told.text.as_str(), told.reasoning.as_str()),
        ("", "first\n\nsecond")
    );
    let kept = json!({ "type": "reasoning", "id": "rs_1", "summary": sealed["summary"], "encrypted_content": "sealed" });
    let expected = Replay {
        route: ROUTE.to_owned(),
        blocks: vec![ReplayBlock {
            call: None,
            data: kept,
        }],
    };
    assert_eq!(told.replay, Some(expected));
    let words = thought
        .into_iter()
        .chain([piece("output_text", 1, "Hi"), completed(json!([]))]);
    assert_eq!(
        KIT.reply(&events(words)).unwrap().replay,
        None,
        "nothing demands it"
    );
    let whole = KIT
        .reply(&events([completed(json!([sealed, message("Hi")]))]))
        .unwrap();
    assert_eq!(
        (whole.text.as_str(), whole.reasoning.as_str()),
        ("Hi", "first\n\nsecond")
    );
    let open = json!({ "type": "reasoning", "id": "rs_1", "summary": [] });
    let told = KIT
        .reply(&events([completed(json!([
            open,
            function("a", "x", "{}")
        ]))]))
        .unwrap();
    assert_eq!(told.replay, None, "what is not sealed can't go back");
}

#[test]
fn what_look_alikes_leave_out_or_add() {
    let all = [
        json!([]),
        json!(7),
        json!({}),
        json!({ "type": "response.a_new_event", "output_index": 9 }),
        json!({ "type": "response.output_item.added" }),
        json!({ "type": "response.output_text.delta", "item_id": "m", "delta": "Hi" }),
        json!({ "type": "response.output_text.delta", "item_id": "m", "delta": null }),
        json!({ "type": "response.function_call_arguments.delta", "item_id": "nobody", "delta": "{" }),
        json!({ "type": "response.output_item.done", "item": { "type": "message", "id": "m", "content": [{ "type": "output_text", "text": "Hi" }] } }),
        json!({ "type": "response.completed", "response": { "status": "completed" } }),
        piece("output_text", 0, "after the end"),
    ];
    assert_eq!(KIT.reply(&events(all)), Ok(said("Hi", StopReason::End)));
}

#[test]
fn errors_inside_a_stream() {
    let begun = events([created(), piece("output_text", 0, "The result")]);
    let failed = |error: Value| json!({ "type": "response.failed", "response": { "status": "failed", "error": error } });
    for (tail, expected) in [
        (
            failed(json!({ "code": "server_error", "message": "boom" })),
            "acme failed: boom",
        ),
        (
            failed(json!({ "code": "rate_limit_exceeded", "message": "slow down" })),
            "acme says wait: slow down",
        ),
        (
            failed(json!({ "code": "invalid_prompt", "message": "odd" })),
            "acme refused the request: odd",
        ),
        (
            failed(
                json!({ "code": "context_length_exceeded", "message": "Your input exceeds the context window of this model." }),
            ),
            "the conversation is too long for acme: Your input exceeds the context window of this model.",
        ),
        (failed(Value::Null), "acme failed: it gave no reason"),
        (
            json!({ "type": "error", "code": "server_error", "message": "boom", "param": null }),
            "acme failed: boom",
        ),
        (
            json!({ "type": "error", "error": { "type": "insufficient_quota", "message": "none left" } }),
            "no credit is left at acme, so waiting won't help; add some, or choose another model (none left)",
        ),
        (
            json!({ "error": { "message": "boom" } }),
            "acme failed: boom",
        ),
    ] {
        let stream = begun.clone() + &events([tail.clone(), completed(json!([]))]);
        assert_eq!(KIT.error(&stream), expected, "{tail}");
    }
}

#[test]
fn answers_without_end_are_stopped() {
    let endless = vec![piece("output_text", 0, &"x".repeat(100)); 50];
    let told = KIT.decode(&[events(endless).as_bytes()]).1.unwrap_err();
    assert!(
        told.to_string().contains("longer than 4000 bytes"),
        "{told}"
    );
    let calls = (0..20).map(|at| added(at, function(&format!("c{at}"), "x", "")));
    let told = KIT.decode(&[events(calls).as_bytes()]).1.unwrap_err();
    assert!(told.to_string().contains("more than 8 tools"), "{told}");
}

#[test]
fn a_whole_answer_is_an_answer() {
    let mut body = completed(json!([message("Hi")]))["response"].clone();
    assert_eq!(KIT.whole(&body.to_string()), Ok(answered("Hi")));
    body["status"] = json!("in_progress");
    assert!(matches!(
        KIT.whole(&body.to_string()),
        Err(ModelError::BrokeOff { .. })
    ));
    let told = KIT.whole(r#"{"error":{"message":"boom"}}"#).unwrap_err();
    assert_eq!(told.to_string(), "acme failed: boom");
}

#[test]
fn a_turn_with_tools_is_sent_whole() {
    let text = |text: &str| Content::Text {
        text: text.to_owned(),
    };
    let image = Content::Image {
        mime: "image/png".to_owned(),
        base64: PNG.to_owned(),
    };
    let sealed =
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed" });
    let replay = Replay {
        route: ROUTE.to_owned(),
        blocks: vec![ReplayBlock {
            call: Some(0),
            data: sealed.clone(),
        }],
    };
    let request = Request {
        system: "You are Ada.".to_owned(),
        messages: vec![
            Message::User {
                content: vec![text("look"), image],
            },
            Message::Assistant {
                text: "Yes.".to_owned(),
                calls: vec![call("a", "x", json!({ "n": 1 }))],
                replay: Some(replay),
            },
            Message::Tool {
                call: "a".to_owned(),
                name: "x".to_owned(),
                content: "no".to_owned(),
                failed: true,
            },
        ],
        tools: vec![ToolSpec {
            name: "x".to_owned(),
            description: "Does.".to_owned(),
            parameters: json!({ "type": "object" }),
        }],
    };
    let expected = json!({
        "model": "m-1", "stream": true, "store": false, "include": ["reasoning.encrypted_content"], "instructions": "You are Ada.",
        "tools": [{ "type": "function", "name": "x", "description": "Does.", "parameters": { "type": "object" }, "strict": false }],
        "input": [
            { "type": "message", "role": "user", "content": [
                { "type": "input_text", "text": "look" }, { "type": "input_image", "image_url": format!("data:image/png;base64,{PNG}") },
            ] },
            { "type": "message", "role": "assistant", "content": "Yes." },
            sealed,
            { "type": "function_call", "call_id": "a", "name": "x", "arguments": "{\"n\":1}" },
            { "type": "function_call_output", "call_id": "a", "output": "no" },
        ],
    });
    assert_eq!(
        encode(&request, ROUTE, "m-1", Sealed::Wanted, Manner::default()),
        expected
    );
    let elsewhere = encode(
        &request,
        "acme/other",
        "m-1",
        Sealed::Unwanted,
        Manner::default(),
    )
    .to_string();
    assert!(
        !elsewhere.contains("sealed") && !elsewhere.contains("include"),
        "{elsewhere}"
    );
}

const WORDS: &[&str] = &[
    "type",
    "response.created",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.completed",
    "response.incomplete",
    "response.failed",
    "error",
    "item",
    "item_id",
    "output_index",
    "delta",
    "response",
    "output",
    "message",
    "content",
    "text",
    "function_call",
    "call_id",
    "name",
    "arguments",
    "reasoning",
    "summary",
    "encrypted_content",
    "status",
    "completed",
    "usage",
    "input_tokens",
    "id",
    "code",
    "refusal",
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
