//! The forms of what goes in and out.

use chat_web::LONGEST_TEXT;
use outbox::{PartState, Verb};
use serde_json::{Value, json};

use crate::files;
use crate::servers::ToolServerState;

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

pub(crate) fn message_id() -> Value {
    json!({ "type": "string", "pattern": "^msg_[0-9a-f]{32}$" })
}

pub(crate) fn choice(names: &[&str]) -> Value {
    json!({ "type": "string", "enum": names })
}

pub(crate) fn states() -> Value {
    choice(&PartState::ALL.map(PartState::name))
}

/// This, or `null`.
fn maybe(mut schema: Value) -> Value {
    if let Some(kind) = schema.get("type").cloned() {
        schema["type"] = json!([kind, "null"]);
        if let Some(names) = schema["enum"].as_array_mut() {
            names.push(Value::Null);
        }
        return schema;
    }
    json!({ "oneOf": [schema, { "type": "null" }] })
}

fn told(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

/// All of these fields.
pub(crate) fn object(properties: &Value) -> Value {
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
pub(crate) fn in_path(path: &str, name: &str) -> Value {
    let (schema, description) = match name {
        "id" if path.starts_with("/api/outbox/") => (message_id(), "The parcel."),
        "id" if path.starts_with("/api/sandboxes/") => (text(), "The sandbox."),
        "id" => (text(), "The conversation."),
        "verb" => (
            choice(&Verb::ALL.map(Verb::name)),
            "`retry`: send it (again) at once. `cancel`: don't send it any more. `mark-sent`: it was seen to have arrived.",
        ),
        "profile" if path.starts_with("/api/mcp/") => (text(), "The profile."),
        "server" => (text(), "The server, by its name in the configuration."),
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
        "Progress": progress(),
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
        "NewTap": object(&json!({
            "id": { "type": "string", "description": "Yours: 1 to 64 letters, digits and `-`. The same again means the same tap." },
            "entry": { "type": "integer", "description": "The entry that shows the question." },
            "token": { "type": "string", "description": "Of the answer." },
        })),
        "TapAnswer": object(&json!({
            "says": { "type": ["string", "null"], "description": "What came of it; `null` if that is not known yet." },
            "over": { "type": "boolean", "description": "Whether the question can't be answered any more." },
        })),
        "Question": object(&json!({
            "id": text(),
            "choices": many(&object(&json!({ "token": text(), "label": text() }))),
        })),
        "Questions": object(&json!({
            "questions": many(&object(&json!({
                "id": text(),
                "outcome": { "type": ["string", "null"], "description": "`null` while it can be answered." },
            }))),
        })),
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
        "Sandbox": sandbox(),
        "ToolServer": tool_server(),
        "Usage": usage(),
        "Parcel": parcel(),
        "Part": part(),
        "Fault": fault(),
        "Death": death(),
        "Attempt": attempt(),
        "Acted": acted(),
    })
}

fn error() -> Value {
    let codes = [
        "conflict",
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
    let profile = object(&json!({
        "id": text(), "model": text(),
        "walls": told(text(), "Which walls its sandbox has; empty until that was looked at."),
    }));
    let channel = object(&json!({ "name": text(), "kind": text(), "ok": flag(), "text": text() }));
    object(&json!({
        "ready": flag(), "profiles": many(&profile), "sandbox": text(), "channels": many(&channel),
    }))
}

fn progress() -> Value {
    let progress = object(&json!({
        "state": { "type": "string", "enum": ["waits", "runs", "refused", "ended"] },
    }));
    let end = json!({
        "type": "string",
        "enum": ["answered", "interrupted", "steps_exhausted", "budget_exhausted", "halted", "failed"],
        "description": "How its turn ended.",
    });
    let reason = json!({ "type": "string", "description": "Why, where it was not answered." });
    let parts = json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "The state of each part of the answer, as the outbox names them.",
    });
    let progress = and_maybe(progress, "end", end);
    let progress = and_maybe(progress, "reason", reason);
    and_maybe(progress, "parts", parts)
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
    let written = json!({ "type": "string", "description": "An agent's words as markdown, where that was asked for." });
    let entry = and_maybe(entry, "markdown", written);
    let asked = json!({
        "allOf": [one("Question")],
        "description": "A question with answers to choose from; open only if an event `questions` says so.",
    });
    let entry = and_maybe(entry, "question", asked);
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

/// When, as text: the outbox speaks as the command line does.
fn instant() -> Value {
    json!({ "type": "string", "format": "date-time", "description": "RFC 3339, UTC." })
}

fn tool_server() -> Value {
    let states = [
        ToolServerState::Connecting,
        ToolServerState::Ready,
        ToolServerState::Away,
        ToolServerState::Changed,
        ToolServerState::Resting,
    ];
    let tool = object(&json!({
        "name": told(text(), "As models call it."),
        "description": text(),
        "reads_only": told(json!({ "type": "boolean" }), "Whether the server says that it changes nothing."),
    }));
    let waiting = object(&json!({
        "name": told(text(), "The server's own name of it."),
        "description": text(),
    }));
    object(&json!({
        "profile": text(),
        "name": told(text(), "Its name in the configuration."),
        "state": choice(&states.map(ToolServerState::name)),
        "cause": maybe(text()),
        "tries": told(whole(), "How often it was tried since it was there."),
        "tools": told(many(&tool), "What can be called now."),
        "waiting": told(many(&waiting), "New or different since the owner saw them, and not called before the owner accepts."),
        "question": maybe(told(text(), "What the owner says yes to, if something waits.")),
    }))
}

fn usage() -> Value {
    let dollars = || json!({ "type": "number", "minimum": 0 });
    let sum = json!({
        "calls": told(whole(), "Calls that were answered."),
        "unpriced_calls": told(whole(), "Of those, ones whose cost nobody knows: they are not in `usd`."),
        "input_tokens": told(whole(), "Read, cached ones included."),
        "cached_tokens": told(whole(), "Of those, read from a cache."),
        "output_tokens": whole(),
        "usd": dollars(),
    });
    let cap = object(&json!({
        "cap": choice(&["usd_per_day", "usd_per_month"]),
        "spent_usd": dollars(),
        "limit_usd": dollars(),
        "percent": told(whole(), "Over 100 where the last call went over it."),
        "resets": maybe(moment()),
    }));
    let profile = object(&json!({
        "profile": text(),
        "usd_per_turn": maybe(dollars()),
        "caps": many(&cap),
        "today": object(&sum),
        "month": object(&sum),
    }));
    let mut row = json!({
        "day": told(text(), "Of UTC, such as 2026-11-30: the one on which the turns ended."),
        "profile": text(),
        "model": text(),
    });
    if let (Some(row), Some(sum)) = (row.as_object_mut(), sum.as_object()) {
        row.extend(sum.clone());
    }
    object(&json!({
        "days": whole(),
        "profiles": told(many(&profile), "Running turns are in here already."),
        "rows": told(many(&object(&row)), "Turns that have ended."),
    }))
}

fn sandbox() -> Value {
    let process = object(&json!({
        "pid": whole(), "command": told(text(), "Not to be shown as markup."),
    }));
    let command = object(&json!({
        "at": instant(),
        "took": told(whole(), "Milliseconds."),
        "command": told(text(), "Not to be shown as markup."),
        "output": told(text(), "The end of what it said. Not to be shown as markup."),
        "failed": flag(),
    }));
    object(&json!({
        "id": text(),
        "profile": told(maybe(text()), "`null` where nobody knows whose it is."),
        "key": told(text(), "Which sandbox: `profile:…`, `session:…` or `task:…`."),
        "driver": told(text(), "How it is made, as `tidings.toml` has it."),
        "made_of": told(text(), "An image, a machine."),
        "state": choice(&["running", "stopped"]),
        "since": maybe(instant()),
        "lease": told(maybe(instant()), "When it ends, if nobody uses it until then."),
        "disk": told(maybe(whole()), "Bytes on the disk."),
        "memory": told(maybe(whole()), "Bytes in use."),
        "processes": many(&process),
        "commands": told(many(&command), "The last ones, the oldest first; forgotten when the gateway stops."),
    }))
}

fn parcel() -> Value {
    object(&json!({
        "id": message_id(),
        "state": told(states(), "Of the first part that has not arrived; else `sent`."),
        "profile": text(),
        "account": text(),
        "chat": told(text(), "The conversation's id on the platform."),
        "thread": maybe(text()),
        "kind": choice(&["reply", "cron", "task", "notice", "operator"]),
        "origin": told(text(), "What set it going."),
        "source": told(text(), "What made it; with `ordinal` unique."),
        "ordinal": whole(),
        "turn": maybe(text()),
        "task": maybe(text()),
        "parts": many(&one("Part")),
        "created_at": instant(),
        "expires_at": instant(),
    }))
}

fn part() -> Value {
    let file = object(&json!({
        "name": text(), "size": whole(), "mime": text(), "hash": hash(),
    }));
    let file = json!({ "oneOf": [file, { "type": "null" }] });
    object(&json!({
        "n": told(whole(), "From 1."),
        "op": choice(&["text", "photo", "document", "voice"]),
        "text": told(maybe(text()), "Its words, or those under its file. Not to be shown as markup."),
        "file": told(file, "Its bytes are at `/files/PROFILE/HASH/NAME`."),
        "state": states(),
        "tries": told(whole(), "Attempts that count: throttled ones don't."),
        "receipt": told(maybe(text()), "The platform's id of it."),
        "fault": maybe(one("Fault")),
        "next_at": told(maybe(instant()), "Not before then; `null` where it waits for nothing."),
        "rendition": told(whole(), "0 as it was composed, 1 in a plainer form."),
        "place": told(whole(), "Its place in its lane."),
        "way": choice(&["direct", "carried"]),
        "step": told(maybe(text()), "The last durable step of several."),
        "may_be_repeat": told(flag(), "It may be seen twice."),
        "forgotten": told(flag(), "Its words were dropped since."),
        "death": maybe(one("Death")),
        "verbs": told(many(&choice(&Verb::ALL.map(Verb::name))), "What can be done with it now."),
        "attempts": many(&one("Attempt")),
    }))
}

fn fault() -> Value {
    object(&json!({
        "kind": text(),
        "code": told(maybe(text()), "The platform's."),
        "text": told(text(), "What happened."),
        "meaning": told(text(), "What it means, and what to do."),
        "wait_ms": told(maybe(whole()), "The platform asked to wait so long."),
        "scope": maybe(choice(&["part", "lane", "account"])),
    }))
}

fn death() -> Value {
    object(&json!({
        "reason": text(),
        "at": instant(),
        "notice": told(maybe(message_id()), "The parcel that tells of it."),
        "resolution": maybe(choice(&Verb::ALL.map(Verb::name))),
        "resolved_at": maybe(instant()),
    }))
}

fn attempt() -> Value {
    object(&json!({
        "n": told(whole(), "From 1."),
        "started_at": instant(),
        "ended_at": told(maybe(instant()), "`null` while it runs, and where a crash cut it off."),
        "outcome": told(maybe(text()), "`sent`, `step`, `crashed`, or a fault's kind."),
        "detail": told(maybe(text()), "The platform's status and words."),
    }))
}

fn acted() -> Value {
    let touched = object(&json!({
        "part": whole(), "state": states(), "why": told(maybe(text()), "Why it was left."),
    }));
    object(&json!({
        "id": message_id(),
        "verb": choice(&Verb::ALL.map(Verb::name)),
        "changed": told(many(&touched), "With the state that they have now."),
        "left": told(many(&touched), "With the state that forbids it."),
    }))
}
