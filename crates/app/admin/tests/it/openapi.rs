//! `/api/openapi.json`, held against what the listener answers.

use std::collections::BTreeSet;

use chat::{Activity, Body, ChatAdapter as _, Op, Preview};
use model::Usage;
use serde_json::{Value, json};
use session::{Progress, TurnAnswer, TurnEnd};
use testkit::clock::CountingIds;
use testkit::http::{Answer, Ask};

use crate::parcels::{throttled, unlucky};
use crate::shelf::id as id_of;
use crate::world::{LIMIT, World};
use waybill::{Clock as _, Timestamp, TurnId};

async fn description(world: &World) -> Value {
    let answer = world.send(Ask::get("/api/openapi.json")).await;
    assert_eq!(answer.status, 200);
    answer.json().unwrap()
}

/// Every operation, with its verb and its path.
fn operations(document: &Value) -> Vec<(String, String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, item)| {
            let verbs = item.as_object().unwrap().iter();
            verbs.map(|(verb, operation)| (verb.clone(), path.clone(), operation))
        })
        .collect()
}

fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => document
            .pointer(reference.trim_start_matches('#'))
            .unwrap_or_else(|| panic!("{reference} leads nowhere")),
        None => value,
    }
}

/// Where `value` is not as `schema` says; fields that it does not tell are wrong, too.
fn complaints(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let schema = resolve(document, schema);
    let mut found = Vec::new();
    if let Some(choices) = schema["oneOf"].as_array() {
        let good = |choice: &&Value| complaints(document, choice, value, at).is_empty();
        if choices.iter().filter(good).count() != 1 {
            found.push(format!("{at}: {value} is not one of the choices"));
        }
        return found;
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let kinds = &schema["type"];
    let allowed = kinds == kind
        || kinds
            .as_array()
            .is_some_and(|all| all.contains(&json!(kind)));
    if !allowed {
        found.push(format!("{at}: {kind} instead of {kinds}"));
    }
    if schema.get("const").is_some_and(|only| only != value)
        || schema["enum"]
            .as_array()
            .is_some_and(|all| !all.contains(value))
    {
        found.push(format!("{at}: {value} is not told"));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(complaints(
            document,
            &schema["items"],
            item,
            &format!("{at}/{index}"),
        ));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            found.push(format!("{at}: {name} is missing"));
        }
    }
    if let (Some(fields), Some(told)) = (value.as_object(), schema["properties"].as_object()) {
        for (name, field) in fields {
            let at = format!("{at}/{name}");
            match told.get(name) {
                Some(schema) => found.extend(complaints(document, schema, field, &at)),
                None => found.push(format!("{at} is not told")),
            }
        }
    }
    found
}

/// Whether the answer is one that the description of this operation tells.
fn expect_told(document: &Value, operation: &Value, answer: &Answer, what: &str) {
    let told = operation["responses"]
        .get(answer.status.to_string())
        .unwrap_or_else(|| panic!("{what}: {} is not told: {}", answer.status, answer.text()));
    let told = resolve(document, told);
    for (name, header) in told["headers"].as_object().into_iter().flatten() {
        let there = answer.header(&name.to_ascii_lowercase()).is_some();
        assert!(there || header["required"] != true, "{what}: no {name}");
    }
    let Some(content) = told["content"].as_object() else {
        assert!(answer.body.is_empty(), "{what}: a body that is not told");
        return;
    };
    let mime = answer
        .header("content-type")
        .unwrap()
        .split(';')
        .next()
        .unwrap();
    let family = format!("{}/*", mime.split('/').next().unwrap());
    let media = content
        .get(mime)
        .or_else(|| content.get(&family))
        .unwrap_or_else(|| panic!("{what}: {mime} is not told"));
    let value = match mime {
        "application/json" => answer.json().unwrap(),
        _ => answer.text().into(),
    };
    if let Some(schema) = media.get("schema") {
        let wrong = complaints(document, schema, &value, "");
        assert!(wrong.is_empty(), "{what} {}: {wrong:?}", answer.status);
    }
}

struct Try {
    verb: &'static str,
    path: &'static str,
    ask: Ask,
    status: u16,
}

const MESSAGES: &str = "/api/conversations/{id}/messages";
const PROGRESS: &str = "/api/conversations/{id}/messages/{message}";
const TAPS: &str = "/api/conversations/{id}/taps";
const EVENTS: &str = "/api/conversations/{id}/events";
const FILES: &str = "/api/conversations/{id}/files";
const OUTBOX: &str = "/api/outbox";
const PARCEL: &str = "/api/outbox/{id}";
const ACT: &str = "/api/outbox/{id}/{verb}";
const USAGE: &str = "/api/usage";
const SANDBOXES: &str = "/api/sandboxes";
const STOP: &str = "/api/sandboxes/{id}/stop";
const SERVERS: &str = "/api/mcp";
const ACCEPT: &str = "/api/mcp/{profile}/{server}/accept";
const FILE: &str = "/files/{profile}/{hash}/{name}";

