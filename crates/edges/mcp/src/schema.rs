//! The schema of a tool's arguments, made fit for every provider.

use serde_json::{Map, Value, json};

/// Largest schema in bytes: it is read by the model in every call. What is larger is not offered.
pub(crate) const LARGEST: usize = 32 << 10;
/// What some providers refuse at the top: there it must be one plain object (Anthropic: "input_schema does not support oneOf,
/// allOf, or anyOf at the top level"; OpenAI refuses `enum` and `not` there, too).
const NOT_AT_THE_TOP: [&str; 9] = [
    "$schema", "$id", "oneOf", "anyOf", "allOf", "enum", "const", "not", "if",
];

/// A schema that every provider takes, or `None` if it is too large. What a server says that is no schema at all becomes an object
/// with anything in it: the server checks its arguments itself.
pub(crate) fn fitting(schema: &Value) -> Option<Value> {
    let Value::Object(given) = schema else {
        return Some(json!({ "type": "object", "properties": {} }));
    };
    let mut fit: Map<String, Value> = given
        .iter()
        .filter(|(key, _)| !NOT_AT_THE_TOP.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    fit.insert("type".to_owned(), json!("object"));
    if !fit.get("properties").is_some_and(Value::is_object) {
        fit.insert("properties".to_owned(), json!({}));
    }
    let properties = fit.get("properties").and_then(Value::as_object);
    let names: Vec<String> = properties
        .into_iter()
        .flat_map(Map::keys)
        .cloned()
        .collect();
    if let Some(Value::Array(required)) = fit.remove("required") {
        // A name that is required and not there is refused by some.
        let is_known = |one: &Value| {
            one.as_str()
                .is_some_and(|one| names.iter().any(|name| name == one))
        };
        let known: Vec<Value> = required.into_iter().filter(is_known).collect();
        if !known.is_empty() {
            fit.insert("required".to_owned(), Value::Array(known));
        }
    }
    let fit = Value::Object(fit);
    (fit.to_string().len() <= LARGEST).then_some(fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_server_says_becomes_an_object() {
        for (given, fit) in [
            (
                json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"], "$schema": "http://json-schema.org/draft-07/schema#" }),
                json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] }),
            ),
            (json!({}), json!({ "type": "object", "properties": {} })),
            (json!(null), json!({ "type": "object", "properties": {} })),
            (json!(true), json!({ "type": "object", "properties": {} })),
            (
                json!({ "type": ["object", "null"], "properties": [] }),
                json!({ "type": "object", "properties": {} }),
            ),
            (
                json!({ "type": "object", "properties": {}, "required": ["gone"], "anyOf": [{ "required": ["gone"] }] }),
                json!({ "type": "object", "properties": {} }),
            ),
            (
                json!({ "type": "object", "properties": {}, "required": "a", "$defs": { "x": {} } }),
                json!({ "type": "object", "properties": {}, "$defs": { "x": {} } }),
            ),
        ] {
            assert_eq!(fitting(&given).unwrap(), fit, "{given}");
        }
    }

    #[test]
    fn a_schema_of_a_megabyte_is_refused() {
        let large = json!({ "type": "object", "description": "x".repeat(1 << 20) });
        assert_eq!(fitting(&large), None);
    }
}
