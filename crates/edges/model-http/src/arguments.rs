//! A call's arguments, as the model wrote them.

use serde_json::{Map, Value};

/// What is kept of arguments that can't be read, in characters.
const KEPT_RAW: usize = 4000;

/// Nothing is repaired: brackets closed by guess would run what the model did not say.
pub(crate) fn read(raw: &str) -> Result<Map<String, Value>, String> {
    let text = raw.trim();
    if text.is_empty() || text == "null" {
        return Ok(Map::new());
    }
    // Some bridges put the empty arguments that a call began with before the real ones.
    let text = text
        .strip_prefix("{}")
        .filter(|rest| rest.starts_with('{'))
        .unwrap_or(text);
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        // Encoded twice: the text of an object is still exactly that object.
        Ok(Value::String(inner)) => serde_json::from_str(&inner).map_err(|_no_object| kept(raw)),
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | Err(_) => {
            Err(kept(raw))
        }
    }
}

fn kept(raw: &str) -> String {
    raw.chars().take(KEPT_RAW).collect()
}
