//! One server's life: connected, lost, and connected again, for ever.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::ToolSpec;
use serde_json::{Map, Value};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool::{Output, OutsideTool, ServerState, ToolError};

use crate::connection::{Connection, Greeting};
use crate::listing::Listed;
use crate::seen::{self, Known, Waiting};
use crate::{Options, Ports, backoff, content, names, text};

/// How long a connection must have held for the next failure to be a first one again.
const STEADY: Duration = Duration::from_secs(60);
/// Characters of a reason.
const CAUSE: usize = 500;

/// A server.
pub(crate) struct Server {
    options: Options,
    ports: Ports,
    now: Mutex<Now>,
    /// Counts what an onlooker may want to read again.
    news: watch::Sender<u64>,
    /// Calls under way.
    calls: AtomicUsize,
    /// A call found it gone.
    suspected: Notify,
    /// The owner said yes.
    answered: Notify,
}

/// How it is now.
struct Now {
    state: ServerState,
    /// What may be called, sorted by the server's own names; of a server that is away, what could be.
    offered: Vec<Offered>,
    /// What waits for the owner, and the question that the owner answers.
    waiting: BTreeMap<String, Waiting>,
    question: Option<String>,
    answer: Option<String>,
    connection: Option<Arc<Connection>>,
}

/// A tool that may be called.
struct Offered {
    /// The server's own name of it.
    own: String,
    tool: OutsideTool,
}

/// What is known of a tool name.
enum Found {
    /// It may be called.
    Here(Arc<Connection>, String),
    Away(ToolError),
    /// It is not this server's.
    Unknown,
}

impl Server {
    pub(crate) fn new(options: Options, ports: Ports, news: watch::Sender<u64>) -> Self {
        Self {
            options,
            ports,
            now: Mutex::new(Now {
                state: ServerState::Connecting,
                offered: Vec::new(),
                waiting: BTreeMap::new(),
                question: None,
                answer: None,
                connection: None,
            }),
            news,
            calls: AtomicUsize::new(0),
            suspected: Notify::new(),
            answered: Notify::new(),
        }
    }

