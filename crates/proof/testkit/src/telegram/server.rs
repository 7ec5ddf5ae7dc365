//! The server, and what a test holds of it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Path, Request, State as Shared};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::response::Response;
use axum::routing::{any, get};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::act::{Refusal, act};
use super::listener::{Cut, Doors};
use super::request::{Call, read};
use super::said::{Injected, Said};
use super::script::{Rule, Trouble};
use super::state::{RoomKey, State, Visible};
use super::{check, polls};

/// How long [`Telegram::until`] waits.
const DEADLINE: Duration = Duration::from_secs(20);

/// A running fake. Clones share it; with the last one the server goes.
#[derive(Clone)]
pub struct Telegram {
    state: Arc<State>,
    base: String,
    server: Arc<Mutex<JoinSet<()>>>,
}

impl Telegram {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// If no port can be had.
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(State::new());
        let app = axum::Router::new()
            .route("/{bot}/{method}", any(answer))
            .route("/file/{bot}/{*path}", get(download))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&state));
        let mut server = JoinSet::new();
        server.spawn(async move {
            let app = app.into_make_service_with_connect_info::<Cut>();
            if let Err(error) = axum::serve(Doors(listener), app).await {
                eprintln!("the fake Telegram stopped: {error}");
            }
        });
        let server = Arc::new(Mutex::new(server));
        Ok(Self {
            state,
            base,
            server,
        })
    }

    /// Where it listens, as the configuration's `api_base`.
    #[must_use]
    pub fn api_base(&self) -> String {
        self.base.clone()
    }

    /// Closes the door for good: new connections are refused, and the old ones break.
    pub async fn stop(&self) {
        self.state.down.store(true, Ordering::SeqCst);
        let mut server = match self.server.lock() {
            Ok(mut server) => std::mem::take(&mut *server),
            Err(_poisoned) => return,
        };
        server.shutdown().await;
    }

    /// A new bot. Its id is the number before the token's colon.
    pub fn add_bot(&self, token: &str, username: &str) -> i64 {
        self.state.with(|inner| inner.add_bot(token, username))
    }

    /// Every call of this bot is answered with 401 from now on.
    pub fn revoke(&self, token: &str) {
        self.bot(token, |bot| bot.revoked = true);
    }

    /// The token works again.
    pub fn restore(&self, token: &str) {
        self.bot(token, |bot| bot.revoked = false);
    }

    /// Somebody sets a webhook for this bot; a poll that waits is pushed out.
    pub fn set_webhook(&self, token: &str, url: &str) {
        self.bot(token, |bot| {
            bot.webhook = Some(url.to_owned());
            bot.poll += 1;
        });
    }

    /// Whether a webhook is set.
    #[must_use]
    pub fn has_webhook(&self, token: &str) -> bool {
        let inner = self.state.lock();
        inner
            .bots
            .get(token)
            .is_some_and(|bot| bot.webhook.is_some())
    }

    fn bot(&self, token: &str, change: impl FnOnce(&mut super::state::Bot)) {
        self.state
            .with(|inner| inner.bots.get_mut(token).map(change));
    }

    /// Makes a chat known to a bot, as if somebody had written there.
    pub fn open_chat(&self, token: &str, chat_id: i64) {
        self.room(token, chat_id, |_| ());
    }

    /// Makes a topic of a chat known.
    pub fn add_topic(&self, token: &str, chat_id: i64, thread: i64) {
        self.room(token, chat_id, |room| {
            room.topics.insert(thread);
        });
    }

    /// Takes a topic away.
    pub fn delete_topic(&self, token: &str, chat_id: i64, thread: i64) {
        self.room(token, chat_id, |room| {
            room.topics.remove(&thread);
        });
    }

    fn room(&self, token: &str, chat: i64, change: impl FnOnce(&mut super::state::Room)) {
        self.state.with(|inner| {
            let bot = inner.bots.get(token).map_or(0, |bot| bot.id);
            change(inner.rooms.entry(RoomKey::new(bot, chat)).or_default());
        });
    }

    /// A person writes.
    pub fn say(&self, token: &str, said: Said) -> Injected {
        self.state.with(|inner| said.put(inner, token))
    }

    /// Any update; its id is filled in and returned.
    pub fn update(&self, token: &str, update: Value) -> i64 {
        self.state.with(|inner| inner.push(token, update))
    }

    /// What a bot's chat shows now: the messages of bots, oldest first.
    #[must_use]
    pub fn chat(&self, token: &str, chat_id: i64) -> Vec<Visible> {
        let inner = self.state.lock();
        let bot = inner.bots.get(token).map_or(0, |bot| bot.id);
        inner
            .rooms
            .get(&RoomKey::new(bot, chat_id))
            .map(|room| room.visible.clone())
            .unwrap_or_default()
    }

    /// Updates that were not confirmed yet.
    #[must_use]
    pub fn pending(&self, token: &str) -> usize {
        let inner = self.state.lock();
        inner.bots.get(token).map_or(0, |bot| bot.queue.len())
    }

    /// Scripts a trouble. Of several rules that fit, the first one strikes.
    pub fn script(&self, rule: Rule, trouble: Trouble) {
        self.state.with(|inner| inner.rules.push((rule, trouble)));
    }

    /// All troubles are over.
    pub fn heal(&self) {
        self.state.with(|inner| inner.rules.clear());
    }

    /// Every request so far.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.state.lock().calls.clone()
    }

    /// Every request of a method so far.
    #[must_use]
    pub fn calls_of(&self, method: &str) -> Vec<Call> {
        let mut calls = self.calls();
        calls.retain(|call| call.method == method);
        calls
    }

    /// What no careful client would have sent; must be empty at the end of a test.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.state.lock().violations.clone()
    }

    /// Waits until something holds; looks again at each request and change.
    ///
    /// # Errors
    /// After 20 seconds, with what was waited for and the calls so far.
    pub async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) -> anyhow::Result<()> {
        let mut changes = self.state.changed.subscribe();
        let wait = async {
            loop {
                changes.borrow_and_update();
                if holds(self) || changes.changed().await.is_err() {
                    return;
                }
            }
        };
        if tokio::time::timeout(DEADLINE, wait).await.is_err() {
            let calls = self.calls();
            let methods: Vec<&str> = calls.iter().map(|call| call.method.as_str()).collect();
            anyhow::bail!(
                "not seen in time: {what}; calls: {methods:?}; violations: {:?}",
                self.violations()
            );
        }
        Ok(())
    }
}

