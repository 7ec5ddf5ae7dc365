//! Whatever a conversation holds, what goes to a provider is something that it accepts: random histories, broken ones among them,
//! against strict readings of each provider's rules.

mod rules;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Content, Message, Replay, ReplayBlock, Request, ToolCall, ToolSpec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tidings_model_http::gemini::Unsigned;
use tidings_model_http::openai_chat::Effort;
use tidings_model_http::openai_responses::Sealed;
use tidings_model_http::{Eyes, Form, Manner, Thinking};
use tidings_model_http::{anthropic, gemini, ollama, openai_chat, openai_responses};

use crate::kit::{GIF, PNG, ROUTE};

/// A PNG's chunks around no pixels: all that a header tells.
fn png(width: u32, height: u32) -> String {
    let chunk = |kind: &[u8], data: &[u8]| {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length, kind, data, b"CRC!"].concat()
    };
    let header = [
        &width.to_be_bytes()[..],
        &height.to_be_bytes(),
        b"\x08\x02\0\0\0",
    ]
    .concat();
    let chunks = [
        chunk(b"IHDR", &header),
        chunk(b"IDAT", b"data"),
        chunk(b"IEND", b""),
    ]
    .concat();
    STANDARD.encode([b"\x89PNG\r\n\x1a\n".to_vec(), chunks].concat())
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        Just("\0".to_owned()),
        Just("a\0b ".to_owned()),
        Just("\u{fffd}\u{1f980}\u{200b}".to_owned()),
        "[a-z ]{1,12}",
    ]
}

fn ids() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("same".to_owned()),
        Just("functions.x:0".to_owned()),
        Just("toolu_01".to_owned()),
        Just("i".repeat(80)),
        Just("c00000001".to_owned()),
        "[a-z]{1,2}",
    ]
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("x".to_owned()),
        Just(String::new()),
        Just("ter minal".to_owned()),
        Just("n".repeat(100)),
        Just("naïve.日本".to_owned()),
    ]
}

fn pictures() -> impl Strategy<Value = Content> {
    let cut: String = PNG.chars().take(40).collect();
    let base64 = prop_oneof![
        6 => Just(PNG.to_owned()),
        2 => Just(GIF.to_owned()),
        2 => Just(png(2_500, 100)),
        1 => Just(png(9_000, 200)),
        1 => Just(png(0, 0)),
        1 => Just(cut),
        1 => Just(STANDARD.encode("<html>not found</html>")),
        1 => Just("no base64 at all".to_owned()),
        1 => Just(String::new()),
    ];
    let mime = prop_oneof![
        Just("image/png"),
        Just("image/jpeg"),
        Just("image/heic"),
        Just("")
    ];
    (mime, base64).prop_map(|(mime, base64)| Content::Image {
        mime: mime.to_owned(),
        base64,
    })
}

fn content() -> impl Strategy<Value = Vec<Content>> {
    let part = prop_oneof![3 => words().prop_map(|text| Content::Text { text }), 1 => pictures()];
    prop_oneof![
        8 => proptest::collection::vec(part, 0..4),
        1 => proptest::collection::vec(pictures(), 18..30),
    ]
}

fn arguments() -> impl Strategy<Value = Result<Map<String, Value>, String>> {
    let object = |value: Value| Ok(value.as_object().unwrap().clone());
    prop_oneof![
        Just(object(json!({}))),
        Just(object(json!({ "n": 1, "deep": [{ "nul": "a\0b" }] }))),
        Just(Err("{\"half".to_owned())),
        Just(Err(String::new())),
    ]
}

fn calls() -> impl Strategy<Value = Vec<ToolCall>> {
    let call = (ids(), names(), arguments()).prop_map(|(id, name, arguments)| ToolCall {
        id,
        name,
        arguments,
    });
    proptest::collection::vec(call, 0..4)
}

/// Kept reasoning, for this route or another, beside calls that are there or not.
fn replays() -> impl Strategy<Value = Option<Replay>> {
    let block = proptest::option::of(0_usize..5).prop_map(|call| ReplayBlock {
        call,
        data: Value::Null,
    });
    let route = prop_oneof![Just(ROUTE), Just("acme/other")];
    let replay =
        (route, proptest::collection::vec(block, 0..3)).prop_map(|(route, blocks)| Replay {
            route: route.to_owned(),
            blocks,
        });
    proptest::option::of(replay)
}

