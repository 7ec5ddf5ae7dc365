//! What each provider accepts, read strictly and by itself: nothing here knows how a request was made.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no text under '{field}' in {value}"))
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value
        .get(field)
        .and_then(Value::as_array)
        .unwrap_or_else(|| panic!("no list under '{field}' in {value}"))
}

fn only(value: &Value, allowed: &[&str]) {
    for field in value.as_object().unwrap().keys() {
        assert!(
            allowed.contains(&field.as_str()),
            "a field '{field}' in {value}"
        );
    }
}

fn says_something(words: &str) {
    assert!(!words.trim().is_empty(), "words that say nothing");
}

fn is_name(name: &str) {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    assert!(
        (1..=64).contains(&name.len()) && name.bytes().all(fits),
        "a name '{name}'"
    );
}

fn is_object(json: &str) {
    let value: Value = serde_json::from_str(json).unwrap();
    assert!(value.is_object(), "arguments {json}");
}

/// No provider stores it.
pub(super) fn no_nul(body: &Value) {
    assert!(!body.to_string().contains("\\u0000"), "{body}");
}

/// A picture of the kind that it is called, whole. Its longer side.
fn picture(mime: &str, base64: &str, kinds: &[&str]) -> u32 {
    assert!(kinds.contains(&mime), "a picture called {mime}");
    let bytes = STANDARD.decode(base64).unwrap();
    match mime {
        "image/png" => {
            assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "no PNG");
            assert!(
                bytes[bytes.len() - 8..].starts_with(b"IEND"),
                "a PNG that is cut"
            );
            let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
            assert!(side(16) > 0 && side(20) > 0, "a PNG without a size");
            side(16).max(side(20))
        }
        "image/gif" => {
            assert!(
                bytes.starts_with(b"GIF8") && bytes.ends_with(b";"),
                "no GIF"
            );
            1
        }
        other => panic!("the histories hold no {other}"),
    }
}

const ALL: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

fn data_url(url: &str) {
    let (mime, base64) = url
        .strip_prefix("data:")
        .unwrap()
        .split_once(";base64,")
        .unwrap();
    picture(mime, base64, ALL);
}

/// Chat completions.
pub(super) fn chat(body: &Value) {
    let mut messages = list(body, "messages");
    if messages
        .first()
        .is_some_and(|first| text(first, "role") == "system")
    {
        says_something(text(&messages[0], "content"));
        messages = &messages[1..];
    }
    let mut ids = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut last = "";
    for message in messages {
        let role = text(message, "role");
        assert!(
            role == "tool" || open.is_empty(),
            "calls without results before {message}"
        );
        assert!(
            !last.is_empty() || role == "user",
            "the first word is {message}"
        );
        match role {
            "user" => {
                only(message, &["role", "content"]);
                assert_ne!(last, "user", "two people in a row");
                match &message["content"] {
                    Value::String(words) => says_something(words),
                    Value::Array(parts) => {
                        assert!(!parts.is_empty());
                        for part in parts {
                            match text(part, "type") {
                                "text" => says_something(text(part, "text")),
                                "image_url" => data_url(text(&part["image_url"], "url")),
                                other => panic!("a part {other}"),
                            }
                        }
                    }
                    other
                    @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
                        panic!("content {other}")
                    }
                }
            }
            "assistant" => {
                only(
                    message,
                    &["role", "content", "tool_calls", "reasoning_content"],
                );
                assert_ne!(last, "assistant", "two answers in a row");
                if message.get("tool_calls").is_none() {
                    says_something(text(message, "content"));
                    assert!(message.get("reasoning_content").is_none());
                } else {
                    assert!(!list(message, "tool_calls").is_empty());
                    for call in list(message, "tool_calls") {
                        only(call, &["id", "type", "function"]);
                        let id = text(call, "id");
                        assert!(
                            !id.is_empty() && id.len() <= 40 && ids.insert(id),
                            "an id '{id}' twice"
                        );
                        open.insert(id);
                        is_name(text(&call["function"], "name"));
                        is_object(text(&call["function"], "arguments"));
                    }
                }
            }
            "tool" => {
                only(message, &["role", "tool_call_id", "content"]);
                assert!(
                    open.remove(text(message, "tool_call_id")),
                    "a result without its call: {message}"
                );
                assert!(!text(message, "content").is_empty());
            }
            other => panic!("a role {other}"),
        }
        last = role;
    }
    assert!(open.is_empty(), "calls without results at the end");
}

/// Responses.
pub(super) fn responses(body: &Value) {
    assert_eq!(body["store"], false);
    let mut ids = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut thought = false;
    for item in list(body, "input") {
        let kind = text(item, "type");
        let theirs = kind == "function_call" || kind == "reasoning" || item["role"] == "assistant";
        assert!(
            !thought || theirs,
            "a thought without what came of it, before {item}"
        );
        assert!(
            open.is_empty() || kind != "message",
            "calls without results before {item}"
        );
        match kind {
            "message" if item["role"] == "user" => {
                assert!(!list(item, "content").is_empty());
                for part in list(item, "content") {
                    match text(part, "type") {
                        "input_text" => says_something(text(part, "text")),
                        "input_image" => data_url(text(part, "image_url")),
                        other => panic!("a part {other}"),
                    }
                }
            }
            "message" => says_something(text(item, "content")),
            "reasoning" => {}
            "function_call" => {
                let id = text(item, "call_id");
                assert!(
                    !id.is_empty() && id.len() <= 64 && ids.insert(id),
                    "an id '{id}' twice"
                );
                open.insert(id);
                is_name(text(item, "name"));
                is_object(text(item, "arguments"));
            }
            "function_call_output" => {
                assert!(
                    open.remove(text(item, "call_id")),
                    "a result without its call: {item}"
                );
                assert!(!text(item, "output").is_empty());
            }
            // Kept reasoning that has no type is another protocol's; this route never made it.
            other => panic!("an item {other}"),
        }
        thought = kind == "reasoning";
    }
    assert!(open.is_empty() && !thought, "something is open at the end");
}