    /// Lives until it is told to stop.
    pub(crate) async fn run(&self, stop: &CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            never = self.live() => match never {},
        }
        self.lost("the gateway stops", 0);
    }

    async fn live(&self) -> std::convert::Infallible {
        let name = &self.options.name;
        let mut greeting = Greeting::Asked;
        let mut tries = 0_u32;
        loop {
            let cause = match self.open(&mut greeting).await {
                Ok((connection, listed)) => {
                    let begun = Instant::now();
                    let cause = self.serve(&Arc::new(connection), listed).await;
                    if begun.elapsed() >= STEADY {
                        tries = 0;
                    }
                    cause
                }
                Err(cause) => cause,
            };
            tries = tries.saturating_add(1);
            let cause = self.redacted(&cause);
            let rest = backoff::rest(tries, &self.options.limits, backoff::random());
            tracing::warn!(server = name, cause, tries, again_in = ?rest, "a server is away");
            self.lost(&cause, tries);
            tokio::time::sleep(rest).await;
        }
    }

    /// Connects and asks for the tools: with the greeting that worked last, and at once with the other one if that is turned away.
    /// A server that is silent gets the other one next time.
    async fn open(&self, greeting: &mut Greeting) -> Result<(Connection, Vec<Listed>), String> {
        let limit = self.options.limits.connect;
        let mut first = None;
        for _ in 0..2 {
            let cause = match tokio::time::timeout(limit, self.open_with(*greeting)).await {
                Ok(Ok(opened)) => return Ok(opened),
                Ok(Err(cause)) => cause,
                Err(_elapsed) => {
                    *greeting = greeting.other();
                    return Err(format!(
                        "it did not answer within {} seconds",
                        limit.as_secs()
                    ));
                }
            };
            *greeting = greeting.other();
            if let Some(first) = first {
                // What an older server makes of the newer question is no reason; what it makes of its own greeting is.
                return Err(match greeting {
                    Greeting::Asked => cause,
                    Greeting::Plain => first,
                });
            }
            first = Some(cause);
        }
        Err(first.unwrap_or_default())
    }

    async fn open_with(&self, greeting: Greeting) -> Result<(Connection, Vec<Listed>), String> {
        let ports = &self.ports;
        let connection =
            Connection::open(&self.options, &ports.client, &ports.redactor, greeting).await?;
        let listed = connection.list(self.options.only.as_ref()).await?;
        Ok((connection, listed))
    }

    /// Serves a connection to its end; says why it ended.
    async fn serve(&self, connection: &Arc<Connection>, listed: Vec<Listed>) -> String {
        let limits = &self.options.limits;
        let mut listed = listed;
        let mut known = match self.review(connection, &listed).await {
            Ok(known) => known,
            Err(cause) => return cause,
        };
        let changed = connection.changed();
        tokio::pin!(changed);
        let mut last = Instant::now();
        // When the list is asked for next, and whether that was the server's wish.
        let mut next = (last + limits.look_again, false);
        loop {
            let list = tokio::select! {
                biased;
                () = connection.ended() => return connection.ended_because(),
                () = &mut changed => {
                    changed.set(connection.changed());
                    let at = if next.1 { next.0 } else { last + limits.between_lists };
                    next = (at, true);
                    false
                }
                () = self.suspected.notified() => true,
                // A server that works on a call may be unable to answer.
                () = tokio::time::sleep_until(next.0) => next.1 || self.is_idle(),
                () = self.owners_word(&known) => {
                    known.accept();
                    let kept = self.ports.seen.store(&self.options.name, &known).await;
                    if let Err(cause) = kept {
                        return cause;
                    }
                    tracing::info!(server = self.options.name, "the owner accepted a server's tools");
                    self.publish(connection, &listed, &known);
                    false
                }
            };
            if Instant::now() >= next.0 {
                next = (Instant::now() + limits.look_again, false);
            }
            if !list {
                continue;
            }
            let asked = connection.list(self.options.only.as_ref());
            match tokio::time::timeout(limits.connect, asked).await {
                Ok(Ok(fresh)) => {
                    last = Instant::now();
                    next = (last + limits.look_again, false);
                    if fresh != listed {
                        listed = fresh;
                        known = match self.review(connection, &listed).await {
                            Ok(known) => known,
                            Err(cause) => return cause,
                        };
                    }
                }
                Ok(Err(cause)) if self.is_idle() => return cause,
                Err(_elapsed) if self.is_idle() => {
                    return "it does not answer any more".to_owned();
                }
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.calls.load(Ordering::Relaxed) == 0
    }

    /// Resolves when the owner accepted what waits now; for ever pending if nothing does.
    async fn owners_word(&self, known: &Known) {
        if known.waiting.is_empty() {
            return std::future::pending().await;
        }
        let question = known.question();
        loop {
            let here = self.now().answer.take();
            let outside = self.ports.seen.answered(&self.options.name).await;
            let mut answers = [here, outside].into_iter().flatten();
            if answers.any(|answer| answer == question) {
                return;
            }
            tokio::select! {
                () = self.answered.notified() => {}
                () = tokio::time::sleep(self.options.limits.owner) => {}
            }
        }
    }

    /// Holds a list against what was seen before, remembers it, and offers what may be.
    async fn review(
        &self,
        connection: &Arc<Connection>,
        listed: &[Listed],
    ) -> Result<Known, String> {
        let name = &self.options.name;
        let before = self.ports.seen.load(name).await?;
        let known = seen::reviewed(before.clone(), listed);
        if before.as_ref() != Some(&known) {
            self.ports.seen.store(name, &known).await?;
        }
        self.publish(connection, listed, &known);
        Ok(known)
    }

    fn publish(&self, connection: &Arc<Connection>, listed: &[Listed], known: &Known) {
        let name = &self.options.name;
        let offered: Vec<Offered> = listed
            .iter()
            .filter(|tool| known.accepted.get(&tool.name) == Some(&tool.hash))
            .map(|tool| Offered {
                own: tool.name.clone(),
                tool: OutsideTool {
                    server: name.clone(),
                    spec: ToolSpec {
                        name: names::for_model(name, &tool.name),
                        description: tool.description.clone(),
                        parameters: tool.schema.clone(),
                    },
                    effect: tool.effect,
                },
            })
            .collect();
        let state = if known.waiting.is_empty() {
            tracing::info!(server = name, tools = offered.len(), "a server is ready");
            ServerState::Ready {
                tools: offered.len(),
            }
        } else {
            let cause = seen::cause(known, name);
            tracing::warn!(server = name, cause, "a server's tools changed");
            ServerState::Changed { cause }
        };
        let mut now = self.now();
        now.state = state;
        now.offered = offered;
        now.waiting = known.waiting.clone();
        now.question = (!known.waiting.is_empty()).then(|| known.question());
        now.connection = Some(Arc::clone(connection));
        drop(now);
        self.tell();
    }

    fn lost(&self, cause: &str, tries: u32) {
        let mut now = self.now();
        now.connection = None;
        now.state = ServerState::Away {
            cause: cause.to_owned(),
            tries,
        };
        drop(now);
        self.tell();
    }

    fn tell(&self) {
        self.news
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    fn redacted(&self, cause: &str) -> String {
        let line = text::line(cause, CAUSE);
        self.ports.redactor.redact(&line).into_owned()
    }

    pub(crate) fn state(&self) -> ServerState {
        self.now().state.clone()
    }

    /// What waits for the owner, and the question.
    pub(crate) fn waiting(&self) -> (BTreeMap<String, Waiting>, Option<String>) {
        let now = self.now();
        (now.waiting.clone(), now.question.clone())
    }

    /// The owner says yes to a question; whether it was the one that is asked.
    pub(crate) fn accept(&self, question: &str) -> bool {
        let mut now = self.now();
        let is_asked = now.question.as_deref() == Some(question);
        if is_asked {
            now.answer = Some(question.to_owned());
            self.answered.notify_one();
        }
        is_asked
    }

    /// What can be called now.
    pub(crate) fn tools(&self) -> Vec<OutsideTool> {
        let now = self.now();
        match now.connection {
            Some(_) => now.offered.iter().map(|one| one.tool.clone()).collect(),
            None => Vec::new(),
        }
    }

    /// Calls a tool if it is this server's.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Option<Result<Output, ToolError>> {
        let (connection, own) = match self.find(tool) {
            Found::Here(connection, own) => (connection, own),
            Found::Away(error) => return Some(Err(error)),
            Found::Unknown => return None,
        };
        let _busy = Busy::begin(&self.calls);
        let called = connection.call(&own, arguments, &self.options.limits).await;
        if matches!(called, Err(ToolError::Away { .. })) {
            self.suspected.notify_one();
        }
        Some(called.map(content::output))
    }

    fn find(&self, tool: &str) -> Found {
        let name = &self.options.name;
        let now = self.now();
        let offered = now.offered.iter().find(|one| one.tool.spec.name == tool);
        match (offered, &now.connection, &now.state) {
            (Some(one), Some(connection), _) => {
                Found::Here(Arc::clone(connection), one.own.clone())
            }
            (Some(_), None, ServerState::Away { cause, .. }) => Found::Away(ToolError::Away {
                server: name.clone(),
                cause: cause.clone(),
            }),
            (Some(_), None, _) => Found::Away(ToolError::Away {
                server: name.clone(),
                cause: "it is not connected yet".to_owned(),
            }),
            (None, _, ServerState::Changed { cause })
                if now
                    .waiting
                    .keys()
                    .any(|own| names::for_model(name, own) == tool) =>
            {
                Found::Away(ToolError::Forbidden(format!("{name}: {cause}")))
            }
            (None, ..) => Found::Unknown,
        }
    }

    /// How it is at this moment: a connection that is over is gone for everybody at once, whenever its server's task notices.
    fn now(&self) -> MutexGuard<'_, Now> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = &now.connection
            && connection.is_over()
        {
            let cause = self.redacted(&connection.ended_because());
            now.state = ServerState::Away { cause, tries: 0 };
            now.connection = None;
        }
        now
    }
}

/// A call under way.
struct Busy<'a>(&'a AtomicUsize);

impl<'a> Busy<'a> {
    fn begin(calls: &'a AtomicUsize) -> Self {
        calls.fetch_add(1, Ordering::Relaxed);
        Self(calls)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
