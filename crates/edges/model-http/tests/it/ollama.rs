//! Ollama's own chat: streams as the server sends them, and what is sent.

use model::{Content, Delta, Message, ModelError, Reply, Request, StopReason, ToolSpec, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};
use tidings_model_http::Manner;
use tidings_model_http::ollama::{Decoder, encode};

use crate::kit::{Kit, PNG, ROUTE, Wire, any_json, call, limits, said};

const KIT: Kit = Kit {
    make: || Box::new(Decoder::new(ROUTE, limits())),
    wire: Wire::Lines,
    markers: &["\"done\":true"],
};

fn lines(all: impl IntoIterator<Item = Value>) -> String {
    all.into_iter().map(|one| format!("{one}\n")).collect()
}

fn piece(message: Value) -> Value {
    json!({ "model": "m-1", "created_at": "2026-08-01T12:00:00.1Z", "message": message, "done": false })
}

fn done(reason: &str) -> Value {
    json!({
        "model": "m-1", "created_at": "2026-08-01T12:00:01Z", "message": { "role": "assistant", "content": "" },
        "done": true, "done_reason": reason, "total_duration": 1, "prompt_eval_count": 26, "eval_count": 298,
    })
}

fn cost() -> Option<Usage> {
    Some(Usage {
        input: 26,
        cached: 0,
        output: 298,
    })
}

#[test]
fn words_by_the_book() {
    let stream = lines([
        piece(json!({ "role": "assistant", "content": "Héllo " })),
        piece(json!({ "role": "assistant", "content": "中🦀" })),
        done("stop"),
    ]);
    let expected = Reply {
        usage: cost(),
        ..said("Héllo 中🦀", StopReason::End)
    };
    assert_eq!(KIT.reply(&stream), Ok(expected.clone()));
    let last_break = stream.trim_end();
    assert_eq!(KIT.reply(last_break), Ok(expected.clone()));
    assert_eq!(KIT.reply(&stream.replace('\n', "\r\n\r\n")), Ok(expected));
}

#[test]
fn ways_to_end() {
    let words = piece(json!({ "role": "assistant", "content": "a" }));
    for (reason, expected) in [
        ("stop", StopReason::End),
        ("", StopReason::End),
        ("a_new_reason", StopReason::End),
        ("length", StopReason::Length),
    ] {
        let told = KIT.reply(&lines([words.clone(), done(reason)])).unwrap();
        assert_eq!((told.text.as_str(), told.stop), ("a", expected), "{reason}");
    }
    for reason in ["load", "unload"] {
        let told = KIT.error(&lines([done(reason)]));
        assert!(told.starts_with("acme failed: "), "{told}");
    }
    KIT.broke_off("");
    KIT.broke_off("\n\n");
    KIT.broke_off(&lines([words]));
}

#[test]
fn calls_come_whole_and_get_ids() {
    let stream = lines([
        piece(json!({ "role": "assistant", "content": "", "tool_calls": [
            { "function": { "index": 0, "name": "terminal", "arguments": { "command": "ls" } } },
            { "id": "call_x", "function": { "name": "y", "arguments": "{\"n\":1}" } },
        ] })),
        piece(
            json!({ "role": "assistant", "content": "", "tool_calls": [{ "id": "call_x", "function": { "name": "z" } }] }),
        ),
        done("stop"),
    ]);
    let expected = Reply {
        calls: vec![
            call(
                "call_2026-08-01T1200001Z_0",
                "terminal",
                json!({ "command": "ls" }),
            ),
            call("call_x", "y", json!({ "n": 1 })),
            call("call_2026-08-01T1200001Z_2", "z", json!({})),
        ],
        usage: cost(),
        ..said("", StopReason::ToolUse)
    };
    assert_eq!(KIT.reply(&stream), Ok(expected));
    assert_eq!(
        KIT.deltas(&stream),
        ["terminal", "y", "z"].map(|name| Delta::Tool(name.to_owned()))
    );
    let cut = KIT
        .reply(&stream.replace("\"stop\"", "\"length\""))
        .unwrap();
    assert_eq!((cut.stop, cut.calls), (StopReason::Length, Vec::new()));
}

#[test]
fn thinking_is_never_the_answer() {
    let stream = lines([
        piece(json!({ "role": "assistant", "content": "", "thinking": "h" })),
        piece(json!({ "role": "assistant", "content": "", "thinking": "m" })),
        piece(json!({ "role": "assistant", "content": "Hi" })),
        done("stop"),
    ]);
    let told = KIT.reply(&stream).unwrap();
    assert_eq!((told.text.as_str(), told.reasoning.as_str()), ("Hi", "hm"));
    assert_eq!(told.replay, None);
}

#[test]
fn what_is_odd_is_passed_over() {
    let stream = lines([
        json!([]),
        json!(7),
        json!({ "message": null, "done": null, "error": null }),
        json!({ "message": { "content": null, "tool_calls": null, "thinking": 7 } }),
        piece(json!({ "content": "Hi", "images": null })),
        json!({ "done": "true" }),
        json!({ "done": true }),
        piece(json!({ "content": "after the end" })),
    ]);
    assert_eq!(KIT.reply(&stream), Ok(said("Hi", StopReason::End)));
}

