//! A server's list of tools, page by page, as far as it is believed.

use std::collections::{BTreeMap, BTreeSet};

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient};
use serde_json::Value;
use tool::Effect;

use crate::{schema, text};

/// Most tools of one server. What is beyond is not offered: no model chooses well among so many.
const MOST: usize = 500;
/// Most pages: a server may send each tool alone, and no list goes on for ever.
const PAGES: usize = 500;
/// Characters of a description that a model reads (OpenAI takes 1,024).
const DESCRIPTION: usize = 1_000;
/// Longest name of a tool: the protocol asks for 128 at most.
const NAME: usize = 256;

/// A tool as its server lists it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Listed {
    /// The server's own name of it.
    pub(crate) name: String,
    /// What it says it does, cut and cleaned.
    pub(crate) description: String,
    /// The schema of its arguments, fit for every provider.
    pub(crate) schema: Value,
    pub(crate) effect: Effect,
    /// Of everything that a decision hangs on, as the server sent it.
    pub(crate) hash: String,
}

impl Listed {
    /// A tool whose schema may be shown.
    #[cfg(test)]
    pub(crate) fn new(name: &str, description: &str, given: &Value, effect: Effect) -> Self {
        Self {
            name: name.to_owned(),
            description: text::clean(description, DESCRIPTION),
            schema: schema::fitting(given).unwrap_or_default(),
            effect,
            hash: hash(name, description, given, effect),
        }
    }

    /// Reads one, from whatever stands in the list.
    fn read(given: &Value) -> Result<Self, String> {
        let word = |key: &str| given.get(key).and_then(Value::as_str);
        let name = word("name").filter(|name| !name.is_empty() && name.len() <= NAME);
        let name = name.ok_or("a tool without a usable name")?;
        let description = word("description")
            .or_else(|| word("title"))
            .unwrap_or_default();
        let arguments = given.get("inputSchema").unwrap_or(&Value::Null);
        let schema = schema::fitting(arguments).ok_or_else(|| {
            format!(
                "'{}', whose schema is larger than {} KB",
                text::line(name, 64),
                schema::LARGEST >> 10
            )
        })?;
        let hint = given
            .get("annotations")
            .and_then(|hints| hints.get("readOnlyHint"))
            .and_then(Value::as_bool);
        let effect = if hint == Some(true) {
            Effect::ReadOnly
        } else {
            Effect::Changes
        };
        Ok(Self {
            name: name.to_owned(),
            description: text::clean(description, DESCRIPTION),
            schema,
            effect,
            hash: hash(name, description, arguments, effect),
        })
    }
}

/// The hash that a change is known by. Whether it says that it only reads is part of it: that may spare a question.
fn hash(name: &str, description: &str, schema: &Value, effect: Effect) -> String {
    let mut hasher = blake3::Hasher::new();
    let effect = match effect {
        Effect::ReadOnly => "reads",
        Effect::Changes => "changes",
    };
    for part in [name, description, &canonical(schema).to_string(), effect] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// The same value with sorted keys: the order in which a server writes them means nothing.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.iter().map(canonical).collect()),
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
            Value::Object(
                sorted
                    .into_iter()
                    .map(|(key, value)| (key.clone(), canonical(value)))
                    .collect(),
            )
        }
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            plain.clone()
        }
    }
}

/// All tools of a server, sorted by name. Those that can't be offered are left out, and told in the log.
///
/// # Errors
/// Why there is no list, for people.
pub(crate) async fn list(
    peer: &Peer<RoleClient>,
    server: &str,
    only: Option<&BTreeSet<String>>,
) -> Result<Vec<Listed>, String> {
    let mut tools: BTreeMap<String, Listed> = BTreeMap::new();
    let mut left_out: Vec<String> = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES {
        let (page, next) = page(peer, cursor.take()).await?;
        for given in &page {
            match Listed::read(given) {
                Ok(tool) if only.is_some_and(|only| !only.contains(&tool.name)) => {}
                Ok(tool) if tools.len() < MOST => {
                    tools.entry(tool.name.clone()).or_insert(tool);
                }
                Ok(tool) => left_out.push(text::line(&tool.name, 64)),
                Err(why) => left_out.push(why),
            }
            left_out.truncate(MOST);
        }
        if next.is_none() || tools.len() >= MOST {
            break;
        }
        cursor = next;
    }
    if !left_out.is_empty() {
        let named: Vec<String> = left_out.iter().take(5).cloned().collect();
        tracing::warn!(
            server,
            count = left_out.len(),
            tools = named.join(", "),
            "tools of a server are not offered"
        );
    }
    Ok(tools.into_values().collect())
}

