//! Streams as servers are known to send them, each fed whole and cut at every byte.

use model::{Delta, ModelError, Reply, StopReason, ToolCall, Usage};
use net::sse;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tidings_model_http::openai_chat::Decoder;
use tidings_model_http::{Decode as _, Limits, Progress};

fn limits() -> Limits {
    Limits {
        bytes: 4000,
        calls: 8,
    }
}

fn decode(pieces: &[&[u8]]) -> (Vec<Delta>, Result<Reply, ModelError>) {
    let mut events = sse::Decoder::new(1 << 16);
    let mut decoder = Decoder::new("acme", limits());
    let mut deltas = Vec::new();
    for piece in pieces {
        for event in events.feed(piece).unwrap() {
            deltas.extend(decoder.feed(&event));
        }
    }
    if let Some(last) = events.finish().unwrap() {
        deltas.extend(decoder.feed(&last));
    }
    (deltas, Box::new(decoder).finish())
}

fn reply(stream: &str) -> Result<Reply, ModelError> {
    let (deltas, whole) = decode(&[stream.as_bytes()]);
    if let Ok(reply) = &whole {
        let text: String = deltas
            .iter()
            .filter_map(|delta| {
                if let Delta::Text(text) = delta {
                    Some(text.as_str())
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(text, reply.text, "the pieces are the text");
    }
    let bytes = stream.as_bytes();
    for at in 0..=bytes.len() {
        assert_eq!(
            decode(&[&bytes[..at], &bytes[at..]]),
            (deltas.clone(), whole.clone()),
            "cut at {at}"
        );
    }
    for size in 1..=7 {
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        assert_eq!(
            decode(&pieces),
            (deltas.clone(), whole.clone()),
            "pieces of {size}"
        );
    }
    whole
}

fn events(chunks: impl IntoIterator<Item = Value>) -> String {
    chunks
        .into_iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect()
}

fn delta(delta: Value) -> Value {
    json!({ "id": "c1", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finish(reason: &str) -> Value {
    json!({ "id": "c1", "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

const DONE: &str = "data: [DONE]\n\n";

fn said(text: &str, stop: StopReason) -> Reply {
    Reply {
        text: text.to_owned(),
        reasoning: String::new(),
        calls: Vec::new(),
        stop,
        usage: None,
        replay: None,
    }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn words_by_the_book() {
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": { "cached_tokens": 4 } } });
    let stream = events([
        delta(json!({ "role": "assistant", "content": "" })),
        delta(json!({ "content": "Héllo " })),
        delta(json!({ "content": "中🦀" })),
        finish("stop"),
        usage,
    ]) + DONE;
    let expected = Reply {
        usage: Some(Usage {
            input: 10,
            cached: 4,
            output: 3,
        }),
        ..said("Héllo 中🦀", StopReason::End)
    };
    assert_eq!(reply(&stream), Ok(expected));
}

#[test]
fn ways_to_end() {
    let words = delta(json!({ "content": "a" }));
    for (stream, expected) in [
        (
            events([words.clone(), finish("stop")]) + DONE,
            Ok(StopReason::End),
        ),
        (events([words.clone(), finish("eos")]), Ok(StopReason::End)),
        (events([words.clone()]) + DONE, Ok(StopReason::End)),
        (events([words.clone()]) + "data:[DONE]", Ok(StopReason::End)),
        (
            events([words.clone(), finish("")]) + DONE,
            Ok(StopReason::End),
        ),
        (
            events([words.clone(), finish("length")]),
            Ok(StopReason::Length),
        ),
        (
            events([words.clone(), finish("content_filter")]) + DONE,
            Ok(StopReason::Refused),
        ),
        (
            events([words.clone(), finish("tool_calls")]) + DONE,
            Ok(StopReason::End),
        ),
        (
            events([words.clone()]),
            Err("it ended without its end marker"),
        ),
        (
            events([words.clone(), finish("")]),
            Err("it ended without its end marker"),
        ),
        (String::new(), Err("it ended without its end marker")),
        (
            ": nothing\n\n".to_owned(),
            Err("it ended without its end marker"),
        ),
        (
            events([words.clone(), finish("abort")]) + DONE,
            Err("the server aborted it"),
        ),
    ] {
        let found = reply(&stream);
        match expected {
            Ok(stop) => assert_eq!(found, Ok(said("a", stop)), "{stream}"),
            Err(cause) => {
                let broke = ModelError::BrokeOff {
                    provider: "acme".to_owned(),
                    cause: cause.to_owned(),
                };
                assert_eq!(found, Err(broke), "{stream}");
            }
        }
    }
}

#[test]
fn chunks_that_say_nothing_are_passed_over() {
    let stream = String::from(
        ": OPENROUTER PROCESSING\n\n: ping\n\n:\n\nevent: ping\ndata: {}\n\ndata: \n\n",
    ) + &events([
        json!({ "choices": [], "prompt_filter_results": [] }),
        json!({ "choices": null }),
        json!({ "choices": [{ "index": 0, "delta": null }] }),
        json!({ "choices": [{ "index": 0, "finish_reason": null, "content_filter_results": {} }] }),
        json!({ "choices": [{ "index": 1, "delta": { "content": "another choice" } }] }),
        delta(json!({ "content": null })),
        delta(json!({ "content": "Hi", "refusal": null, "tool_calls": null })),
        json!([]),
        json!(7),
        finish("stop"),
    ]) + DONE
        + "data: {\"choices\":[{\"delta\":{\"content\":\"after the end\"}}]}\n\n";
    assert_eq!(reply(&stream), Ok(said("Hi", StopReason::End)));
}

#[test]
fn line_ends_and_spaces_do_not_matter() {
    let chunk = delta(json!({ "content": "Hi" }));
    for stream in [
        format!("data:{chunk}\r\n\r\ndata:[DONE]\r\n\r\n"),
        format!("data: {chunk}\r\rdata: [DONE]\r\r"),
        format!("\u{feff}data: {chunk}\n\ndata: [DONE]\n\n"),
    ] {
        assert_eq!(
            reply(&stream),
            Ok(said("Hi", StopReason::End)),
            "{stream:?}"
        );
    }
}

#[test]
fn reasoning_is_never_the_answer() {
    let expected = |reasoning: &str, text: &str| {
        Ok(Reply {
            reasoning: reasoning.to_owned(),
            ..said(text, StopReason::End)
        })
    };
    for (first, reasoning) in [
        (json!({ "reasoning_content": "hm" }), "hm"),
        (json!({ "reasoning": "hm" }), "hm"),
        (
            json!({ "reasoning": "hm", "reasoning_content": "hm" }),
            "hm",
        ),
        (
            json!({ "reasoning_content": "", "reasoning": "hm", "content": "" }),
            "hm",
        ),
        (
            json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] }] }),
            "hm",
        ),
    ] {
        let stream = events([
            delta(first.clone()),
            delta(json!({ "content": "Hi" })),
            finish("stop"),
        ]) + DONE;
        assert_eq!(reply(&stream), expected(reasoning, "Hi"), "{first}");
    }
    let parts = delta(json!({ "content": [{ "type": "text", "text": "Hi" }] }));
    assert_eq!(reply(&(events([parts]) + DONE)), expected("", "Hi"));
}

#[test]
fn reasoning_that_servers_demand_back_is_kept_beside_calls_alone() {
    let call = json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "x", "arguments": "{}" } }] });
    let kept = |field: &str, then: &Value| {
        let stream = events([
            delta(json!({ field: "h" })),
            delta(json!({ field: "m" })),
            delta(then.clone()),
            finish("stop"),
        ]);
        reply(&(stream + DONE)).unwrap().replay
    };
    let replay = kept("reasoning_content", &call).unwrap();
    assert_eq!(replay.route, "acme");
    let data: Vec<&Value> = replay.blocks.iter().map(|block| &block.data).collect();
    assert_eq!(data, [&json!({ "reasoning_content": "hm" })]);
    assert_eq!(kept("reasoning", &call), None);
    assert_eq!(kept("reasoning_content", &json!({ "content": "Hi" })), None);
}

