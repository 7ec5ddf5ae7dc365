//! The forms of what goes in and out.

use chat_web::LONGEST_TEXT;
use serde_json::{Value, json};

use crate::files;

/// A reference to one of [`all`].
pub(crate) fn one(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

pub(crate) fn text() -> Value {
    json!({ "type": "string" })
}

pub(crate) fn whole() -> Value {
    json!({ "type": "integer", "format": "int64" })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}

fn many(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn hash() -> Value {
    json!({ "type": "string", "pattern": "^[0-9a-f]{64}$", "description": "BLAKE3 of the bytes." })
}

fn moment() -> Value {
    json!({ "type": "integer", "format": "int64", "description": "Milliseconds since 1970." })
}

/// All of these fields.
fn object(properties: &Value) -> Value {
    let required: Vec<&String> = properties
        .as_object()
        .into_iter()
        .flat_map(|all| all.keys())
        .collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

/// Some more fields that need not be there.
fn and_maybe(mut object: Value, name: &str, schema: Value) -> Value {
    object["properties"][name] = schema;
    object
}

/// A parameter of a path, by its name there.
pub(crate) fn in_path(name: &str) -> Value {
    let (schema, description) = match name {
        "id" => (text(), "The conversation."),
        "profile" => (text(), "The profile that the file belongs to."),
        "hash" => (hash(), "The file."),
        "name" => (text(), "The name to save it under. Any will do."),
        _ => (text(), ""),
    };
    json!({ "in": "path", "name": name, "required": true, "schema": schema, "description": description })
}

pub(crate) fn all() -> Value {
    json!({
        "Error": error(),
        "Status": status(),
        "Conversation": object(&json!({
            "id": text(), "profile": text(), "title": text(), "touched_at": moment(),
        })),
        "Entry": entry(),
        "File": object(&json!({
            "name": text(),
            "size": whole(),
            "mime": text(),
            "look": { "type": "string", "enum": ["image", "audio", "video", "card"] },
            "url": text(),
        })),
        "StoredFile": object(&json!({
            "hash": hash(), "name": text(), "size": whole(), "mime": text(), "url": text(),
        })),
        "NewMessage": new_message(),
        "Preview": object(&json!({
            "html": { "type": "string", "description": "The answer so far. Replaces the one before." },
        })),
        "Activity": activity(),
        "Run": object(&json!({ "after": whole(), "busy": flag(), "steps": many(&one("Step")) })),
        "Step": object(&json!({
            "id": text(),
            "tool": text(),
            "detail": text(),
            "result": { "type": ["string", "null"], "description": "`null` while it runs." },
            "failed": flag(),
        })),
        "Nothing": object(&json!({})),
    })
}

fn error() -> Value {
    let codes = [
        "host",
        "late",
        "logged_out",
        "malformed",
        "method",
        "not_found",
        "origin",
        "too_large",
        "unavailable",
    ];
    object(&json!({ "error": object(&json!({
        "code": { "type": "string", "enum": codes, "description": "For programs." },
        "text": { "type": "string", "description": "For people: what is wrong, and what to do." },
    })) }))
}

fn status() -> Value {
    let profile = object(&json!({ "id": text(), "model": text() }));
    let channel = object(&json!({ "name": text(), "kind": text(), "ok": flag(), "text": text() }));
    object(&json!({
        "ready": flag(), "profiles": many(&profile), "sandbox": text(), "channels": many(&channel),
    }))
}

fn entry() -> Value {
    let entry = object(&json!({
        "id": whole(),
        "author": { "type": "string", "enum": ["person", "agent"] },
        "at": moment(),
        "files": many(&one("File")),
        "may_be_repeat": { "type": "boolean", "description": "It may have been shown before." },
    }));
    let said =
        json!({ "type": "string", "description": "A person's words, as they were written." });
    let answered = json!({ "type": "string", "description": "An agent's words, as safe HTML." });
    let message =
        json!({ "type": "string", "description": "In events: the `id` that it was said with." });
    let entry = and_maybe(entry, "text", said);
    let entry = and_maybe(entry, "html", answered);
    and_maybe(entry, "message", message)
}

fn new_message() -> Value {
    let mut file = object(&json!({ "hash": hash(), "name": text() }));
    file["additionalProperties"] = false.into();
    let files = json!({ "type": "array", "maxItems": files::MOST, "items": file, "description": "Uploaded before." });
    let id = json!({
        "type": "string",
        "pattern": "^[A-Za-z0-9-]{1,64}$",
        "description": "Yours to choose, such as a UUID: the same one again means the same message.",
    });
    let words = json!({ "type": "string", "maxLength": LONGEST_TEXT, "description": "May be empty if there are files." });
    let message = object(&json!({ "id": id }));
    let message = and_maybe(message, "text", words);
    let mut message = and_maybe(message, "files", files);
    message["additionalProperties"] = false.into();
    message
}

/// How a turn goes: all of it, its begin, or a step of it.
fn activity() -> Value {
    let busy = object(&json!({ "after": whole() }));
    json!({ "oneOf": [
        object(&json!({ "run": one("Run") })),
        object(&json!({ "busy": busy })),
        object(&json!({ "step": one("Step") })),
    ] })
}
