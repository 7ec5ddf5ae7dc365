//! Tool calls, put together from their fragments.
//!
//! Servers disagree about what tells two calls apart: the index (all zero on some), the id (missing on some, new with every fragment on
//! others), the name (repeated on some).

use model::ToolCall;
use serde_json::{Map, Value};

use crate::answer::made_id;
use crate::arguments;

#[derive(Debug, Default)]
struct Slot {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Slot>);

/// What a fragment did.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Added {
    /// A call got its name.
    Began(String),
    /// Nothing that shows.
    More,
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes one element of `tool_calls`.
    pub(super) fn add(&mut self, fragment: &Value) -> Added {
        let index = fragment.get("index").and_then(Value::as_u64);
        let id = match fragment.get("id") {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let function = fragment.get("function").unwrap_or(fragment);
        let name = function
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let at = self.slot_for(index, &id, name);
        let Some(slot) = self.0.get_mut(at) else {
            return Added::More;
        };
        if slot.id.is_empty() {
            slot.id = id;
        }
        match function.get("arguments") {
            Some(Value::String(piece)) => slot.arguments.push_str(piece),
            Some(
                whole @ (Value::Object(_) | Value::Array(_) | Value::Bool(_) | Value::Number(_)),
            ) => {
                slot.arguments = whole.to_string();
            }
            Some(Value::Null) | None => {}
        }
        if slot.name.is_empty() && !name.is_empty() {
            name.clone_into(&mut slot.name);
            return Added::Began(name.to_owned());
        }
        Added::More
    }

    fn slot_for(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let found = if id.is_empty() {
            self.without_id(index, name)
        } else {
            self.with_id(index, id, name)
        };
        found.unwrap_or_else(|| {
            self.0.push(Slot {
                index,
                ..Slot::default()
            });
            self.0.len() - 1
        })
    }

    fn with_id(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let same = self.0.iter().rposition(|slot| {
            let other_call =
                !name.is_empty() && index.is_some() && slot.index.is_some() && slot.index != index;
            slot.id == id && !other_call
        });
        same.or_else(|| {
            let at = self.latest(index)?;
            let slot = self.0.get(at)?;
            // A nameless fragment continues; so does one that brings the id late.
            (name.is_empty() || (slot.id.is_empty() && slot.name.is_empty())).then_some(at)
        })
    }

    fn without_id(&self, index: Option<u64>, name: &str) -> Option<usize> {
        let at = self.latest(index)?;
        let slot = self.0.get(at)?;
        let begins = !name.is_empty()
            && !slot.name.is_empty()
            && (slot.name != name || is_whole(&slot.arguments));
        (!begins).then_some(at)
    }

    /// The latest call at an index; without an index, the latest of all.
    fn latest(&self, index: Option<u64>) -> Option<usize> {
        match index {
            None => self.0.len().checked_sub(1),
            Some(_) => self.0.iter().rposition(|slot| slot.index == index),
        }
    }

    pub(super) fn finish(self, stream: &str) -> Vec<ToolCall> {
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.0.len());
        for (at, slot) in self.0.into_iter().enumerate() {
            let usable = !slot.id.is_empty() && calls.iter().all(|known| known.id != slot.id);
            let id = if usable { slot.id } else { made_id(stream, at) };
            calls.push(ToolCall {
                id,
                name: slot.name,
                arguments: arguments::read(&slot.arguments),
            });
        }
        calls
    }
}

