//! What the provider takes of a JSON Schema. It refuses a request whose tools say anything else.

use serde_json::{Map, Value};

/// Keywords with a plain value (the provider's reference, `FunctionDeclaration.parametersJsonSchema`).
const PLAIN: &[&str] = &[
    "type",
    "format",
    "title",
    "description",
    "enum",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "required",
    "$ref",
    "$id",
    "$anchor",
];
/// Keywords whose value is a schema.
const ONE: &[&str] = &["items", "additionalProperties"];
/// Keywords whose value is a list of schemas.
const MANY: &[&str] = &["anyOf", "oneOf", "prefixItems"];
/// Keywords whose value names schemas.
const NAMED: &[&str] = &["properties", "$defs"];
/// Deeper schemas are cut: a request must not fail for one tool.
const DEEPEST: usize = 32;

/// The schema without what would be refused.
pub(super) fn accepted(schema: &Value) -> Value {
    part(schema, DEEPEST)
}

fn part(schema: &Value, deep: usize) -> Value {
    let (Some(fields), Some(deeper)) = (schema.as_object(), deep.checked_sub(1)) else {
        return if schema.is_boolean() {
            schema.clone()
        } else {
            Value::Object(Map::new())
        };
    };
    let mut kept = Map::new();
    for (name, value) in fields {
        let word = name.as_str();
        let value = if PLAIN.contains(&word) {
            value.clone()
        } else if ONE.contains(&word) {
            part(value, deeper)
        } else if MANY.contains(&word) {
            let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
            all.iter().map(|one| part(one, deeper)).collect()
        } else if NAMED.contains(&word) {
            let named = value.as_object().into_iter().flatten();
            let named = named.map(|(name, one)| (name.clone(), part(one, deeper)));
            Value::Object(named.collect())
        } else if word == "const" {
            // The same in a word that it takes.
            kept.insert("enum".to_owned(), Value::Array(vec![value.clone()]));
            continue;
        } else {
            continue;
        };
        kept.insert(name.clone(), value);
    }
    kept.into()
}
