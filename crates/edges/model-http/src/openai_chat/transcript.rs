//! A conversation as providers accept it: roles alternate, every call has its result, every text says something.
//!
//! Each rule is one that some provider enforces with a 400, so that a conversation which breaks it could never go on.

use std::collections::VecDeque;

use model::{Content, Message, Request, ToolCall};
use serde_json::{Value, json};

/// Stands where a run was interrupted between a call and its result.
const NO_RESULT: &str = "(no result: the run was interrupted before this call ended)";
/// Stands where a result has no text; some providers refuse an empty one.
const EMPTY_RESULT: &str = "(empty)";
/// Stands before a model's message that would be the first; some providers insist on a person's.
const GOES_ON: &str = "(the conversation goes on)";

pub(super) fn messages(request: &Request) -> Vec<Value> {
    let mut transcript = Transcript::default();
    for message in &request.messages {
        match message {
            Message::User { content } => transcript.user(content),
            Message::Assistant { text, calls } => transcript.assistant(text, calls),
            Message::Tool {
                call,
                name,
                content,
                failed: _,
            } => transcript.result(call, name, content),
        }
    }
    transcript.answer_open_calls();
    let system = clean(&request.system);
    let system =
        (!system.trim().is_empty()).then(|| json!({ "role": "system", "content": system }));
    system
        .into_iter()
        .chain(transcript.entries.into_iter().map(Entry::into_json))
        .collect()
}

enum Entry {
    User(Vec<Content>),
    Assistant { text: String, calls: Vec<Value> },
    Result { id: String, content: String },
}

impl Entry {
    fn into_json(self) -> Value {
        match self {
            Self::User(content) => json!({ "role": "user", "content": user_content(content) }),
            Self::Assistant { text, calls } if calls.is_empty() => {
                json!({ "role": "assistant", "content": text })
            }
            Self::Assistant { text, calls } => {
                let text = if text.is_empty() {
                    Value::Null
                } else {
                    text.into()
                };
                json!({ "role": "assistant", "content": text, "tool_calls": calls })
            }
            Self::Result { id, content } => {
                json!({ "role": "tool", "tool_call_id": id, "content": content })
            }
        }
    }
}

struct Open {
    call: String,
    id: String,
}

#[derive(Default)]
struct Transcript {
    entries: Vec<Entry>,
    open: VecDeque<Open>,
    strays: Vec<Content>,
    calls_seen: usize,
}

impl Transcript {
    fn user(&mut self, content: &[Content]) {
        self.answer_open_calls();
        self.add_user(content.iter().filter_map(clean_content).collect());
    }

    fn add_user(&mut self, mut content: Vec<Content>) {
        if content.is_empty() {
            return;
        }
        match self.entries.last_mut() {
            Some(Entry::User(before)) => before.append(&mut content),
            Some(Entry::Assistant { .. } | Entry::Result { .. }) | None => {
                self.entries.push(Entry::User(content))
            }
        }
    }

    fn assistant(&mut self, text: &str, calls: &[ToolCall]) {
        self.answer_open_calls();
        let text = clean(text);
        if text.trim().is_empty() && calls.is_empty() {
            return;
        }
        let mut wire_calls = Vec::with_capacity(calls.len());
        for call in calls {
            let id = self.wire_id(&call.id);
            wire_calls.push(wire_call(&id, call));
            self.open.push_back(Open {
                call: call.id.clone(),
                id,
            });
        }
        match self.entries.last_mut() {
            // Open calls were answered above, so an assistant's entry that is last has none.
            Some(Entry::Assistant {
                text: before,
                calls,
            }) => {
                if !text.is_empty() {
                    before.push_str("\n\n");
                    before.push_str(&text);
                }
                calls.append(&mut wire_calls);
            }
            None => {
                self.add_user(vec![Content::Text {
                    text: GOES_ON.to_owned(),
                }]);
                self.entries.push(Entry::Assistant {
                    text,
                    calls: wire_calls,
                });
            }
            Some(Entry::User(_) | Entry::Result { .. }) => {
                self.entries.push(Entry::Assistant {
                    text,
                    calls: wire_calls,
                });
            }
        }
    }

    fn result(&mut self, call: &str, name: &str, content: &str) {
        let content = clean(content);
        let Some(at) = self.open.iter().position(|open| open.call == call) else {
            let text = format!("Result of an earlier call of {name}:\n{content}");
            self.strays.push(Content::Text { text });
            if self.open.is_empty() {
                self.add_strays();
            }
            return;
        };
        if let Some(open) = self.open.remove(at) {
            let content = if content.is_empty() {
                EMPTY_RESULT.to_owned()
            } else {
                content
            };
            self.entries.push(Entry::Result {
                id: open.id,
                content,
            });
        }
        if self.open.is_empty() {
            self.add_strays();
        }
    }

    fn answer_open_calls(&mut self) {
        for open in self.open.drain(..) {
            self.entries.push(Entry::Result {
                id: open.id,
                content: NO_RESULT.to_owned(),
            });
        }
        self.add_strays();
    }

    /// A result whose call is gone (cut off by compaction) is refused as a result; as words it is still known.
    fn add_strays(&mut self) {
        let strays = std::mem::take(&mut self.strays);
        self.add_user(strays);
    }

    /// Ids of one provider are refused by another, so one that is unusual is written anew. By position, so that a prompt's beginning stays the same and cached.
    fn wire_id(&mut self, id: &str) -> String {
        self.calls_seen += 1;
        let usual = !id.is_empty() && id.len() <= 40 && id.bytes().all(is_name_byte);
        let taken = self.open.iter().any(|open| open.id == id);
        if usual && !taken {
            id.to_owned()
        } else {
            format!("c{:08}", self.calls_seen)
        }
    }
}

fn wire_call(id: &str, call: &ToolCall) -> Value {
    // What was unreadable is not sent back: most providers refuse a request that holds it. Its result says what was wrong.
    let arguments = call.arguments.as_ref().map_or_else(
        |_unreadable| "{}".to_owned(),
        |arguments| clean(&Value::Object(arguments.clone()).to_string()),
    );
    json!({ "id": id, "type": "function", "function": { "name": tool_name(&call.name), "arguments": arguments } })
}

/// A model may have called a tool by a name that providers don't allow.
fn tool_name(name: &str) -> String {
    let fit: String = name
        .chars()
        .take(64)
        .map(|one| {
            if u8::try_from(one).is_ok_and(is_name_byte) {
                one
            } else {
                '_'
            }
        })
        .collect();
    if fit.is_empty() {
        "unknown".to_owned()
    } else {
        fit
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn clean(text: &str) -> String {
    text.replace('\0', "")
}

fn clean_content(content: &Content) -> Option<Content> {
    match content {
        Content::Text { text } => {
            let text = clean(text);
            (!text.trim().is_empty()).then_some(Content::Text { text })
        }
        Content::Image { .. } => Some(content.clone()),
    }
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
    use super::*;

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
        super::messages(&Request {
            system: String::new(),
            messages,
            tools: Vec::new(),
        })
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
        assert_eq!(Value::from(super::messages(&request)), expected);
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
            base64: "AAAA".to_owned(),
        };
        let text = Content::Text {
            text: "what is it?".to_owned(),
        };
        let expected = json!({ "role": "user", "content": [
            { "type": "text", "text": "what is it?" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } },
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
                json!({ "role": "tool", "tool_call_id": "b", "content": EMPTY_RESULT }),
                json!({ "role": "tool", "tool_call_id": "a", "content": NO_RESULT }),
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
                json!({ "role": "user", "content": GOES_ON }),
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
}