#[test]
fn a_refusal_is_told() {
    let stream = events([delta(json!({ "refusal": "I can't." })), finish("stop")]) + DONE;
    assert_eq!(reply(&stream), Ok(said("I can't.", StopReason::Refused)));
}

fn calling(fragments: impl IntoIterator<Item = Value>, reason: &str) -> String {
    let chunks = fragments
        .into_iter()
        .map(|one| delta(json!({ "tool_calls": [one] })));
    events(chunks) + &events([finish(reason)]) + DONE
}

#[test]
fn calls_are_put_together() {
    let stream = calling(
        [
            json!({ "index": 0, "id": "a", "type": "function", "function": { "name": "terminal", "arguments": "" } }),
            json!({ "index": 0, "function": { "arguments": "{\"command\":" } }),
            json!({ "index": 0, "function": { "arguments": "\"ls\"}" } }),
            json!({ "index": 1, "id": "b", "function": { "name": "list_files", "arguments": {} } }),
        ],
        "stop",
    );
    let call = |id: &str, name: &str, arguments: Value| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: Ok(object(arguments)),
    };
    let calls = vec![
        call("a", "terminal", json!({ "command": "ls" })),
        call("b", "list_files", json!({})),
    ];
    assert_eq!(
        reply(&stream),
        Ok(Reply {
            calls,
            ..said("", StopReason::ToolUse)
        })
    );
    let (deltas, _) = decode(&[stream.as_bytes()]);
    assert_eq!(
        deltas,
        [
            Delta::Tool("terminal".to_owned()),
            Delta::Tool("list_files".to_owned())
        ]
    );
}

