//! The conversation in this protocol's messages.

use model::{Content, ReplayBlock, Request};
use serde_json::{Value, json};

use crate::manner::Eyes;
use crate::pictures::{self, Bounds};
use crate::transcript::{self, Call, Entry};

/// The vendor that began it takes 50 MB and 500 pictures of a request (its documentation, 2025); most servers that speak it take less,
/// and say so.
const PICTURES: Bounds = Bounds {
    kinds: pictures::USUAL,
    largest: 20 << 20,
    side: u32::MAX,
    most: 50,
    together: 40 << 20,
    crowd: None,
};

/// Where some servers put reasoning, and want it back on a message that calls tools.
pub(super) const REASONING: &str = "reasoning_content";

pub(super) fn messages(request: &Request, route: &str, eyes: Eyes) -> Vec<Value> {
    let system =
        transcript::system(request).map(|system| json!({ "role": "system", "content": system }));
    system
        .into_iter()
        .chain(
            transcript::entries(request, route, &PICTURES, eyes)
                .into_iter()
                .map(message),
        )
        .collect()
}

fn message(entry: Entry) -> Value {
    match entry {
        Entry::User(content) => json!({ "role": "user", "content": user_content(content) }),
        Entry::Assistant { text, calls, .. } if calls.is_empty() => {
            json!({ "role": "assistant", "content": text })
        }
        Entry::Assistant {
            text,
            calls,
            replay,
        } => calling(text, calls, &replay),
        Entry::Result { id, content, .. } => {
            json!({ "role": "tool", "tool_call_id": id, "content": content })
        }
    }
}

fn calling(text: String, calls: Vec<Call>, replay: &[ReplayBlock]) -> Value {
    let text = if text.is_empty() {
        Value::Null
    } else {
        text.into()
    };
    let calls: Vec<Value> = calls.into_iter().map(call).collect();
    let mut message = json!({ "role": "assistant", "content": text, "tool_calls": calls });
    let reasoning = replay
        .iter()
        .find_map(|block| block.data.get(REASONING)?.as_str());
    if let (Some(fields), Some(reasoning)) = (message.as_object_mut(), reasoning) {
        fields.insert(REASONING.to_owned(), reasoning.into());
    }
    message
}

fn call(call: Call) -> Value {
    let arguments = Value::Object(call.arguments).to_string();
    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
}

fn user_content(content: Vec<Content>) -> Value {
    let mut texts = Vec::new();
    for part in &content {
        match part {
            Content::Text { text } => texts.push(text.as_str()),
            Content::Image { .. } => return content.into_iter().map(part_json).collect(),
        }
    }
    texts.join("\n\n").into()
}