/// Messages.
pub(super) fn messages(body: &Value) {
    let marks = body.to_string().matches("\"cache_control\"").count();
    assert!(marks <= 4, "{marks} marks");
    let mut ids = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut last = "assistant";
    let mut sides = Vec::new();
    for message in list(body, "messages") {
        only(message, &["role", "content"]);
        let role = text(message, "role");
        assert_ne!(role, last, "two of a role in a row");
        last = role;
        assert!(!list(message, "content").is_empty());
        let mut other_than_results = false;
        for block in list(message, "content") {
            let kind = text(block, "type");
            assert!(
                open.is_empty() || kind == "tool_result" || role == "assistant",
                "results come first: {message}"
            );
            match (role, kind) {
                (_, "text") => says_something(text(block, "text")),
                ("user", "image") => {
                    let source = &block["source"];
                    assert!(text(source, "data").len() <= 5 << 20);
                    sides.push(picture(
                        text(source, "media_type"),
                        text(source, "data"),
                        ALL,
                    ));
                }
                ("user", "tool_result") => {
                    only(
                        block,
                        &[
                            "type",
                            "tool_use_id",
                            "content",
                            "is_error",
                            "cache_control",
                        ],
                    );
                    assert!(!other_than_results, "results come first: {message}");
                    assert!(
                        open.remove(text(block, "tool_use_id")),
                        "a result without its call: {block}"
                    );
                    says_something(text(block, "content"));
                }
                ("assistant", "tool_use") => {
                    let id = text(block, "id");
                    is_name(id);
                    assert!(ids.insert(id), "an id '{id}' twice");
                    open.insert(id);
                    is_name(text(block, "name"));
                    assert!(block["input"].is_object());
                }
                ("assistant", "thinking") => says_something(text(block, "signature")),
                (role, kind) => panic!("a block {kind} of {role}"),
            }
            other_than_results |= kind != "tool_result";
        }
    }
    assert!(
        last == "user" && open.is_empty(),
        "the last word is a person's, and every call has its result"
    );
    assert!(sides.len() <= 100 && sides.iter().all(|side| *side <= 8_000));
    assert!(
        sides.len() <= 20 || sides.iter().all(|side| *side <= 2_000),
        "many large pictures"
    );
    if let Some(budget) = body.pointer("/thinking/budget_tokens") {
        let (budget, most) = (
            budget.as_u64().unwrap(),
            body["max_tokens"].as_u64().unwrap(),
        );
        assert!(budget >= 1_024 && budget < most);
        assert!(body.get("output_config").is_none());
    }
}

/// Ollama's own chat.
pub(super) fn local(body: &Value) {
    let mut open = 0;
    for (at, message) in list(body, "messages").iter().enumerate() {
        let role = text(message, "role");
        assert!(
            role == "tool" || open == 0,
            "calls without results before {message}"
        );
        match role {
            "system" => assert_eq!(at, 0),
            "user" => {
                let pictures = message.get("images").and_then(Value::as_array);
                for picture in pictures.into_iter().flatten() {
                    STANDARD.decode(picture.as_str().unwrap()).unwrap();
                }
                assert!(pictures.is_some() || !text(message, "content").trim().is_empty());
            }
            "assistant" => {
                let calls = message.get("tool_calls").and_then(Value::as_array);
                for call in calls.into_iter().flatten() {
                    is_name(text(&call["function"], "name"));
                    assert!(call["function"]["arguments"].is_object());
                }
                open = calls.map_or(0, Vec::len);
                assert!(open > 0 || !text(message, "content").trim().is_empty());
            }
            "tool" => {
                assert!(open > 0, "a result without its call: {message}");
                open -= 1;
                is_name(text(message, "tool_name"));
                assert!(!text(message, "content").is_empty());
            }
            other => panic!("a role {other}"),
        }
    }
    assert_eq!(open, 0, "calls without results at the end");
}

/// Generate content.
pub(super) fn contents(body: &Value) {
    let mut last = "model";
    let mut called: Vec<&str> = Vec::new();
    for content in list(body, "contents") {
        let role = text(content, "role");
        assert_ne!(role, last, "two of a role in a row");
        last = role;
        assert!(!list(content, "parts").is_empty());
        let mut answered = Vec::new();
        let mut calls = Vec::new();
        for part in list(content, "parts") {
            only(
                part,
                &[
                    "text",
                    "inlineData",
                    "functionCall",
                    "functionResponse",
                    "thoughtSignature",
                ],
            );
            if let Some(words) = part.get("text") {
                says_something(words.as_str().unwrap());
            } else if let Some(data) = part.get("inlineData") {
                assert_eq!(role, "user");
                picture(
                    text(data, "mimeType"),
                    text(data, "data"),
                    &["image/png", "image/jpeg", "image/webp"],
                );
            } else if let Some(call) = part.get("functionCall") {
                assert_eq!(role, "model");
                is_name(text(call, "name"));
                assert!(call["args"].is_object());
                calls.push(text(call, "name"));
            } else if let Some(response) = part.get("functionResponse") {
                assert_eq!(role, "user");
                assert!(response["response"].is_object());
                answered.push(text(response, "name"));
            } else {
                panic!("an empty part in {content}");
            }
        }
        if role == "user" {
            assert_eq!(answered, called, "results in the order of their calls");
            called = Vec::new();
        } else {
            assert!(called.is_empty());
            called = calls;
        }
    }
    assert!(
        last == "user" && called.is_empty(),
        "the last word is a person's, and every call has its result"
    );
}
