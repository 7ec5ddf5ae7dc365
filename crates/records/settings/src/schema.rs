//! The table of keys, for programs (JSON Schema) and for people (the reference in the documentation).

use serde_json::{Map, Value, json};

use crate::keys::ROOT;
use crate::rule::IdRule;
use crate::shape::{Floor, Key, Kind, Preset};

/// The JSON Schema (2020-12) of `tidings.toml`. `docs/tidings.schema.json` keeps it, pretty-printed with a line end.
#[must_use]
pub fn schema() -> Value {
    let mut schema = table(ROOT);
    if let Some(map) = schema.as_object_mut() {
        map.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        map.insert("title".to_owned(), json!("tidings.toml"));
    }
    schema
}

fn table(keys: &[Key]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| (key.name.to_owned(), property(key)))
        .collect();
    let required: Vec<&str> = keys
        .iter()
        .filter(|key| key.required)
        .map(|key| key.name)
        .collect();
    let mut schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    if let (false, Some(map)) = (required.is_empty(), schema.as_object_mut()) {
        map.insert("required".to_owned(), json!(required));
    }
    schema
}

fn property(key: &Key) -> Value {
    let mut schema = kind(&key.kind);
    if let Some(map) = schema.as_object_mut() {
        let about = match key.dormant {
            Some(instead) => format!("{} Not in force in this version: {instead}.", key.about),
            None => key.about.to_owned(),
        };
        map.insert("description".to_owned(), json!(about));
        let preset = match key.preset {
            Preset::Nothing => None,
            Preset::Text(text) => Some(json!(text)),
            Preset::Integer(number) => Some(json!(number)),
            Preset::Number(number) => Some(json!(number)),
            Preset::Flag(flag) => Some(json!(flag)),
            Preset::EmptyList => Some(json!([])),
        };
        if let Some(preset) = preset {
            map.insert("default".to_owned(), preset);
        }
    }
    schema
}

fn kind(kind: &Kind) -> Value {
    match kind {
        Kind::Text(_) => json!({ "type": "string" }),
        Kind::Choice(names) => json!({ "enum": names }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Integer { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Number {
            floor: Floor::AboveZero,
            most,
        } => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": most }),
        Kind::Number {
            floor: Floor::Zero,
            most,
        } => json!({ "type": "number", "minimum": 0, "maximum": most }),
        Kind::Size { least, most } => json!({ "anyOf": [
            { "type": "integer", "minimum": least, "maximum": most },
            { "type": "string", "pattern": "^ *[0-9]+ *([kKmMgGtT]([iI]?[bB])?|[bB])? *$" },
        ] }),
        Kind::Id(rule) => {
            let (integer, pattern) = match rule {
                IdRule::Person | IdRule::Thread => (
                    json!({ "type": "integer", "minimum": 1 }),
                    r"^ *\+?[0-9]+ *$",
                ),
                IdRule::Group => (
                    json!({ "type": "integer", "maximum": -1 }),
                    r"^ *-[0-9]+ *$",
                ),
                IdRule::Chat => (
                    json!({ "type": "integer", "not": { "const": 0 } }),
                    r"^ *[+-]?[0-9]+ *$",
                ),
            };
            json!({ "anyOf": [integer, { "type": "string", "pattern": pattern }] })
        }
        Kind::Reference => {
            json!({ "type": "string", "pattern": "^(env:[A-Za-z0-9_]+|file:[A-Za-z0-9_-][A-Za-z0-9._-]*)$" })
        }
        Kind::List(of) => json!({ "type": "array", "items": self::kind(of) }),
        Kind::Table(keys) => table(keys),
        Kind::Map { of, .. } => {
            json!({ "type": "object", "additionalProperties": self::kind(of) })
        }
    }
}

/// The reference of all keys in Markdown. `docs/configuration.md` holds it between two marks.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    for key in ROOT {
        match &key.kind {
            Kind::Map {
                of: Kind::Table(keys),
                word,
                ..
            } => {
                heading(&mut text, &format!("[{}.{word}]", key.name), key.about);
                rows(&mut text, "", keys);
            }
            Kind::List(Kind::Table(keys)) => {
                heading(&mut text, &format!("[[{}]]", key.name), key.about);
                rows(&mut text, "", keys);
            }
            // The keys of [defaults] are those of a profile, and stand there.
            Kind::Table(_) if key.name == "defaults" => {
                heading(&mut text, "[defaults]", key.about);
                text.push_str("The keys are those of `[profiles.PROFILE]`, below.\n\n");
            }
            Kind::Table(keys) => {
                heading(&mut text, &format!("[{}]", key.name), key.about);
                rows(&mut text, "", keys);
            }
            Kind::Text(_)
            | Kind::Choice(_)
            | Kind::Flag
            | Kind::Integer { .. }
            | Kind::Number { .. }
            | Kind::Size { .. }
            | Kind::Id(_)
            | Kind::Reference
            | Kind::List(_)
            | Kind::Map { .. } => {}
        }
    }
    text.trim_end().to_owned()
}