fn respond(status: u16, value: &Value) -> Response {
    raw(status, "application/json", value.to_string())
}

fn raw(status: u16, mime: &str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
    if let Ok(mime) = mime.parse() {
        response.headers_mut().insert(CONTENT_TYPE, mime);
    }
    response
}

fn refuse(code: u16, description: &str) -> Response {
    respond(
        code,
        &json!({"ok": false, "error_code": code, "description": description}),
    )
}

/// Answers half of the body that was announced, and breaks off.
fn half(whole: &[u8]) -> Response {
    let (first, _) = whole.split_at(whole.len() / 2);
    let pieces = [
        Ok(Bytes::copy_from_slice(first)),
        Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
    ];
    let mut response = raw(
        200,
        "application/json",
        Body::from_stream(futures_util::stream::iter(pieces)),
    );
    response
        .headers_mut()
        .insert(CONTENT_LENGTH, whole.len().into());
    response
}

fn cut_off(cut: &Cut) -> Response {
    cut.now();
    raw(200, "application/json", "")
}

async fn answer(
    Shared(state): Shared<Arc<State>>,
    ConnectInfo(cut): ConnectInfo<Cut>,
    Path((bot, method)): Path<(String, String)>,
    request: Request,
) -> Response {
    let Some(token) = bot.strip_prefix("bot").map(str::to_owned) else {
        return refuse(404, "Not Found");
    };
    if state.down.load(Ordering::SeqCst) {
        return cut_off(&cut);
    }
    let mut parsed = match read(request).await {
        Ok(parsed) => parsed,
        Err(why) => {
            state.with(|inner| inner.violations.push(format!("{method}: {why}")));
            return refuse(400, &format!("Bad Request: {why}"));
        }
    };
    let checked = check::check(&method, &mut parsed);
    let call = Call {
        at: Instant::now(),
        token,
        method,
        params: parsed.params,
        uploads: parsed.uploads,
        length: parsed.length,
    };
    let (trouble, revoked) = state.with(|inner| {
        inner.calls.push(call.clone());
        let trouble = strike(&mut inner.rules, &call);
        (
            trouble,
            inner.bots.get(&call.token).is_none_or(|bot| bot.revoked),
        )
    });
    if revoked {
        return refuse(401, "Unauthorized");
    }
    if let Err(why) = checked {
        state.with(|inner| inner.violations.push(format!("{}: {why}", call.method)));
        let code = if check::known(&call.method) { 400 } else { 404 };
        return refuse(code, &format!("Bad Request: {why}"));
    }
    if let Some(refusal) = trouble.as_ref().and_then(refusal) {
        return refusal;
    }
    if let Some(Trouble::Drop) = trouble {
        return cut_off(&cut);
    }
    if let Some(Trouble::Hold(gate)) = &trouble {
        gate.pass().await;
    }
    let done = if call.method == "getUpdates" {
        polls::get_updates(&state, &call).await
    } else {
        state.with(|inner| act(inner, &call))
    };
    let body = match done {
        Ok(result) => json!({"ok": true, "result": result}),
        Err(Refusal { code: 413, .. }) => {
            return raw(
                413,
                "text/html",
                "<html><h1>413 Request Entity Too Large</h1></html>",
            );
        }
        Err(Refusal { code, description }) => return refuse(code, &description),
    };
    match trouble {
        Some(Trouble::AcceptThenDrop) => cut_off(&cut),
        Some(Trouble::AcceptThen500) => refuse(500, "Internal Server Error"),
        Some(Trouble::HalfBody) => half(body.to_string().as_bytes()),
        Some(Trouble::HoldAnswer(gate)) => {
            gate.pass().await;
            respond(200, &body)
        }
        _ => respond(200, &body),
    }
}

