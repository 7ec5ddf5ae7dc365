//! What each route takes and gives.

use serde_json::{Value, json};

use crate::openapi::schemas::{message_id, object, one, states, text, whole};
use crate::parcels;
use crate::usage::MOST_DAYS;

/// What can't be read off a route's row.
pub(crate) struct Operation {
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    /// In query and headers; those in the path are added from it.
    pub(crate) parameters: Vec<Value>,
    pub(crate) body: Option<Value>,
    pub(crate) answers: Vec<(u16, Value)>,
    /// Besides those of the guards.
    pub(crate) refusals: Vec<u16>,
}

impl Operation {
    fn new(id: &'static str, summary: &'static str, answers: Vec<(u16, Value)>) -> Self {
        Self {
            id,
            summary,
            parameters: Vec::new(),
            body: None,
            answers,
            refusals: Vec::new(),
        }
    }
}

/// An answer or a body of this type.
fn content(description: &str, mime: &str, schema: &Value) -> Value {
    json!({ "description": description, "content": { mime: { "schema": schema } } })
}

fn data(description: &str, schema: &Value) -> Value {
    content(description, "application/json", schema)
}

fn words(description: &str, word: &str) -> Value {
    content(
        description,
        "text/plain",
        &json!({ "type": "string", "const": word }),
    )
}

fn page(description: &str) -> Value {
    content(description, "text/html", &text())
}

/// An answer of one list or one thing under a name.
fn under(name: &str, schema: &Value) -> Value {
    json!({ "type": "object", "required": [name], "properties": { name: schema } })
}

fn required(mut body: Value) -> Value {
    body["required"] = true.into();
    body
}

fn parameter(place: &str, name: &str, schema: &Value, description: &str) -> Value {
    json!({ "in": place, "name": name, "schema": schema, "description": description })
}

pub(crate) fn health() -> Operation {
    let said = json!({ "type": "string", "pattern": "^(ok|degraded: .+)$" });
    let lives = "The process lives: `ok`, or `degraded: ` and what is in trouble.";
    let answers = vec![(200, content(lives, "text/plain", &said))];
    Operation::new("health", "Is it alive? For probes.", answers)
}

pub(crate) fn ready() -> Operation {
    let answers = vec![
        (200, words("It takes messages.", "ready")),
        (503, words("It does not take messages now.", "not ready")),
    ];
    Operation::new("ready", "Does it take messages? For probes.", answers)
}

pub(crate) fn metrics() -> Operation {
    let numbers = content("Prometheus text, 0.0.4.", "text/plain", &text());
    Operation {
        refusals: vec![503],
        ..Operation::new(
            "metrics",
            "Numbers for a monitor; no chat's id and nobody's words are in them.",
            vec![(200, numbers)],
        )
    }
}

pub(crate) fn parcels() -> Operation {
    let next = json!({
        "oneOf": [message_id(), { "type": "null" }],
        "description": "To be asked with as `before` for older ones; `null`: there are none.",
    });
    let rows = json!({ "type": "array", "items": one("Parcel") });
    let list = object(&json!({ "messages": rows, "next": next }));
    let most = json!({ "type": "integer", "minimum": 1, "maximum": parcels::MOST });
    let query = |name: &str, schema: &Value, description: &str| {
        parameter("query", name, schema, description)
    };
    Operation {
        parameters: vec![
            query("state", &states(), "With a part in this state."),
            query("profile", &text(), "Of this profile."),
            query("account", &text(), "Of this account."),
            query(
                "chat",
                &text(),
                "To this conversation, by its id on the platform.",
            ),
            query("before", &message_id(), "Older than this one."),
            query("most", &most, "At most so many; 50 without it."),
        ],
        refusals: vec![400],
        ..Operation::new(
            "listParcels",
            "Whatever was sent or shall be sent, newest first.",
            vec![(200, data("Newest first.", &list))],
        )
    }
}

pub(crate) fn parcel() -> Operation {
    Operation {
        refusals: vec![404],
        ..Operation::new(
            "showParcel",
            "One parcel with its whole history.",
            vec![(200, data("It.", &one("Parcel")))],
        )
    }
}

pub(crate) fn act() -> Operation {
    let part = json!({ "type": "integer", "minimum": 1 });
    Operation {
        parameters: vec![parameter(
            "query",
            "part",
            &part,
            "Only this part; all of them without it.",
        )],
        refusals: vec![404, 409],
        ..Operation::new(
            "actOnParcel",
            "Sends a parcel again, takes it back, or counts it as arrived.",
            vec![(
                200,
                data("What was changed, and what was not.", &one("Acted")),
            )],
        )
    }
}

