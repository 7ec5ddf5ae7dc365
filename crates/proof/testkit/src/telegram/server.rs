//! The server, and what a test holds of it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::answer::{answer, download};
use super::ledger::ledger;
use super::listener::{Cut, Doors};
use super::rates::RateLimits;
use super::request::Call;
use super::said::{Injected, Said};
use super::script::{Rule, Trouble};
use super::state::{RoomKey, State, Visible};
use super::taps::{self, Tap};
use super::weather::{Sky, Weather};

/// How long [`Telegram::until`] waits.
const DEADLINE: Duration = Duration::from_secs(60);

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

    /// A person taps a button of a message; the tap's id. `data` is what the button holds, or what somebody made up.
    pub fn tap(
        &self,
        token: &str,
        chat: i64,
        message_id: i64,
        user: (i64, &str),
        data: &str,
    ) -> String {
        self.state
            .with(|inner| taps::put(inner, token, chat, message_id, user, data))
    }

    /// What became of each tap, in order.
    #[must_use]
    pub fn taps(&self) -> Vec<Tap> {
        self.state.lock().taps.clone()
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

    /// All troubles are over, scripted and by weather. Rates stay.
    pub fn heal(&self) {
        self.state.with(|inner| {
            inner.rules.clear();
            inner.sky = None;
        });
    }

    /// Troubles at random from now on.
    pub fn weather(&self, weather: Weather) {
        self.state.with(|inner| inner.sky = Some(Sky::new(weather)));
    }

    /// Whatever comes faster than this is answered with 429 from now on; `None` ends it.
    pub fn enforce_rates(&self, limits: Option<RateLimits>) {
        self.state.with(|inner| inner.rates.enforce(limits));
    }

    /// Calls that came too fast for [`Telegram::enforce_rates`].
    #[must_use]
    pub fn throttled(&self) -> usize {
        self.state.lock().rates.refused
    }

    /// Every call with what became of it, and what people see now: `{"calls": […], "visible": […]}`. Times are milliseconds
    /// since 1970; `status` is missing where no answer went out whole, `message` is what the call made or changed.
    #[must_use]
    pub fn ledger(&self) -> Value {
        ledger(&self.state.lock())
    }

    /// How many requests so far are such.
    #[must_use]
    pub fn count(&self, such: impl Fn(&Call) -> bool) -> usize {
        let inner = self.state.lock();
        inner.calls.iter().filter(|call| such(call)).count()
    }

    /// Every request so far.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.state.lock().calls.clone()
    }

    /// Every request after the first `skipped` ones.
    #[must_use]
    pub fn calls_after(&self, skipped: usize) -> Vec<Call> {
        let inner = self.state.lock();
        inner.calls.iter().skip(skipped).cloned().collect()
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
    /// After 60 seconds, with what was waited for and the calls so far.
    pub async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) -> anyhow::Result<()> {
        self.until_within(DEADLINE, what, holds).await
    }

    /// The same, for as long as `patience`.
    ///
    /// # Errors
    /// When it is over, as [`Telegram::until`].
    pub async fn until_within(
        &self,
        patience: Duration,
        what: &str,
        holds: impl Fn(&Self) -> bool,
    ) -> anyhow::Result<()> {
        let mut changes = self.state.changed.subscribe();
        let wait = async {
            loop {
                changes.borrow_and_update();
                if holds(self) || changes.changed().await.is_err() {
                    return;
                }
            }
        };
        if tokio::time::timeout(patience, wait).await.is_err() {
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