/// A page, and where the next one begins.
async fn page(
    peer: &Peer<RoleClient>,
    cursor: Option<String>,
) -> Result<(Vec<Value>, Option<String>), String> {
    let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
    let request = ClientRequest::ListToolsRequest(ListToolsRequest {
        method: rmcp::model::ListToolsRequestMethod,
        params,
        extensions: rmcp::model::Extensions::default(),
    });
    let asked = peer
        .send_request_with_option(request, PeerRequestOptions::no_options())
        .await
        .map_err(|error| format!("it was not asked for its tools: {error}"))?;
    let answer = asked
        .await_response()
        .await
        .map_err(|error| text::line(&format!("it did not list its tools: {error}"), 300))?;
    let mut answer = raw(answer)?;
    let next = answer
        .get("nextCursor")
        .and_then(Value::as_str)
        .filter(|cursor| !cursor.is_empty())
        .map(str::to_owned);
    match answer.get_mut("tools").map(Value::take) {
        Some(Value::Array(tools)) => Ok((tools, next)),
        _ => Err("it did not list its tools: its answer holds none".to_owned()),
    }
}

/// What was sent, whatever the protocol's library made of it: one tool that it can't read must not cost the others.
fn raw(answer: ServerResult) -> Result<Value, String> {
    if let ServerResult::CustomResult(custom) = answer {
        return Ok(custom.0);
    }
    serde_json::to_value(answer)
        .map_err(|error| format!("its list of tools can't be read: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_are_read_as_far_as_they_make_sense() {
        let read = |given: Value| Listed::read(&given);
        let good = read(json!({
            "name": "add", "description": "Adds.\u{202e}", "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true },
        }))
        .unwrap();
        assert_eq!(
            (good.description.as_str(), good.effect),
            ("Adds.", Effect::ReadOnly)
        );
        let bare = read(json!({ "name": "bare" })).unwrap();
        assert_eq!(bare.effect, Effect::Changes);
        assert_eq!(bare.schema, json!({ "type": "object", "properties": {} }));
        for bad in [
            json!(null),
            json!({}),
            json!({ "name": "" }),
            json!({ "name": 3 }),
            json!({ "name": "x".repeat(300) }),
            json!({ "name": "large", "inputSchema": { "description": "x".repeat(1 << 20) } }),
        ] {
            assert!(read(bad).is_err());
        }
        let long = read(json!({ "name": "long", "description": "x".repeat(10 << 20) })).unwrap();
        assert_eq!(long.description.chars().count(), DESCRIPTION);
    }

    #[test]
    fn a_hash_changes_with_every_word_that_is_read_and_with_no_other() {
        let base = json!({ "name": "a", "description": "d", "inputSchema": { "type": "object", "x": 1, "y": 2 } });
        let hash = |given: &Value| Listed::read(given).unwrap().hash;
        let with = |key: &str, value: Value| {
            let mut changed = base.clone();
            changed[key] = value;
            hash(&changed)
        };
        assert_eq!(
            hash(&base),
            with("inputSchema", json!({ "y": 2, "x": 1, "type": "object" }))
        );
        assert_eq!(hash(&base), with("_meta", json!({ "version": 2 })));
        for changed in [
            with("name", json!("b")),
            with("description", json!("d2")),
            // Behind what is shown.
            with("description", json!("d".repeat(5_000))),
            with("inputSchema", json!({ "type": "object", "x": 1, "y": 3 })),
            with("annotations", json!({ "readOnlyHint": true })),
        ] {
            assert_ne!(hash(&base), changed);
        }
    }
}