fn is_whole(arguments: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(arguments).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn put_together(fragments: &Value) -> Vec<(String, String, String)> {
        let mut calls = Calls::default();
        for fragment in fragments.as_array().unwrap() {
            calls.add(fragment);
        }
        let shown = |call: ToolCall| {
            let arguments = call.arguments.map_or_else(
                |raw| format!("!{raw}"),
                |fine| Value::Object(fine).to_string(),
            );
            (call.id, call.name, arguments)
        };
        calls.finish("s1").into_iter().map(shown).collect()
    }

    fn check(what: &str, fragments: &Value, expected: &[(&str, &str, &str)]) {
        let found = put_together(fragments);
        let found: Vec<_> = found
            .iter()
            .map(|(id, name, arguments)| (id.as_str(), name.as_str(), arguments.as_str()))
            .collect();
        assert_eq!(found, expected, "{what}");
    }

    #[test]
    fn ways_to_tell_calls_apart() {
        let one = |index: u64, id: &str, name: &str, arguments: &str| json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } });
        let more = |index: u64, arguments: &str| json!({ "index": index, "function": { "arguments": arguments } });
        check(
            "by the book",
            &json!([
                one(0, "a", "x", ""),
                more(0, "{\"n\""),
                more(0, ":1}"),
                one(1, "b", "y", ""),
                more(1, "{}")
            ]),
            &[("a", "x", "{\"n\":1}"), ("b", "y", "{}")],
        );
        check(
            "interleaved",
            &json!([
                one(0, "a", "x", "{\"n\""),
                one(1, "b", "y", "{\"m\""),
                more(0, ":1}"),
                more(1, ":2}")
            ]),
            &[("a", "x", "{\"n\":1}"), ("b", "y", "{\"m\":2}")],
        );
        check(
            "all at index 0, told apart by id",
            &json!([
                one(0, "a", "x", "{}"),
                one(0, "b", "x", "{\"n\""),
                more(0, ":2}")
            ]),
            &[("a", "x", "{}"), ("b", "x", "{\"n\":2}")],
        );
        check(
            "all at index 0, no ids",
            &json!([one(0, "", "x", "{\"n\":1}"), one(0, "", "x", "{\"n\":2}")]),
            &[
                ("call_s1_0", "x", "{\"n\":1}"),
                ("call_s1_1", "x", "{\"n\":2}"),
            ],
        );
        check(
            "a new id with every fragment",
            &json!([
                one(0, "a", "x", "{\"n\""),
                one(0, "b", "", ":1"),
                one(0, "c", "", "}")
            ]),
            &[("a", "x", "{\"n\":1}")],
        );
        check(
            "id and name repeated",
            &json!([one(0, "a", "x", "{\"n\""), one(0, "a", "x", ":1}")]),
            &[("a", "x", "{\"n\":1}")],
        );
        check(
            "the name repeated without an id",
            &json!([one(0, "", "x", "{\"n\""), one(0, "", "x", ":1}")]),
            &[("call_s1_0", "x", "{\"n\":1}")],
        );
        check(
            "one id for two calls",
            &json!([one(0, "a", "x", "{}"), one(1, "a", "y", "{}")]),
            &[("a", "x", "{}"), ("call_s1_1", "y", "{}")],
        );
        check(
            "no index at all",
            &json!([
                { "id": "a", "function": { "name": "x", "arguments": "{\"n\"" } },
                { "function": { "arguments": ":1}" } },
                { "id": "b", "function": { "name": "y", "arguments": "{}" } },
            ]),
            &[("a", "x", "{\"n\":1}"), ("b", "y", "{}")],
        );
        check(
            "the id comes late, and is a number",
            &json!([{ "index": 0 }, { "index": 0, "id": 7, "function": { "name": "x", "arguments": "{}" } }]),
            &[("7", "x", "{}")],
        );
    }

    #[test]
    fn forms_of_arguments() {
        for (form, expected) in [
            (json!(""), "{}"),
            (json!(" "), "{}"),
            (Value::Null, "{}"),
            (json!("null"), "{}"),
            (json!({ "n": 1 }), "{\"n\":1}"),
            (json!("{\"n\":1}"), "{\"n\":1}"),
            (json!("\"{\\\"n\\\":1}\""), "{\"n\":1}"),
            (json!("{}{\"n\":1}"), "{\"n\":1}"),
            (json!("[1]"), "![1]"),
            (
                json!("{\"ops\":[{\"action\":\"delete\",\"path\":\"/tmp/x"),
                "!{\"ops\":[{\"action\":\"delete\",\"path\":\"/tmp/x",
            ),
        ] {
            let fragment =
                json!([{ "index": 0, "id": "a", "function": { "name": "x", "arguments": form } }]);
            check(&form.to_string(), &fragment, &[("a", "x", expected)]);
        }
        check(
            "absent",
            &json!([{ "index": 0, "id": "a", "function": { "name": "x" } }]),
            &[("a", "x", "{}")],
        );
    }
}