fn part_json(part: Content) -> Value {
    match part {
        Content::Text { text } => json!({ "type": "text", "text": text }),
        Content::Image { mime, base64 } => {
            json!({ "type": "image_url", "image_url": { "url": format!("data:{mime};base64,{base64}") } })
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{Message, Replay, ToolCall};

    use super::*;

    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

    fn said(text: &str) -> Message {
        Message::User {
            content: vec![Content::Text {
                text: text.to_owned(),
            }],
        }
    }

    fn call(id: &str, name: &str, arguments: Result<Value, &str>) -> ToolCall {
        let arguments = arguments
            .map(|value| value.as_object().unwrap().clone())
            .map_err(str::to_owned);
        ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments,
        }
    }

    fn answered(text: &str, calls: Vec<ToolCall>) -> Message {
        Message::Assistant {
            text: text.to_owned(),
            calls,
            replay: None,
        }
    }

    fn result(call: &str, content: &str) -> Message {
        Message::Tool {
            call: call.to_owned(),
            name: "terminal".to_owned(),
            content: content.to_owned(),
            failed: false,
        }
    }

    fn wire(messages: Vec<Message>) -> Vec<Value> {
        super::messages(
            &Request {
                system: String::new(),
                messages,
                tools: Vec::new(),
            },
            "acme/m",
            Eyes::Open,
        )
    }

    #[test]
    fn a_turn_with_a_tool() {
        let request = Request {
            system: "Be brief.".to_owned(),
            messages: vec![
                said("list"),
                answered(
                    "",
                    vec![call("call_1", "terminal", Ok(json!({ "command": "ls" })))],
                ),
                result("call_1", "a.txt"),
                answered("One file.", vec![]),
                said("thanks"),
            ],
            tools: Vec::new(),
        };
        let expected = json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "list" },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "call_1", "type": "function", "function": { "name": "terminal", "arguments": "{\"command\":\"ls\"}" } },
            ] },
            { "role": "tool", "tool_call_id": "call_1", "content": "a.txt" },
            { "role": "assistant", "content": "One file." },
            { "role": "user", "content": "thanks" },
        ]);
        assert_eq!(
            Value::from(super::messages(&request, "acme/m", Eyes::Open)),
            expected
        );
    }

    #[test]
    fn two_people_in_a_row_are_one_message() {
        assert_eq!(
            wire(vec![said("a"), said("b\0"), said(" ")]),
            [json!({ "role": "user", "content": "a\n\nb" })]
        );
    }

    #[test]
    fn a_picture_goes_as_a_data_url() {
        let image = Content::Image {
            mime: "image/png".to_owned(),
            base64: PNG.to_owned(),
        };
        let text = Content::Text {
            text: "what is it?".to_owned(),
        };
        let expected = json!({ "role": "user", "content": [
            { "type": "text", "text": "what is it?" },
            { "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{PNG}") } },
        ] });
        assert_eq!(
            wire(vec![Message::User {
                content: vec![text, image]
            }]),
            [expected]
        );
    }

    #[test]
    fn an_interrupted_call_has_a_result_all_the_same() {
        let calls = vec![call("a", "x", Ok(json!({}))), call("b", "x", Ok(json!({})))];
        let wire = wire(vec![
            said("go"),
            answered("", calls),
            result("b", ""),
            said("well?"),
        ]);
        let tail = wire.get(2..).unwrap();
        assert_eq!(
            tail,
            [
                json!({ "role": "tool", "tool_call_id": "b", "content": "(empty)" }),
                json!({ "role": "tool", "tool_call_id": "a", "content": "(no result: the run was interrupted before this call ended)" }),
                json!({ "role": "user", "content": "well?" }),
            ]
        );
    }

    #[test]
    fn a_result_without_its_call_becomes_words() {
        let wire = wire(vec![result("gone", "42"), said("and?")]);
        assert_eq!(
            wire,
            [
                json!({ "role": "user", "content": "Result of an earlier call of terminal:\n42\n\nand?" })
            ]
        );
    }

    #[test]
    fn the_first_word_is_a_persons() {
        let wire = wire(vec![answered("hello", vec![]), answered("again", vec![])]);
        assert_eq!(
            wire,
            [
                json!({ "role": "user", "content": "(the conversation goes on)" }),
                json!({ "role": "assistant", "content": "hello\n\nagain" }),
            ]
        );
    }

    #[test]
    fn what_could_not_be_read_is_not_sent_back() {
        let calls = vec![
            call("functions.terminal:0", "ter minal", Err("{\"half")),
            call("", "", Ok(json!({ "n": 1 }))),
            call("same", "a", Ok(json!({}))),
            call("same", "a", Ok(json!({}))),
        ];
        let wire = wire(vec![said("go"), answered("", calls)]);
        let sent = wire
            .get(1)
            .unwrap()
            .get("tool_calls")
            .unwrap()
            .as_array()
            .unwrap();
        let text = |at: usize, path: &str| {
            sent.get(at)
                .unwrap()
                .pointer(path)
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(text(0, "/id"), "c00000001");
        assert_eq!(text(0, "/function/name"), "ter_minal");
        assert_eq!(text(0, "/function/arguments"), "{}");
        assert_eq!(text(1, "/id"), "c00000002");
        assert_eq!(text(1, "/function/name"), "unknown");
        assert_eq!(
            (text(2, "/id"), text(3, "/id")),
            ("same".to_owned(), "c00000004".to_owned())
        );
    }

    #[test]
    fn reasoning_goes_back_beside_its_calls_to_the_route_that_wants_it() {
        let asked = Message::Assistant {
            text: String::new(),
            calls: vec![call("a", "x", Ok(json!({})))],
            replay: Some(Replay {
                route: "acme/m".to_owned(),
                blocks: vec![ReplayBlock {
                    call: None,
                    data: json!({ REASONING: "hm" }),
                }],
            }),
        };
        let request = Request {
            system: String::new(),
            messages: vec![said("go"), asked, result("a", "done")],
            tools: Vec::new(),
        };
        let sent = |route: &str| {
            let all = super::messages(&request, route, Eyes::Open);
            all.get(1).unwrap().get(REASONING).cloned()
        };
        assert_eq!(sent("acme/m"), Some(json!("hm")));
        assert_eq!(sent("acme/other"), None);
        assert_eq!(sent(""), None);
    }
}