fn accept(server: &str, question: &str) -> Ask {
    Ask::post(format!("/api/mcp/{server}/accept"))
        .json(&serde_json::json!({ "question": question }))
}

/// A turn that ended badly.
fn failed() -> Progress {
    Progress::Ended(Box::new(TurnAnswer {
        turn: TurnId::fresh(&CountingIds::default()),
        end: TurnEnd::Failed {
            reason: "the model is away".to_owned(),
        },
        usage: Usage::default(),
        parts: Vec::new(),
        at: Timestamp::UNIX_EPOCH,
    }))
}

/// Good and bad requests to every operation; events apart, for a stream does not end.
async fn tries(world: &World, cookie: &str) -> Vec<Try> {
    let id = world.conversation(cookie).await;
    let stored = world
        .upload(cookie, &id, "a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
        .await;
    let stored = stored.json().unwrap();
    let plain = world
        .upload(cookie, &id, "a.txt", b"words")
        .await
        .json()
        .unwrap();
    let url = |stored: &Value| stored["url"].as_str().unwrap().to_owned();
    let said = json!({
        "id": "m1", "text": "hi", "files": [{ "hash": stored["hash"], "name": "a.png" }],
    });
    world.say(cookie, &id, &said).await;
    world.programs.stands(&format!("{id}/m1"), failed());
    let answered = Op::Text(Body::Markdown("**yes**".into()));
    world.deliver(&id, &answered, 1).await.unwrap();

    let now = world.clock.now();
    let parcel = world.shelf.put(unlucky(now));
    let waiting = world.shelf.put(throttled(now));
    let act = |rest: &str| Ask::post(format!("/api/outbox/{parcel}/{rest}"));

    let get = |path: &'static str, at: String, status: u16| Try {
        verb: "get",
        path,
        ask: Ask::get(at),
        status,
    };
    let post = |path: &'static str, ask: Ask, status: u16| Try {
        verb: "post",
        path,
        ask,
        status,
    };
    let new = |body: Value| Ask::post("/api/conversations").json(&body);
    let taps =
        |id: &str, body: Value| Ask::post(format!("/api/conversations/{id}/taps")).json(&body);
    let messages = format!("/api/conversations/{id}/messages");
    let files = format!("/api/conversations/{id}/files?name=b.bin");
    let large = vec![b'x'; usize::try_from(LIMIT).unwrap() + 1];
    vec![
        get("/health", "/health".into(), 200),
        get("/ready", "/ready".into(), 200),
        get("/api/openapi.json", "/api/openapi.json".into(), 200),
        get("/login", world.link().await, 303),
        get("/login", "/login?token=a&token=b".into(), 400),
        get("/api/status", "/api/status".into(), 200),
        get("/api/conversations", "/api/conversations".into(), 200),
        post(
            TAPS,
            taps(&id, json!({ "id": "t1", "entry": 1, "token": "abc.0" })),
            202,
        ),
        post(
            TAPS,
            taps(&id, json!({ "id": "a/b", "entry": 1, "token": "abc.0" })),
            400,
        ),
        post(
            TAPS,
            taps("none", json!({ "id": "t1", "entry": 1, "token": "abc.0" })),
            404,
        ),
        post(
            "/api/conversations",
            new(json!({ "profile": "default" })),
            201,
        ),
        post("/api/conversations", new(json!({})), 400),
        post(
            "/api/conversations",
            new(json!({ "profile": "other" })),
            404,
        ),
        post("/api/conversations", new("x".repeat(3 << 20).into()), 413),
        get(MESSAGES, messages.clone(), 200),
        get(MESSAGES, "/api/conversations/%FF/messages".into(), 400),
        get(MESSAGES, "/api/conversations/nowhere/messages".into(), 404),
        post(MESSAGES, Ask::post(&messages).json(&said), 202),
        post(
            MESSAGES,
            Ask::post(&messages).json(&json!({ "id": "" })),
            400,
        ),
        post(
            MESSAGES,
            Ask::post(&messages).json(&"x".repeat(3 << 20).into()),
            413,
        ),
        get(MESSAGES, format!("{messages}?form=markdown"), 200),
        get(MESSAGES, format!("{messages}?form=x"), 400),
        get(PROGRESS, format!("{messages}/m1"), 200),
        get(PROGRESS, format!("{messages}/m0"), 404),
        get(
            PROGRESS,
            "/api/conversations/nowhere/messages/m1".into(),
            404,
        ),
        get(PROGRESS, "/api/conversations/%FF/messages/m1".into(), 400),
        get(EVENTS, "/api/conversations/nowhere/events".into(), 404),
        get(
            EVENTS,
            format!("/api/conversations/{id}/events?after=x"),
            400,
        ),
        post(FILES, Ask::post(&files).body("x"), 201),
        post(FILES, Ask::post(format!("{files}&name=c")).body("x"), 400),
        post(FILES, Ask::post("/api/conversations/nowhere/files"), 404),
        post(FILES, Ask::post(&files).body(large), 413),
        get("/metrics", "/metrics".into(), 200),
        get(OUTBOX, "/api/outbox".into(), 200),
        get(OUTBOX, "/api/outbox?most=1".into(), 200),
        get(OUTBOX, "/api/outbox?state=lost".into(), 400),
        get(PARCEL, format!("/api/outbox/{waiting}"), 200),
        get(PARCEL, "/api/outbox/7".into(), 400),
        get(PARCEL, format!("/api/outbox/{}", id_of(70)), 404),
        post(ACT, act("retry?part=1"), 200),
        post(ACT, act("mark-sent?part=1"), 409),
        post(ACT, act("destroy"), 404),
        post(ACT, act("retry?part=x"), 400),
        get(USAGE, "/api/usage".into(), 200),
        get(USAGE, "/api/usage?days=0".into(), 400),
        get(SANDBOXES, "/api/sandboxes".into(), 200),
        post(STOP, Ask::post("/api/sandboxes/one/stop"), 200),
        post(STOP, Ask::post("/api/sandboxes/stubborn/stop"), 409),
        post(STOP, Ask::post("/api/sandboxes/none/stop"), 404),
        post(STOP, Ask::post("/api/sandboxes/%FF/stop"), 400),
        get(SERVERS, "/api/mcp".into(), 200),
        post(ACCEPT, accept("default/calc", "abc"), 200),
        post(ACCEPT, accept("default/calc", "old"), 409),
        post(ACCEPT, accept("default/none", "abc"), 404),
        post(
            ACCEPT,
            Ask::post("/api/mcp/default/calc/accept").body("x"),
            400,
        ),
        post(
            ACCEPT,
            Ask::post("/api/mcp/default/calc/accept").json(&"x".repeat(3 << 20).into()),
            413,
        ),
        get(FILE, url(&stored), 200),
        get(FILE, url(&plain), 200),
        Try {
            verb: "get",
            path: FILE,
            ask: Ask::get(url(&plain)).header("range", "bytes=1-2"),
            status: 206,
        },
        Try {
            verb: "get",
            path: FILE,
            ask: Ask::get(url(&plain)).header("if-none-match", "*"),
            status: 304,
        },
        get(FILE, "/files/default/00/a.txt".into(), 404),
        get(FILE, "/files/default/00/%FF".into(), 400),
        post("/logout", Ask::post("/logout"), 204),
    ]
}