fn messages() -> impl Strategy<Value = Vec<Message>> {
    let message = prop_oneof![
        2 => content().prop_map(|content| Message::User { content }),
        3 => (words(), calls(), replays()).prop_map(|(text, calls, replay)| Message::Assistant { text, calls, replay }),
        3 => (ids(), names(), words(), any::<bool>()).prop_map(|(call, name, content, failed)| Message::Tool { call, name, content, failed }),
    ];
    proptest::collection::vec(message, 0..14)
}

fn manners() -> impl Strategy<Value = Manner> {
    let thinking = prop_oneof![
        Just(None),
        Just(Some(Thinking::None)),
        Just(Some(Thinking::Low)),
        Just(Some(Thinking::Medium)),
        Just(Some(Thinking::High)),
    ];
    let form = prop_oneof![Just(Form::Newer), Just(Form::Older), Just(Form::Unsaid)];
    let eyes = prop_oneof![3 => Just(Eyes::Open), 1 => Just(Eyes::Shut)];
    (thinking, form, eyes).prop_map(|(thinking, form, eyes)| Manner {
        thinking,
        form,
        eyes,
    })
}

fn request(system: String, messages: Vec<Message>) -> Request {
    let tool = ToolSpec {
        name: "x".to_owned(),
        description: "Does.".to_owned(),
        parameters: json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
    };
    Request {
        system,
        messages,
        tools: vec![tool],
    }
}

/// The history with kept reasoning as a protocol wrote it.
fn thinking_as(request: &Request, data: Value) -> Request {
    let mut request = request.clone();
    for message in &mut request.messages {
        if let Message::Assistant {
            replay: Some(replay),
            ..
        } = message
        {
            replay
                .blocks
                .iter_mut()
                .for_each(|block| block.data = data.clone());
        }
    }
    request
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_history_is_one_that_every_provider_accepts(system in words(), messages in messages(), manner in manners()) {
        let request = request(system, messages);
        let with = |data: Value| thinking_as(&request, data);
        let chat = with(json!({ "reasoning_content": "hm" }));
        let responses = with(json!({ "type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e" }));
        let messages = with(json!({ "type": "thinking", "thinking": "hm", "signature": "s" }));
        let contents = with(json!({ "thoughtSignature": "t", "id": "theirs" }));
        for (body, judge) in [
            (openai_chat::encode(&chat, ROUTE, "m", Effort::Unsaid, manner), rules::chat as fn(&Value)),
            (openai_responses::encode(&responses, ROUTE, "m", Sealed::Wanted, manner), rules::responses),
            (anthropic::encode(&messages, ROUTE, "m", 32_000, manner), rules::messages),
            (ollama::encode(&request, ROUTE, "m", 32_768, manner), rules::local),
            (gemini::encode(&contents, ROUTE, Unsigned::Excused, manner), rules::contents),
        ] {
            rules::no_nul(&body);
            if manner.eyes == Eyes::Shut {
                assert!(!body.to_string().contains(PNG), "{body}");
            }
            judge(&body);
        }
    }
}

fn person(content: Vec<Content>) -> Message {
    Message::User { content }
}

fn image(base64: &str) -> Content {
    Content::Image {
        mime: "image/png".to_owned(),
        base64: base64.to_owned(),
    }
}

#[test]
fn a_bad_picture_becomes_words_and_the_good_one_goes_under_its_true_kind() {
    let cut: String = PNG.chars().take(40).collect();
    let html = STANDARD.encode("<html>");
    let large = png(9_000, 200);
    let all = vec![
        image(&cut),
        image(&html),
        image(&large),
        image(GIF),
        image(""),
    ];
    let body = anthropic::encode(
        &request(String::new(), vec![person(all)]),
        ROUTE,
        "m",
        1,
        Manner::default(),
    );
    let parts = body
        .pointer("/messages/0/content")
        .unwrap()
        .as_array()
        .unwrap();
    let told: Vec<&str> = parts
        .iter()
        .map(|part| {
            part.pointer("/text")
                .or(part.pointer("/source/media_type"))
                .unwrap()
                .as_str()
                .unwrap()
        })
        .collect();
    assert_eq!(
        told,
        [
            "(a picture that is broken or not whole, so it can't be looked at)",
            "(a picture of a kind that this model can't look at)",
            "(a picture that is too large for this model to look at)",
            "image/gif",
            "(a picture of a kind that this model can't look at)",
        ]
    );
}