#[test]
fn a_call_that_was_cut_is_never_run() {
    let half = json!({ "index": 0, "id": "a", "function": { "name": "write_file", "arguments": "{\"path\":\"a.txt\",\"content\":\"half" } });
    assert_eq!(
        reply(&calling([half.clone()], "length")),
        Ok(said("", StopReason::Length))
    );
    assert_eq!(
        reply(&calling([half.clone()], "content_filter")),
        Ok(said("", StopReason::Refused))
    );
    let cut = reply(&events([delta(json!({ "tool_calls": [half.clone()] }))]));
    assert!(matches!(cut, Err(ModelError::BrokeOff { .. })), "{cut:?}");
    let told = reply(&calling([half], "tool_calls")).unwrap();
    let raw = told.calls.first().unwrap().arguments.clone();
    assert_eq!(
        raw,
        Err("{\"path\":\"a.txt\",\"content\":\"half".to_owned())
    );
}

#[test]
fn errors_inside_a_stream() {
    let words = events([delta(json!({ "content": "The result" }))]);
    for (tail, expected) in [
        (
            "data: {\"error\":{\"code\":502,\"message\":\"Provider disconnected\"}}\n\n",
            "acme failed: HTTP 502: Provider disconnected",
        ),
        ("data: {\"error\":\"boom\"}\n\n", "acme failed: boom"),
        (
            "event: error\ndata: {\"message\":\"boom\"}\n\n",
            "acme failed: boom",
        ),
        (
            "data: {\"error\":{\"code\":429,\"message\":\"slow down\"}}\n\n",
            "acme says wait: HTTP 429: slow down",
        ),
        (
            "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n",
            "acme failed: it stopped with an error",
        ),
        (
            "data: Internal Server Error\n\n",
            "acme failed: it sent something that is no JSON: Internal Server Error",
        ),
        (
            "data: {\"choices\":[\n\n",
            "acme failed: it sent something that is no JSON: {\"choices\":[",
        ),
    ] {
        let told = reply(&format!("{words}{tail}{DONE}")).unwrap_err();
        assert_eq!(told.to_string(), expected, "{tail}");
    }
}

#[test]
fn answers_without_end_are_stopped() {
    let endless = events(vec![delta(json!({ "content": "x".repeat(100) })); 50]);
    let told = decode(&[endless.as_bytes()]).1.unwrap_err();
    assert!(
        told.to_string().contains("longer than 4000 bytes"),
        "{told}"
    );
    let calls: Vec<Value> = (0..20)
        .map(|at| json!({ "index": at, "id": format!("c{at}"), "function": { "name": "x" } }))
        .collect();
    let told = decode(&[calling(calls, "tool_calls").as_bytes()])
        .1
        .unwrap_err();
    assert!(told.to_string().contains("more than 8 tools"), "{told}");
}

#[test]
fn a_whole_answer_is_an_answer() {
    let body = json!({ "id": "c1", "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": "Hi" } }] });
    let mut decoder = Decoder::new("acme", limits());
    assert_eq!(
        decoder.feed_whole(&body.to_string()),
        [Delta::Text("Hi".to_owned())]
    );
    assert_eq!(decoder.progress(), Progress::Over);
    assert_eq!(Box::new(decoder).finish(), Ok(said("Hi", StopReason::End)));
    let empty = Decoder::new("acme", limits());
    assert!(matches!(
        Box::new(empty).finish(),
        Err(ModelError::BrokeOff { .. })
    ));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z{}\\[\\]\" ]{0,6}".prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let key = prop_oneof![
            Just("choices"),
            Just("delta"),
            Just("message"),
            Just("content"),
            Just("tool_calls"),
            Just("function"),
            Just("name"),
            Just("arguments"),
            Just("index"),
            Just("id"),
            Just("finish_reason"),
            Just("usage"),
            Just("prompt_tokens"),
            Just("error"),
            Just("reasoning"),
            Just("code"),
            Just("text"),
            Just("thinking")
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..5).prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Map<_, _>>()
                .into()),
        ]
    })
}

proptest! {
    #[test]
    fn no_stream_is_too_odd(chunks in proptest::collection::vec(any_json(), 0..6), fragments in proptest::collection::vec(any_json(), 0..6)) {
        let mut decoder = Decoder::new("acme", limits());
        for chunk in chunks.iter().chain(&fragments.into_iter().map(|one| delta(json!({ "tool_calls": [one] }))).collect::<Vec<_>>()) {
            decoder.feed(&sse::Event { data: chunk.to_string(), ..sse::Event::default() });
        }
        drop(Box::new(decoder).finish());
    }

    #[test]
    fn no_bytes_are_too_odd(data in ".{0,60}", kind in "(error)?") {
        let mut decoder = Decoder::new("acme", limits());
        decoder.feed(&sse::Event { data, kind, id: None });
        drop(Box::new(decoder).finish());
    }
}
