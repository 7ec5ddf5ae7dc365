//! A conversation as providers accept it: roles alternate, every call has its result, every text says something.
//!
//! Each rule is one that some provider enforces with a 400, so that a conversation which breaks it could never go on.

use std::collections::{HashSet, VecDeque};

use model::{Content, Message, Replay, ReplayBlock, Request, ToolCall};
use serde_json::{Map, Value};

use crate::manner::Eyes;
use crate::pictures::{self, Bounds};

/// Stands where a run was interrupted between a call and its result.
const NO_RESULT: &str = "(no result: the run was interrupted before this call ended)";
/// Stands where a result has no text; some providers refuse an empty one.
pub(crate) const EMPTY_RESULT: &str = "(empty)";
/// Stands before a model's message that would be the first; some providers insist on a person's.
const GOES_ON: &str = "(the conversation goes on)";

/// One message, ready for any wire.
#[derive(Debug, PartialEq)]
pub(crate) enum Entry {
    User(Vec<Content>),
    Assistant {
        text: String,
        calls: Vec<Call>,
        /// What this route wants back; empty without calls.
        replay: Vec<ReplayBlock>,
    },
    Result {
        id: String,
        name: String,
        content: String,
        failed: bool,
    },
}

/// A call of the model's, ready for any wire.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Map<String, Value>,
}

/// The conversation for one route; what another route wants back is left out, and pictures are as `bounds` and `eyes` have them.
pub(crate) fn entries(request: &Request, route: &str, bounds: &Bounds, eyes: Eyes) -> Vec<Entry> {
    let mut transcript = Transcript::default();
    for message in &request.messages {
        match message {
            Message::User { content } => transcript.user(content),
            Message::Assistant {
                text,
                calls,
                replay,
            } => transcript.assistant(text, calls, wanted(replay.as_ref(), calls, route)),
            Message::Tool {
                call,
                name,
                content,
                failed,
            } => transcript.result(call, name, content, *failed),
        }
    }
    transcript.answer_open_calls();
    let mut entries = transcript.entries;
    pictures::fit(&mut entries, bounds, eyes);
    entries
}

/// As [`entries`], for providers that want a person's (or a tool's) word last.
pub(crate) fn entries_until_a_person(
    request: &Request,
    route: &str,
    bounds: &Bounds,
    eyes: Eyes,
) -> Vec<Entry> {
    let mut entries = entries(request, route, bounds, eyes);
    if let Some(Entry::Assistant { .. }) | None = entries.last() {
        entries.push(Entry::User(vec![Content::Text {
            text: GOES_ON.to_owned(),
        }]));
    }
    entries
}

/// The fixed prompt, if there is one.
pub(crate) fn system(request: &Request) -> Option<String> {
    let system = clean(&request.system);
    (!system.trim().is_empty()).then_some(system)
}

fn wanted(replay: Option<&Replay>, calls: &[ToolCall], route: &str) -> Vec<ReplayBlock> {
    match replay {
        Some(replay) if replay.route == route && !calls.is_empty() => replay
            .blocks
            .iter()
            .filter(|block| block.call.is_none_or(|call| call < calls.len()))
            .cloned()
            .collect(),
        Some(_) | None => Vec::new(),
    }
}

struct Open {
    call: String,
    id: String,
    name: String,
}

#[derive(Default)]
struct Transcript {
    entries: Vec<Entry>,
    open: VecDeque<Open>,
    strays: Vec<Content>,
    calls_seen: usize,
    ids: HashSet<String>,
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

    fn assistant(&mut self, text: &str, calls: &[ToolCall], mut replay: Vec<ReplayBlock>) {
        self.answer_open_calls();
        let text = clean(text);
        if text.trim().is_empty() && calls.is_empty() {
            return;
        }
        let mut wire_calls = Vec::with_capacity(calls.len());
        for call in calls {
            let id = self.wire_id(&call.id);
            let name = tool_name(&call.name);
            self.open.push_back(Open {
                call: call.id.clone(),
                id: id.clone(),
                name: name.clone(),
            });
            wire_calls.push(Call {
                id,
                name,
                arguments: arguments(call),
            });
        }
        match self.entries.last_mut() {
            // Open calls were answered above, so an assistant's entry that is last has none.
            Some(Entry::Assistant {
                text: before,
                calls,
                replay: wanted,
            }) => {
                if !text.is_empty() {
                    before.push_str("\n\n");
                    before.push_str(&text);
                }
                calls.append(&mut wire_calls);
                wanted.append(&mut replay);
            }
            None => {
                self.add_user(vec![Content::Text {
                    text: GOES_ON.to_owned(),
                }]);
                self.entries.push(Entry::Assistant {
                    text,
                    calls: wire_calls,
                    replay,
                });
            }
            Some(Entry::User(_) | Entry::Result { .. }) => {
                self.entries.push(Entry::Assistant {
                    text,
                    calls: wire_calls,
                    replay,
                });
            }
        }
    }

    fn result(&mut self, call: &str, name: &str, content: &str, failed: bool) {
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
                name: open.name,
                content,
                failed,
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
                name: open.name,
                content: NO_RESULT.to_owned(),
                failed: true,
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
        if usual && self.ids.insert(id.to_owned()) {
            return id.to_owned();
        }
        // A model may have made up one that looks like ours.
        let mut anew = format!("c{:08}", self.calls_seen);
        while !self.ids.insert(anew.clone()) {
            anew.push('x');
        }
        anew
    }
}

/// What was unreadable is not sent back: most providers refuse a request that holds it. Its result says what was wrong.
fn arguments(call: &ToolCall) -> Map<String, Value> {
    call.arguments.as_ref().map_or_else(
        |_unreadable| Map::new(),
        |arguments| {
            let mut arguments = arguments.clone();
            arguments.values_mut().for_each(clean_value);
            arguments
        },
    )
}

fn clean_value(value: &mut Value) {
    match value {
        Value::String(text) if text.contains('\0') => *text = clean(text),
        Value::Array(items) => items.iter_mut().for_each(clean_value),
        Value::Object(fields) => fields.values_mut().for_each(clean_value),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
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