#[test]
fn of_many_large_pictures_the_newest_are_shown() {
    let shown = |pictures: Vec<Content>| {
        let body = anthropic::encode(
            &request(String::new(), vec![person(pictures)]),
            ROUTE,
            "m",
            1,
            Manner::default(),
        );
        let parts = body
            .pointer("/messages/0/content")
            .unwrap()
            .as_array()
            .unwrap()
            .clone();
        parts
            .iter()
            .map(|part| part.get("source").is_some())
            .collect::<Vec<_>>()
    };
    let large = png(2_500, 2_500);
    let of_25 = shown(vec![image(&large); 25]);
    assert_eq!(of_25.iter().filter(|shown| **shown).count(), 20);
    assert_eq!(of_25.iter().position(|shown| *shown), Some(5));
    assert!(shown(vec![image(PNG); 25]).iter().all(|shown| *shown));
    assert_eq!(
        shown(vec![image(PNG); 120])
            .iter()
            .filter(|shown| **shown)
            .count(),
        100
    );
}

#[test]
fn a_wish_how_hard_to_think_is_put_in_each_protocols_words() {
    let request = request(
        String::new(),
        vec![person(vec![Content::Text {
            text: "hi".to_owned(),
        }])],
    );
    let manner = |thinking, form| Manner {
        thinking: Some(thinking),
        form,
        eyes: Eyes::Open,
    };
    for (thinking, form, chat, responses, messages, local, contents) in [
        (
            Thinking::High,
            Form::Newer,
            json!("high"),
            json!({ "effort": "high" }),
            json!([{ "type": "adaptive" }, { "effort": "high" }]),
            json!("high"),
            json!({ "thinkingLevel": "high" }),
        ),
        (
            Thinking::Low,
            Form::Older,
            json!("low"),
            json!({ "effort": "low" }),
            json!([{ "type": "enabled", "budget_tokens": 4096 }, null]),
            json!(true),
            json!({ "thinkingBudget": 1024 }),
        ),
        (
            Thinking::None,
            Form::Newer,
            json!("none"),
            json!({ "effort": "none" }),
            json!([{ "type": "disabled" }, null]),
            json!(false),
            json!({ "thinkingLevel": "minimal" }),
        ),
        (
            Thinking::None,
            Form::Older,
            json!("none"),
            json!({ "effort": "none" }),
            json!([null, null]),
            json!(false),
            json!({ "thinkingBudget": 0 }),
        ),
        (
            Thinking::Medium,
            Form::Unsaid,
            json!(null),
            json!(null),
            json!([null, null]),
            json!(null),
            json!(null),
        ),
    ] {
        let manner = manner(thinking, form);
        let field = |body: &Value, path: &str| body.pointer(path).cloned().unwrap_or_default();
        let body = openai_chat::encode(&request, ROUTE, "m", Effort::Unsaid, manner);
        assert_eq!(field(&body, "/reasoning_effort"), chat);
        let body = openai_responses::encode(&request, ROUTE, "m", Sealed::Wanted, manner);
        assert_eq!(field(&body, "/reasoning"), responses);
        let body = anthropic::encode(&request, ROUTE, "m", 32_000, manner);
        assert_eq!(
            json!([field(&body, "/thinking"), field(&body, "/output_config")]),
            messages
        );
        let body = ollama::encode(&request, ROUTE, "m", 1, manner);
        assert_eq!(field(&body, "/think"), local);
        let body = gemini::encode(&request, ROUTE, Unsigned::Plain, manner);
        assert_eq!(field(&body, "/generationConfig/thinkingConfig"), contents);
    }
    // There is an answer to write as well.
    let small = anthropic::encode(
        &request,
        ROUTE,
        "m",
        4_000,
        manner(Thinking::High, Form::Older),
    );
    assert_eq!(
        small.pointer("/thinking/budget_tokens"),
        Some(&json!(3_000))
    );
    let tiny = anthropic::encode(
        &request,
        ROUTE,
        "m",
        1_000,
        manner(Thinking::High, Form::Older),
    );
    assert_eq!(tiny.get("thinking"), None);
    let told = openai_chat::encode(
        &request,
        ROUTE,
        "m",
        Effort::None,
        manner(Thinking::High, Form::Newer),
    );
    assert_eq!(told.get("reasoning_effort"), Some(&json!("none")));
}
