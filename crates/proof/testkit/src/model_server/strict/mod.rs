//! What the closed services refuse, protocol by protocol. The first rule that a request breaks is said.

mod chat;
mod gemini;
mod messages;
mod ollama;
mod responses;

use serde_json::Value;

use super::{Recorded, Wire};

/// A rule holds, or this is how it was broken.
type Held = Result<(), String>;

/// Why the request would be refused, if it would.
pub(super) fn refusal(asked: &Recorded) -> Option<String> {
    let body = &asked.body;
    match asked.wire {
        Wire::Chat => chat::refusal(body),
        Wire::Responses => responses::rules(body).err(),
        Wire::Messages => {
            let version = asked.headers.get("anthropic-version");
            if version.is_none() {
                return Some("the header 'anthropic-version' is missing".to_owned());
            }
            messages::rules(body).err()
        }
        Wire::Ollama => ollama::rules(body).err(),
        Wire::Gemini => gemini::rules(&asked.model, body).err(),
    }
}

/// Calls, and the results that they wait for.
#[derive(Default)]
struct Pairs {
    waiting: Vec<String>,
    known: Vec<String>,
}

impl Pairs {
    fn call(&mut self, id: &str) -> Held {
        if self.known.iter().any(|known| known == id) {
            return Err(format!("two calls have the id '{id}'"));
        }
        self.known.push(id.to_owned());
        self.waiting.push(id.to_owned());
        Ok(())
    }

    fn result(&mut self, id: &str) -> Held {
        let found = self.waiting.iter().position(|call| call == id);
        let found = found.ok_or_else(|| format!("'{id}' answers no open call"))?;
        self.waiting.remove(found);
        Ok(())
    }

    fn settled(&self) -> Held {
        if self.waiting.is_empty() {
            Ok(())
        } else {
            Err(format!("the calls {:?} were not answered", self.waiting))
        }
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A list with something in it.
fn list<'a>(value: &'a Value, field: &str) -> Result<&'a [Value], String> {
    match value.get(field).and_then(Value::as_array) {
        Some(list) if !list.is_empty() => Ok(list),
        Some(_) => Err(format!("'{field}' must not be an empty list")),
        None => Err(format!("'{field}' must be a list")),
    }
}

/// A list, or nothing.
fn perhaps<'a>(value: &'a Value, field: &str) -> Result<&'a [Value], String> {
    match value.get(field) {
        None => Ok(&[]),
        Some(_) => list(value, field),
    }
}

fn only(value: &Value, allowed: &[&str]) -> Held {
    let fields = value.as_object().ok_or("an object is wanted")?;
    let odd = fields.keys().find(|name| !allowed.contains(&name.as_str()));
    match odd {
        Some(name) => Err(format!("the field '{name}' is unknown")),
        None => Ok(()),
    }
}

fn says_something(words: &str) -> Held {
    if words.trim().is_empty() {
        Err("a text is empty".to_owned())
    } else {
        Ok(())
    }
}

/// A name or an id of letters, digits, `_` and `-`.
fn plain(name: &str, longest: usize) -> Held {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if (1..=longest).contains(&name.len()) && name.bytes().all(fits) {
        Ok(())
    } else {
        Err(format!(
            "'{name}' is no name: up to {longest} letters, digits, '_' and '-'"
        ))
    }
}

/// Arguments as a text.
fn arguments(raw: &str) -> Held {
    let value: Value =
        serde_json::from_str(raw).map_err(|error| format!("arguments are no JSON: {error}"))?;
    if value.is_object() {
        Ok(())
    } else {
        Err("arguments must be an object".to_owned())
    }
}

/// A picture in a data address.
fn data_url(url: &str) -> Held {
    let data = url
        .strip_prefix("data:image/")
        .and_then(|rest| rest.split_once(";base64,"));
    match data {
        Some((_, data)) => base64(data),
        None if url.starts_with("https://") => Ok(()),
        None => Err("a picture's address is none".to_owned()),
    }
}

fn base64(data: &str) -> Held {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    if !data.is_empty() && data.len().is_multiple_of(4) && data.bytes().all(fits) {
        Ok(())
    } else {
        Err("a picture is no base64".to_owned())
    }
}

/// What a model may call: a name of its own, and a schema of an object.
fn tool(name: &str, schema: Option<&Value>, known: &mut Vec<String>) -> Held {
    plain(name, 64)?;
    if known.iter().any(|other| other == name) {
        return Err(format!("two tools are called '{name}'"));
    }
    known.push(name.to_owned());
    match schema.map(|schema| text(schema, "type")) {
        Some("object") => Ok(()),
        Some(_) | None => Err(format!("the schema of '{name}' must be of an object")),
    }
}

/// Says where.
fn at(place: &str, number: usize, held: Held) -> Held {
    held.map_err(|what| format!("{place}[{number}]: {what}"))
}

fn model(body: &Value) -> Held {
    if text(body, "model").is_empty() {
        return Err("'model' must be a name".to_owned());
    }
    Ok(())
}