#[tokio::test]
async fn every_described_operation_answers_as_it_is_described() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let mut document = description(&world).await;
    // The document describes itself as any object.
    document["paths"]["/api/openapi.json"]["get"]["responses"]["200"] =
        json!({ "content": { "application/json": {} } });
    let mut tried = BTreeSet::new();
    for Try {
        verb,
        path,
        ask,
        status,
    } in tries(&world, &cookie).await
    {
        let what = format!("{verb} {path}");
        let operation = &document["paths"][path][verb];
        assert!(operation.is_object(), "{what} is not described");
        let answer = world.send(ask.header("cookie", &cookie)).await;
        assert_eq!(answer.status, status, "{what}: {}", answer.text());
        expect_told(&document, operation, &answer, &what);
        if status < 400 {
            tried.insert((verb.to_owned(), path.to_owned()));
        }
    }
    // Tried below: its good answer has no end.
    tried.insert(("get".into(), EVENTS.into()));
    let described: BTreeSet<_> = operations(&document)
        .into_iter()
        .map(|(verb, path, _)| (verb, path))
        .collect();
    assert_eq!(tried, described);
}

#[tokio::test]
async fn the_events_have_the_forms_that_are_described() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let document = description(&world).await;
    let id = world.conversation(&cookie).await;
    let chat = world.chat(&id);
    world
        .say(&cookie, &id, &json!({ "id": "m1", "text": "hi" }))
        .await;
    let ask = Ask::get(format!("/api/conversations/{id}/events")).header("cookie", &cookie);
    let mut stream = ask.listen(world.address).await.unwrap();
    let ended = || Activity::ToolEnded {
        id: "1".into(),
        result: "a.txt".into(),
        failed: false,
    };
    let began = Activity::ToolBegan {
        id: "1".into(),
        tool: "shell".into(),
        detail: "ls".into(),
    };
    for activity in [Activity::Typing, began, ended()] {
        world.web.activity(&chat, activity).await;
    }
    world.web.preview(&chat, Preview::Text("Hel".into())).await;
    let forms = &document["paths"][EVENTS]["get"]["responses"]["200"]["x-events"];
    let mut seen = BTreeSet::new();
    let mut last = false;
    loop {
        let event = stream.next().await.unwrap().unwrap();
        let form = forms
            .get(&event.event)
            .unwrap_or_else(|| panic!("{} is not described", event.event));
        let data: Value = serde_json::from_str(&event.data).unwrap();
        let wrong = complaints(&document, form, &data, &event.event);
        assert!(wrong.is_empty(), "{wrong:?}");
        let kind = match event.event.as_str() {
            "activity" => format!(
                "activity {}",
                data.as_object().unwrap().keys().next().unwrap()
            ),
            other => other.to_owned(),
        };
        if kind == "preview" {
            let answer = Op::Text(Body::Markdown("Hello".into()));
            world.deliver(&id, &answer, 1).await.unwrap();
            world.web.activity(&chat, Activity::Idle).await;
            last = true;
        }
        let done = last && kind == "idle";
        seen.insert(kind);
        if done {
            break;
        }
    }
    let all = [
        "activity busy",
        "activity run",
        "activity step",
        "clear",
        "entry",
        "idle",
        "preview",
        "questions",
    ];
    assert_eq!(seen, all.map(str::to_owned).into());
}