#[test]
fn errors_inside_a_stream() {
    let begun = lines([piece(json!({ "content": "The result" }))]);
    for (tail, expected) in [
        (
            "{\"error\":\"an error was encountered while running the model\"}",
            "acme failed: an error was encountered while running the model",
        ),
        (
            "{\"error\":\"the input length exceeds the context length\"}",
            "the conversation is too long for acme: the input length exceeds the context length",
        ),
        (
            "Internal Server Error",
            "acme failed: it sent something that is no JSON: Internal Server Error",
        ),
    ] {
        assert_eq!(
            KIT.error(&format!("{begun}{tail}\n{}", lines([done("stop")]))),
            expected
        );
    }
}

#[test]
fn answers_without_end_are_stopped() {
    let endless = lines(vec![piece(json!({ "content": "x".repeat(100) })); 50]);
    let told = KIT.decode(&[endless.as_bytes()]).1.unwrap_err();
    assert!(
        told.to_string().contains("longer than 4000 bytes"),
        "{told}"
    );
    let mut lines = tidings_model_http::LineDecoder::new(10);
    assert!(lines.feed(b"12345\n12345").is_ok());
    assert!(lines.feed(b"678901").is_err());
}

#[test]
fn a_whole_answer_is_an_answer() {
    let mut body = done("stop");
    body["message"] = json!({ "role": "assistant", "content": "Hi" });
    let expected = Ok(Reply {
        usage: cost(),
        ..said("Hi", StopReason::End)
    });
    assert_eq!(KIT.whole(&body.to_string()), expected);
    assert_eq!(
        KIT.whole(&serde_json::to_string_pretty(&body).unwrap()),
        expected
    );
    let labelled_as_json = lines([piece(json!({ "content": "Hi" })), done("stop")]);
    assert_eq!(KIT.whole(&labelled_as_json), expected);
    body["done"] = json!(false);
    assert!(matches!(
        KIT.whole(&body.to_string()),
        Err(ModelError::BrokeOff { .. })
    ));
}

#[test]
fn a_turn_with_tools_is_sent_with_its_window() {
    let text = |text: &str| Content::Text {
        text: text.to_owned(),
    };
    let image = |base64: &str| Content::Image {
        mime: "image/png".to_owned(),
        base64: base64.to_owned(),
    };
    let request = Request {
        system: "You are Ada.".to_owned(),
        messages: vec![
            Message::User {
                content: vec![text("look"), image(PNG), image("AAAA")],
            },
            Message::Assistant {
                text: String::new(),
                calls: vec![call("a", "x", json!({ "n": 1 }))],
                replay: None,
            },
            Message::Tool {
                call: "a".to_owned(),
                name: "x".to_owned(),
                content: "no".to_owned(),
                failed: true,
            },
            Message::Assistant {
                text: "Done.".to_owned(),
                calls: Vec::new(),
                replay: None,
            },
        ],
        tools: vec![ToolSpec {
            name: "x".to_owned(),
            description: "Does.".to_owned(),
            parameters: json!({ "type": "object" }),
        }],
    };
    let expected = json!({
        "model": "m-1", "stream": true, "truncate": false, "shift": false, "options": { "num_ctx": 16384 },
        "tools": [{ "type": "function", "function": { "name": "x", "description": "Does.", "parameters": { "type": "object" } } }],
        "messages": [
            { "role": "system", "content": "You are Ada." },
            { "role": "user", "content": "look\n\n(a picture of a kind that this model can't look at)", "images": [PNG] },
            { "role": "assistant", "content": "", "tool_calls": [{ "function": { "name": "x", "arguments": { "n": 1 } } }] },
            { "role": "tool", "tool_name": "x", "content": "no" },
            { "role": "assistant", "content": "Done." },
        ],
    });
    assert_eq!(
        encode(&request, ROUTE, "m-1", 16384, Manner::default()),
        expected
    );
    let bare = Request {
        system: String::new(),
        tools: Vec::new(),
        ..request
    };
    assert_eq!(
        encode(&bare, ROUTE, "m-1", 1, Manner::default()).get("tools"),
        None
    );
}

const WORDS: &[&str] = &[
    "message",
    "content",
    "thinking",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "done",
    "done_reason",
    "stop",
    "load",
    "error",
    "eval_count",
    "prompt_eval_count",
    "created_at",
];

proptest! {
    #[test]
    fn no_bytes_are_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..200), data in ".{0,60}") {
        KIT.bytes_of_any_kind(&bytes);
        KIT.bytes_of_any_kind(data.as_bytes());
    }

    #[test]
    fn no_json_is_too_odd(all in proptest::collection::vec(any_json(WORDS), 0..6)) {
        KIT.json_of_any_kind(&all);
    }
}