pub(crate) fn sandboxes() -> Operation {
    let rows = json!({ "type": "array", "items": one("Sandbox") });
    let away = json!({
        "type": "array", "items": text(),
        "description": "Why some may be missing: a sentence for each kind that could not be asked.",
    });
    let under_way = json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "What takes long just now, like an image that is fetched.",
    });
    let list = object(&json!({ "sandboxes": rows, "away": away, "under_way": under_way }));
    let answers = vec![(200, data("What stands now.", &list))];
    Operation::new(
        "listSandboxes",
        "The agents' sandboxes, and what runs in them.",
        answers,
    )
}

pub(crate) fn usage() -> Operation {
    let days = json!({ "type": "integer", "minimum": 1, "maximum": MOST_DAYS });
    Operation {
        parameters: vec![parameter(
            "query",
            "days",
            &days,
            "So many days (UTC), today included; 30 without it.",
        )],
        refusals: vec![400],
        ..Operation::new(
            "listUsage",
            "What models were used for by each profile and day, what that cost, and how full each limit is.",
            vec![(200, data("The latest day first.", &one("Usage")))],
        )
    }
}

pub(crate) fn tool_servers() -> Operation {
    let rows = json!({ "type": "array", "items": one("ToolServer") });
    let answers = vec![(
        200,
        data("How they are now.", &object(&json!({ "servers": rows }))),
    )];
    Operation::new(
        "listToolServers",
        "The servers whose tools the agents may call.",
        answers,
    )
}

pub(crate) fn accept_tools() -> Operation {
    let taken = object(&json!({ "accepted": text() }));
    let body = object(&json!({
        "question": { "type": "string", "description": "The server's own, so that the yes holds for what was shown." },
    }));
    Operation {
        body: Some(required(data("What was shown.", &body))),
        refusals: vec![400, 404, 409, 413],
        ..Operation::new(
            "acceptTools",
            "Lets the agents call what a server offers that is new or changed.",
            vec![(200, data("The word is taken.", &taken))],
        )
    }
}

pub(crate) fn stop_sandbox() -> Operation {
    let ended = object(&json!({ "stopped": text() }));
    Operation {
        refusals: vec![404, 409],
        ..Operation::new(
            "stopSandbox",
            "Ends a sandbox with all that runs in it. Its workspace and its home stay; the next command makes it anew.",
            vec![(200, data("It is ended.", &ended))],
        )
    }
}

pub(crate) fn describe() -> Operation {
    let answers = vec![(200, data("This.", &json!({ "type": "object" })))];
    Operation::new("describe", "This description.", answers)
}

pub(crate) fn enter() -> Operation {
    let cookie = json!({
        "description": "Logged in. (The same when the link is stale and the cookie is still good.)",
        "headers": {
            "Set-Cookie": { "schema": text(), "description": "The session's cookie, for 30 days." },
            "Location": { "required": true, "schema": { "type": "string", "const": "/" } },
        },
    });
    let stale = page("The link was used, is too old, or never was: a page that says so.");
    let answers = vec![(303, cookie), (401, stale)];
    let summary = "Uses a login link up, and gives a session's cookie. HEAD does not use it up.";
    let token = "From the link that `tidings login` prints.";
    Operation {
        parameters: vec![parameter("query", "token", &text(), token)],
        refusals: vec![400, 503],
        ..Operation::new("logIn", summary, answers)
    }
}

pub(crate) fn leave() -> Operation {
    let gone = json!({
        "description": "No session is open by this cookie any more.",
        "headers": {
            "Clear-Site-Data": { "required": true, "schema": { "type": "string", "const": "\"cache\"" } },
        },
    });
    Operation {
        refusals: vec![503],
        ..Operation::new("logOut", "Closes the session.", vec![(204, gone)])
    }
}

pub(crate) fn status() -> Operation {
    let answers = vec![(200, data("Now.", &one("Status")))];
    Operation::new("status", "How the gateway stands.", answers)
}

pub(crate) fn list() -> Operation {
    let rows = json!({ "type": "array", "items": one("Conversation") });
    let answers = vec![(200, data("The list.", &under("conversations", &rows)))];
    let summary = "The last 200 conversations, the one touched last first.";
    Operation::new("listConversations", summary, answers)
}

pub(crate) fn create() -> Operation {
    let body = under("profile", &text());
    let body = data("Who shall answer.", &closed(body));
    let answers = vec![(201, data("Made.", &one("Conversation")))];
    Operation {
        body: Some(required(body)),
        refusals: vec![400, 404, 413],
        ..Operation::new("makeConversation", "Makes a conversation.", answers)
    }
}

/// Fields that are not told are refused.
fn closed(mut schema: Value) -> Value {
    schema["additionalProperties"] = false.into();
    schema
}

