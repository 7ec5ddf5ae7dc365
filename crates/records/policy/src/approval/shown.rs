//! What a person reads before they say yes: exactly what will be done, without tricks.

use std::fmt;

use serde_json::{Map, Value};

/// Most characters of one argument; more are counted, head and tail shown.
const ARGUMENT: usize = 320;
/// Most arguments.
const ARGUMENTS: usize = 12;
/// Most characters of all arguments together.
const ALL: usize = 1_400;

/// BLAKE3 of a call: the tool, and its arguments with sorted keys. An approval is bound to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of a call.
    #[must_use]
    pub fn of(tool: &str, arguments: &Map<String, Value>) -> Self {
        let mut text = String::new();
        sorted(&Value::Object(arguments.clone()), &mut text);
        let mut hasher = blake3::Hasher::new_derive_key("tidings approvals 2026-11 a call");
        hasher.update(&(tool.len() as u64).to_le_bytes());
        hasher.update(tool.as_bytes());
        hasher.update(text.as_bytes());
        Self(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for Fingerprint {
    /// The first 48 bits: enough to compare by eye what was asked with what the log says was done.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .take(6)
            .try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

/// JSON with sorted keys, so that the same arguments are the same text.
fn sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort();
            out.push('{');
            for key in keys {
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                sorted(fields.get(key).unwrap_or(&Value::Null), out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                sorted(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

/// A text in one line in which everything can be seen: what has no shape of its own or changes how others are read is written as
/// its number, and so is every sign of an address that is not plain. Longer ones show head and tail and how much is between.
#[must_use]
pub fn plain(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text
            .chars()
            .map(Sign)
            .map(|sign| sign.to_string())
            .collect();
    }
    let tail = most / 4;
    let head = most - tail;
    let shown = |signs: &mut dyn Iterator<Item = char>| -> String {
        signs.map(Sign).map(|sign| sign.to_string()).collect()
    };
    format!(
        "{} […{} more characters…] {}",
        shown(&mut text.chars().take(head)),
        count - most,
        shown(&mut text.chars().skip(count - tail))
    )
}

/// One sign, as it is shown.
struct Sign(char);

impl fmt::Display for Sign {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            '\n' => out.write_str("\\n"),
            '\t' => out.write_str("\\t"),
            '\r' => out.write_str("\\r"),
            sign if hides(sign) => write!(out, "\\u{{{:x}}}", u32::from(sign)),
            sign => write!(out, "{sign}"),
        }
    }
}

/// Signs that can't be seen or change the order of others (Unicode: controls, formats, separators, fillers, private use).
fn hides(sign: char) -> bool {
    sign.is_control()
        || (sign.is_whitespace() && sign != ' ')
        || matches!(sign,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}')
}

/// The arguments of a call, one a line, in the order of their names: `name: value`.
#[must_use]
pub fn shown(arguments: &Map<String, Value>) -> String {
    let mut names: Vec<&String> = arguments.keys().collect();
    names.sort();
    let mut lines = Vec::new();
    let mut room = ALL;
    for (number, name) in names.iter().enumerate() {
        if number == ARGUMENTS || room == 0 {
            lines.push(format!("[…{} more arguments…]", names.len() - number));
            break;
        }
        let value = match arguments.get(*name) {
            Some(Value::String(text)) if text.contains("://") => ascii(text),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => continue,
        };
        let line = format!("{}: {}", plain(name, 40), plain(&value, ARGUMENT.min(room)));
        room = room.saturating_sub(line.chars().count());
        lines.push(line);
    }
    lines.join("\n")
}

/// An address whose letters are what they look like.
fn ascii(address: &str) -> String {
    let mut out = String::with_capacity(address.len());
    for sign in address.chars() {
        if sign.is_ascii() {
            out.push(sign);
        } else {
            out.push_str(&format!("\\u{{{:x}}}", u32::from(sign)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn nothing_that_is_asked_for_can_hide() {
        let evil = map(json!({
            "command": "echo hi\u{202e}fr- mr\u{2066}\u{200b}\n\n\n\n\n\nrm -rf ~",
            "address": "https://аpple.example/\u{e0041}",
        }));
        let shown = shown(&evil);
        assert_eq!(
            shown,
            "address: https://\\u{430}pple.example/\\u{e0041}\n\
             command: echo hi\\u{202e}fr- mr\\u{2066}\\u{200b}\\n\\n\\n\\n\\n\\nrm -rf ~"
        );
        assert!(shown.chars().all(|sign| sign == '\n' || !hides(sign)));
    }

    #[test]
    fn what_is_long_shows_its_end_and_how_much_is_between() {
        let text = format!("{}rm -rf ~", "a ".repeat(5_000));
        let shown = plain(&text, 100);
        assert!(shown.ends_with("rm -rf ~"), "{shown}");
        assert!(shown.contains("[…9908 more characters…]"), "{shown}");
        assert!(shown.chars().count() < 140);
        let many: Map<String, Value> = (0..100)
            .map(|n| (format!("a{n:03}"), json!("x".repeat(500))))
            .collect();
        assert!(super::shown(&many).chars().count() < 2_200);
    }

    #[test]
    fn the_same_call_has_the_same_fingerprint_and_another_has_not() {
        let of = |tool: &str, value| Fingerprint::of(tool, &map(value)).to_string();
        let one = of("send", json!({"to": "a", "text": "b"}));
        assert_eq!(one, of("send", json!({"text": "b", "to": "a"})));
        assert_eq!(one.len(), 12);
        for (tool, value) in [
            ("send", json!({"to": "a", "text": "b "})),
            ("send", json!({"to": "a,", "text": "b"})),
            ("sendt", json!({"to": "a", "text": "b"})),
            ("send", json!({"to": "a"})),
            ("send", json!({"to": ["a"], "text": "b"})),
        ] {
            assert_ne!(one, of(tool, value));
        }
    }
}
