use serde_json::json;

use super::*;

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn read(request: &Value) -> Result<Wanted, Value> {
    Wanted::read(request.to_string().as_bytes()).map_err(|refusal| refusal.body()["error"].clone())
}

fn asked(messages: Value) -> Value {
    json!({ "model": "default", "messages": messages })
}

fn picture() -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{PIXEL}") } })
}

#[test]
fn a_wrong_type_is_refused_with_the_fields_whole_name() {
    let good = asked(json!([{ "role": "user", "content": "hi" }]));
    for (pointer, value, param) in [
        ("/model", json!(7), "model"),
        ("/stream", json!("yes"), "stream"),
        ("/stream_options", json!(true), "stream_options"),
        (
            "/stream_options",
            json!({ "include_usage": 1 }),
            "stream_options.include_usage",
        ),
        ("/messages", json!({}), "messages"),
        ("/messages", json!([]), "messages"),
        ("/messages/0", json!("hi"), "messages[0]"),
        ("/messages/0/role", json!(null), "messages[0].role"),
        ("/messages/0/role", json!("narrator"), "messages[0].role"),
        ("/messages/0/content", json!(3), "messages[0].content"),
        (
            "/messages/0/content",
            json!(["hi"]),
            "messages[0].content[0]",
        ),
        (
            "/messages/0/content",
            json!([{ "type": "text" }]),
            "messages[0].content[0].text",
        ),
        (
            "/messages/0/content",
            json!([{ "type": "input_audio" }]),
            "messages[0].content[0].type",
        ),
        (
            "/messages/0/content",
            json!([{ "type": "image_url", "image_url": { "url": 1 } }]),
            "messages[0].content[0].image_url.url",
        ),
        ("/temperature", json!("hot"), "temperature"),
        ("/max_tokens", json!(1.5), "max_tokens"),
        ("/metadata", json!("x"), "metadata"),
    ] {
        let mut request = good.clone();
        match request.pointer_mut(pointer) {
            Some(place) => *place = value.clone(),
            None => request[pointer.trim_start_matches('/')] = value.clone(),
        }
        let error = read(&request).expect_err(pointer);
        assert_eq!(error["param"], param, "{pointer} = {value}: {error}");
        assert_eq!(error["type"], "invalid_request_error");
    }
}

#[test]
fn what_can_not_be_honoured_is_named_and_its_empty_form_is_passed_over() {
    for (field, asks, asks_nothing) in [
        ("n", json!(2), json!(1)),
        ("tools", json!([{}]), json!([])),
        ("functions", json!([{}]), json!([])),
        ("tool_choice", json!("required"), json!("auto")),
        ("function_call", json!({ "name": "f" }), json!("none")),
        (
            "response_format",
            json!({ "type": "json_object" }),
            json!({ "type": "text" }),
        ),
        ("stop", json!("END"), json!([])),
        ("logprobs", json!(true), json!(false)),
        ("logit_bias", json!({ "1": 2 }), json!({})),
        ("modalities", json!(["text", "audio"]), json!(["text"])),
        ("audio", json!({}), json!(null)),
    ] {
        let mut request = asked(json!([{ "role": "user", "content": "hi" }]));
        request[field] = asks;
        let error = read(&request).expect_err(field);
        assert_eq!(
            (&error["param"], &error["code"]),
            (&json!(field), &json!("unsupported_parameter"))
        );
        for nothing in [asks_nothing, json!(null)] {
            request[field] = nothing;
            assert!(read(&request).is_ok(), "{request}");
        }
    }
    let mut request = asked(json!([{ "role": "user", "content": "hi" }]));
    request["a_field_of_tomorrow"] = json!({ "x": 1 });
    request["temperature"] = json!(0.7);
    assert!(read(&request).is_ok());
}

#[test]
fn a_history_becomes_instructions_what_was_said_and_the_last_message() {
    let wanted = read(&asked(json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": [{ "type": "text", "text": "look" }, picture()] },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "see", "arguments": "{\"x\":1}" } },
            { "id": "c2", "type": "function", "function": { "name": "see", "arguments": "nonsense" } },
        ]},
        { "role": "tool", "tool_call_id": "c1", "content": "a dot" },
        { "role": "assistant", "content": "A dot." },
        { "role": "developer", "content": "In German." },
        { "role": "user", "content": [picture(), { "type": "text", "text": "and this?" }] },
    ])))
    .unwrap();
    assert_eq!(wanted.instructions, "Be brief.\n\nIn German.");
    assert_eq!(wanted.text, "and this?");
    let names: Vec<&str> = wanted
        .enclosed
        .iter()
        .map(|file| file.name.as_str())
        .collect();
    assert_eq!(names, ["picture-1.png", "picture-2.png"]);
    assert_eq!(wanted.said.len(), 4);
    assert!(matches!(&wanted.said[0], Message::User { content }
        if matches!(&content[0], Said::Text { text } if text == "look\n[with picture-1.png]")));
    assert!(matches!(&wanted.said[1], Message::Assistant { calls, .. }
        if calls[0].arguments.is_ok() && calls[1].arguments == Err("nonsense".to_owned())));
    assert!(matches!(&wanted.said[2], Message::Tool { name, .. } if name == "see"));
}

#[test]
fn in_a_session_only_the_last_message_and_its_files_are_new() {
    let mut wanted = read(&asked(json!([
        { "role": "user", "content": [picture()] },
        { "role": "assistant", "content": "A dot." },
        { "role": "user", "content": [picture(), { "type": "text", "text": "and this?" }] },
    ])))
    .unwrap();
    wanted.keep_the_last_alone();
    assert!(wanted.said.is_empty());
    assert_eq!(wanted.enclosed[0].name, "picture-2.png");
    assert_eq!(wanted.enclosed.len(), 1);
}

#[test]
fn pictures_that_would_have_to_be_fetched_or_are_none_are_refused() {
    for (url, why) in [
        ("https://example.org/a.png", "fetches nothing"),
        ("file:///etc/passwd", "fetches nothing"),
        ("data:image/png,abc", "base64"),
        ("data:image/png;base64,@@@", "can't be read"),
        ("data:image/png;base64,", "no bytes"),
        ("data:image/png;base64,aGVsbG8=", "must be PNG"),
        ("data:image/svg+xml;base64,PHN2Zy8+", "must be PNG"),
    ] {
        let part = json!({ "type": "image_url", "image_url": { "url": url } });
        let error = read(&asked(json!([{ "role": "user", "content": [part] }]))).expect_err(url);
        let text = error["message"].as_str().unwrap();
        assert!(text.contains(why), "{url}: {text}");
        assert_eq!(error["param"], "messages[0].content[0].image_url.url");
    }
}

#[test]
fn too_much_is_refused() {
    let many: Vec<Value> = (0..=chat_api::MOST_FILES).map(|_| picture()).collect();
    assert!(read(&asked(json!([{ "role": "user", "content": many }]))).is_err());
    let long = "x".repeat(INSTRUCTIONS + 1);
    let messages =
        json!([{ "role": "system", "content": long }, { "role": "user", "content": "hi" }]);
    assert!(read(&asked(messages)).is_err());
    let messages = vec![json!({ "role": "user", "content": "hi" }); MESSAGES + 1];
    assert!(read(&asked(json!(messages))).is_err());
    let text = "x".repeat(TEXT + 1);
    assert!(read(&asked(json!([{ "role": "user", "content": text }]))).is_err());
}