fn strike(rules: &mut [(Rule, Trouble)], call: &Call) -> Option<Trouble> {
    let mut struck = None;
    for (rule, trouble) in rules {
        if struck.is_none() && rule.strikes(call) {
            struck = Some(trouble.clone());
        }
    }
    struck
}

/// The answer of a trouble that keeps a request from doing anything.
fn refusal(trouble: &Trouble) -> Option<Response> {
    Some(match trouble {
        Trouble::Flood(seconds) => {
            let mut response = respond(
                429,
                &json!({"ok": false, "error_code": 429, "description": format!("Too Many Requests: retry after {seconds}"), "parameters": {"retry_after": seconds}}),
            );
            response
                .headers_mut()
                .insert(RETRY_AFTER, (*seconds).into());
            response
        }
        Trouble::BadRequest(text) => refuse(400, &format!("Bad Request: {text}")),
        Trouble::Migrated(chat) => respond(
            400,
            &json!({"ok": false, "error_code": 400, "description": "Bad Request: group chat was upgraded to a supergroup chat", "parameters": {"migrate_to_chat_id": chat}}),
        ),
        Trouble::Unauthorized => refuse(401, "Unauthorized"),
        Trouble::Forbidden(text) => refuse(403, &format!("Forbidden: {text}")),
        Trouble::Conflict => refuse(
            409,
            "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
        ),
        Trouble::Server(status) => refuse(*status, "Internal Server Error: restart"),
        Trouble::Raw { status, mime, body } => raw(*status, mime, body.clone()),
        Trouble::AcceptThenDrop
        | Trouble::Drop
        | Trouble::AcceptThen500
        | Trouble::HalfBody
        | Trouble::Hold(_)
        | Trouble::HoldAnswer(_) => return None,
    })
}

async fn download(
    Shared(state): Shared<Arc<State>>,
    ConnectInfo(cut): ConnectInfo<Cut>,
    Path((bot, path)): Path<(String, String)>,
) -> Response {
    let token = bot.strip_prefix("bot").unwrap_or_default().to_owned();
    let call = Call {
        at: Instant::now(),
        token: token.clone(),
        method: "file".to_owned(),
        params: Map::from_iter([("path".to_owned(), path.clone().into())]),
        uploads: Vec::new(),
        length: None,
    };
    let (trouble, revoked, found) = state.with(|inner| {
        inner.calls.push(call.clone());
        let trouble = strike(&mut inner.rules, &call);
        let revoked = inner.bots.get(&token).is_none_or(|bot| bot.revoked);
        let found = inner
            .files
            .values()
            .find(|file| file.path == path)
            .map(|file| file.bytes.clone());
        (trouble, revoked, found)
    });
    if revoked {
        return refuse(401, "Unauthorized");
    }
    if let Some(refusal) = trouble.as_ref().and_then(refusal) {
        return refusal;
    }
    let Some(bytes) = found else {
        return refuse(404, "Not Found");
    };
    match trouble {
        Some(Trouble::Drop | Trouble::AcceptThenDrop) => cut_off(&cut),
        Some(Trouble::HalfBody) => half(&bytes),
        Some(Trouble::Hold(gate) | Trouble::HoldAnswer(gate)) => {
            gate.pass().await;
            raw(200, "application/octet-stream", bytes)
        }
        _ => raw(200, "application/octet-stream", bytes),
    }
}