/// The path with something that fits in each place.
fn filled(path: &str) -> String {
    ["{id}", "{verb}", "{profile}", "{hash}", "{name}"]
        .iter()
        .fold(path.to_owned(), |path, part| path.replace(part, "x"))
}

fn ask(verb: &str, path: &str) -> Ask {
    match verb {
        "get" => Ask::get(filled(path)),
        "post" => Ask::post(filled(path)),
        _ => panic!("{verb} is new"),
    }
}

#[tokio::test]
async fn what_needs_the_cookie_says_so_and_the_rest_does_not() {
    let world = World::new().await;
    let document = description(&world).await;
    let scheme = &document["components"]["securitySchemes"]["session"];
    let cookie = world.log_in().await;
    assert_eq!(scheme["name"], cookie.split('=').next().unwrap());
    for (verb, path, operation) in operations(&document) {
        let what = format!("{verb} {path}");
        let answer = world.send(ask(&verb, &path)).await;
        // A login without a link is refused with a page.
        let closed = answer.status == 401 && path != "/login";
        assert_eq!(
            operation["security"] == json!([{ "session": [] }]),
            closed,
            "{what}"
        );
        if closed {
            expect_told(&document, operation, &answer, &what);
        }
    }
}

#[tokio::test]
async fn another_name_and_another_page_are_refused_where_that_is_described() {
    let world = World::new().await;
    let document = description(&world).await;
    for (verb, path, operation) in operations(&document) {
        let what = format!("{verb} {path}");
        let rebound = ask(&verb, &path).header("host", "evil.example");
        let answer = world.send(rebound).await;
        assert_eq!(answer.status, 421, "{what}");
        expect_told(&document, operation, &answer, &what);
        let foreign = ask(&verb, &path).header("origin", "https://evil.example");
        let answer = world.send(foreign).await;
        let told = operation["responses"].get("403").is_some();
        assert_eq!(answer.status == 403, told, "{what}");
    }
}

#[tokio::test]
async fn the_description_needs_no_cookie_and_may_be_kept_for_a_while() {
    let world = World::new().await;
    let answer = world.send(Ask::get("/api/openapi.json")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("max-age=300"));
    assert!(answer.header("set-cookie").is_none());
    let status = world.send(Ask::get("/api/status").header("cookie", world.log_in().await));
    assert_eq!(status.await.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn a_wrong_verb_is_refused_in_words_with_the_right_ones() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    for (path, right) in [("/api/status", "GET,HEAD"), ("/health", "GET,HEAD")] {
        let answer = world.send(Ask::post(path).header("cookie", &cookie)).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some(right)));
        assert_eq!(answer.json().unwrap()["error"]["code"], "method");
    }
    assert_eq!(world.send(Ask::post("/api/status")).await.status, 401);
}