fn heading(text: &mut String, name: &str, about: &str) {
    text.push_str(&format!("### `{name}`\n\n{about}\n\n"));
}

fn rows(text: &mut String, prefix: &str, keys: &[Key]) {
    if prefix.is_empty() {
        text.push_str("| Key | Value | Default | Meaning |\n|---|---|---|---|\n");
    }
    for key in keys {
        let path = format!("{prefix}{}", key.name);
        match &key.kind {
            Kind::Table(inner) => rows(text, &format!("{path}."), inner),
            Kind::List(Kind::Table(inner)) => {
                row(text, &path, key);
                rows(text, &format!("{path}[]."), inner);
            }
            Kind::Map {
                of: Kind::Table(inner),
                word,
                ..
            } => {
                row(text, &path, key);
                rows(text, &format!("{path}.{word}."), inner);
            }
            Kind::Text(_)
            | Kind::Choice(_)
            | Kind::Flag
            | Kind::Integer { .. }
            | Kind::Number { .. }
            | Kind::Size { .. }
            | Kind::Id(_)
            | Kind::Reference
            | Kind::List(_)
            | Kind::Map { .. } => {
                row(text, &path, key);
            }
        }
    }
    if prefix.is_empty() {
        text.push('\n');
    }
}

fn row(text: &mut String, path: &str, key: &Key) {
    let preset = match (key.required, key.preset.value()) {
        (true, _) => "required".to_owned(),
        (false, None) => "–".to_owned(),
        (false, Some(crate::tree::Value::Integer(bytes)))
            if matches!(key.kind, Kind::Size { .. }) =>
        {
            format!("`\"{}m\"`", bytes >> 20)
        }
        (false, Some(value)) => format!("`{value}`"),
    };
    let dormant = match key.dormant {
        Some(instead) => format!(" **Not in force yet**: {instead}."),
        None => String::new(),
    };
    let value = value_words(&key.kind);
    text.push_str(&format!(
        "| `{path}` | {value} | {preset} | {}{dormant} |\n",
        key.about
    ));
}

fn value_words(kind: &Kind) -> String {
    match kind {
        Kind::Text(_) => "text".to_owned(),
        Kind::Choice(names) => names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", "),
        Kind::Flag => "`true`, `false`".to_owned(),
        Kind::Integer { least, most } => format!("{least} to {most}"),
        Kind::Number {
            floor: Floor::AboveZero,
            most,
        } => format!("more than 0, at most {most}"),
        Kind::Number {
            floor: Floor::Zero,
            most,
        } => format!("0 to {most}"),
        Kind::Size { .. } => "size".to_owned(),
        Kind::Id(_) => "id".to_owned(),
        Kind::Reference => "`env:NAME`, `file:NAME`".to_owned(),
        Kind::List(Kind::Table(_)) => "list of tables".to_owned(),
        Kind::List(of) => format!("list: {}", value_words(of)),
        Kind::Table(_) => "table".to_owned(),
        Kind::Map {
            of: Kind::Table(_), ..
        } => "tables".to_owned(),
        Kind::Map { of, .. } => format!("table: {}", value_words(of)),
    }
}