pub(crate) fn messages() -> Operation {
    let both = json!({
        "type": "object",
        "required": ["conversation", "entries"],
        "properties": {
            "conversation": one("Conversation"),
            "entries": { "type": "array", "items": one("Entry") },
        },
    });
    let answers = vec![(200, data("Oldest first.", &both))];
    let summary = "The last 500 entries of a conversation.";
    Operation {
        parameters: vec![form()],
        refusals: vec![404],
        ..Operation::new("readMessages", summary, answers)
    }
}

/// In which form an agent's words are wanted.
fn form() -> Value {
    let form = json!({ "type": "string", "enum": ["html", "markdown"] });
    parameter(
        "query",
        "form",
        &form,
        "In which form an agent's words are wanted; `html` without it.",
    )
}

pub(crate) fn progress() -> Operation {
    Operation {
        refusals: vec![404],
        ..Operation::new(
            "readProgress",
            "How far a message is that was said in a conversation: whether its turn has ended, how, and what arrived of it.",
            vec![(200, data("So far.", &one("Progress")))],
        )
    }
}

pub(crate) fn say() -> Operation {
    let body = data("What is said.", &one("NewMessage"));
    let entry = json!({ "type": "string", "description": "The id of its entry." });
    let answers = vec![(202, data("It is stored.", &under("entry", &entry)))];
    let summary =
        "Says something. The answer comes as entries. The same `id` again changes nothing.";
    Operation {
        body: Some(required(body)),
        refusals: vec![404, 413],
        ..Operation::new("say", summary, answers)
    }
}

pub(crate) fn tap() -> Operation {
    let body = data("What was chosen.", &one("NewTap"));
    let answers = vec![(202, data("It is stored.", &one("TapAnswer")))];
    let summary = "Chooses an answer of a question. The same `id` again changes nothing.";
    Operation {
        body: Some(required(body)),
        refusals: vec![404, 413],
        ..Operation::new("tap", summary, answers)
    }
}

pub(crate) fn events() -> Operation {
    let after = "The newest entry that is known already; entries up to it are left out.";
    let again = "The same, as a browser sends it when it comes again. The larger one counts.";
    let mut stream = content(
        "Begins with the entries after `after` (at most the last 500) and with how things stand, then tells what changes. \
         Ends after 30 minutes, and when the reader is too slow: come again with the newest entry's id. `x-events` has the \
         form of each type's data.",
        "text/event-stream",
        &text(),
    );
    stream["x-events"] = json!({
        "entry": one("Entry"),
        "preview": one("Preview"),
        "clear": one("Nothing"),
        "activity": one("Activity"),
        "questions": one("Questions"),
        "idle": one("Nothing"),
    });
    let number = whole();
    Operation {
        parameters: vec![
            parameter("query", "after", &number, after),
            form(),
            parameter("header", "Last-Event-ID", &number, again),
        ],
        refusals: vec![404],
        ..Operation::new(
            "listen",
            "What moves in a conversation, as server-sent events.",
            vec![(200, stream)],
        )
    }
}

pub(crate) fn upload() -> Operation {
    let bytes = json!({ "description": "The file's bytes.", "content": { "*/*": {} } });
    let answers = vec![(201, data("Stored.", &one("StoredFile")))];
    let summary = "Stores a file for a message of this conversation.";
    let name = "Its name; without one it is called `file`.";
    Operation {
        parameters: vec![parameter("query", "name", &text(), name)],
        body: Some(bytes),
        refusals: vec![404, 413, 507],
        ..Operation::new("upload", summary, answers)
    }
}

pub(crate) fn download() -> Operation {
    let etag = json!({ "required": true, "schema": text(), "description": "The hash, in quotes." });
    let file = |description: &str| {
        json!({
            "description": description,
            "headers": {
                "Content-Disposition": { "required": true, "schema": text() },
                "ETag": etag,
            },
            // Only these are shown in place; all else comes under the first type, to be saved.
            "content": { "application/octet-stream": {}, "image/*": {}, "audio/*": {}, "video/*": {} },
        })
    };
    let mut part = file("The part that `Range` asked for.");
    part["headers"]["Content-Range"] = json!({ "required": true, "schema": text() });
    let same =
        json!({ "description": "`If-None-Match` has its tag.", "headers": { "ETag": etag } });
    let range = "One range of bytes. Anything else gets the whole file.";
    let rest =
        "The tag of the file that a part is wanted of; the whole comes if it is another one.";
    let known =
        "Tags of files that are there already. A file may be kept, but is asked for each time.";
    Operation {
        parameters: vec![
            parameter("header", "Range", &text(), range),
            parameter("header", "If-Range", &text(), rest),
            parameter("header", "If-None-Match", &text(), known),
        ],
        refusals: vec![404],
        ..Operation::new(
            "download",
            "A file of a conversation. Addresses of files stand in entries, as `url`.",
            vec![(200, file("The file.")), (206, part), (304, same)],
        )
    }
}
