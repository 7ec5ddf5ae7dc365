//! A scripted model server on loopback that speaks every protocol of models which the gateway speaks, each at its own path ([`Wire`]).
//!
//! A test pushes [`Turn`]s; each request plays the first turn that fits it, told in the protocol in which it was asked, and is recorded.
//! The server is strict: a request that the closed services would refuse (an orphan tool result, arguments that are no JSON text, an empty
//! message, a thought that does not come back as it was signed) is answered with 400 and listed
//! in [`ModelServer::violations`]. A request without a turn is answered with 500 and listed in [`ModelServer::unscripted`].
//!
//! Start reading at [`ModelServer`], then [`Turn`].

mod gate;
mod heard;
mod serve;
mod speak;
mod strict;
mod turn;
mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::serve::ListenerExt as _;
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use gate::Gate;
pub use turn::Turn;
pub use wire::Wire;

type Condition = dyn Fn(&Value) -> bool + Send + Sync;
type Author = dyn Fn(&Value) -> Turn + Send + Sync;

/// Which requests a turn is for.
#[derive(Clone)]
pub enum Match {
    /// Any; tried after the others.
    Any,
    /// Those for a model of this name.
    Model(String),
    /// Those whose last user message contains this.
    LastUser(String),
    /// Those whose system prompt contains this.
    System(String),
    /// Those whose body satisfies a condition.
    Where(Arc<Condition>),
}

impl Match {
    fn fits(&self, asked: &Recorded) -> bool {
        match self {
            Self::Any => true,
            Self::Model(name) => asked.model == *name,
            Self::LastUser(part) => asked.last_text("user").contains(part.as_str()),
            Self::System(part) => asked.last_text("system").contains(part.as_str()),
            Self::Where(condition) => condition(&asked.body),
        }
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The protocol.
    pub wire: Wire,
    /// The model that was asked for; empty if none was named.
    pub model: String,
    /// The path.
    pub path: String,
    /// Headers, with small letters.
    pub headers: BTreeMap<String, String>,
    /// The body; `Null` if it was no JSON.
    pub body: Value,
}

impl Recorded {
    /// The text of the last message of a role, whatever the protocol: `system`, `user`, `assistant` or `tool`. A tool's result is a
    /// `tool`'s even where the protocol makes it a person's.
    #[must_use]
    pub fn last_text(&self, role: &str) -> String {
        let mut said = heard::said(self.wire, &self.body).into_iter().rev();
        said.find(|one| one.role == role)
            .map_or_else(String::new, |one| one.text)
    }

    /// The messages, in the protocol's own shape.
    #[must_use]
    pub fn messages(&self) -> Vec<Value> {
        self.body
            .get(self.wire.messages())
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    }
}

#[derive(Default)]
struct State {
    turns: Vec<(Match, Turn)>,
    always: Option<(String, Duration)>,
    author: Option<Arc<Author>>,
    models: Vec<String>,
    answered: usize,
    requests: Vec<Recorded>,
    unscripted: Vec<Recorded>,
    violations: Vec<String>,
}

#[derive(Clone)]
struct Shared {
    state: Arc<Mutex<State>>,
    seen: watch::Sender<usize>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A piece goes out when it is written, as the real services do; otherwise it waits 40 ms for the other side's word.
fn send_at_once(stream: &mut TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        eprintln!("model server: pieces may come late: {error}");
    }
}

/// The server. It ends when it is dropped.
pub struct ModelServer {
    base_url: String,
    shared: Shared,
    _task: JoinSet<()>,
}

impl ModelServer {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// If no port can be had.
    pub async fn start() -> std::io::Result<Self> {
        Self::start_on(0).await
    }

    /// Starts on a port of 127.0.0.1; 0 is a free one.
    ///
    /// # Errors
    /// If the port can't be had.
    pub async fn start_on(port: u16) -> std::io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(([127, 0, 0, 1], port).into())?;
        // A bench asks a thousand times in the same moment.
        let listener = socket.listen(4_096)?;
        let base_url = format!("http://{}/v1", listener.local_addr()?);
        let state = State {
            models: vec!["scripted".to_owned()],
            ..State::default()
        };
        let shared = Shared {
            state: Arc::new(Mutex::new(state)),
            seen: watch::Sender::new(0),
        };
        let router = serve::router(shared.clone());
        let mut task = JoinSet::new();
        task.spawn(async move {
            if let Err(error) = axum::serve(listener.tap_io(send_at_once), router).await {
                eprintln!("the scripted model server stopped: {error}");
            }
        });
        Ok(Self {
            base_url,
            shared,
            _task: task,
        })
    }

    /// `http://127.0.0.1:PORT/v1`: a base for the gateway in every protocol.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Adds a turn for any request.
    pub fn push(&self, turn: Turn) {
        self.push_for(Match::Any, turn);
    }

    /// Adds a turn for requests that fit. Turns with a condition are tried before those for any request; each plays once, in the order of pushing.
    pub fn push_for(&self, requests: Match, turn: Turn) {
        self.shared.lock().turns.push((requests, turn));
    }

    /// Answers every request that has no turn with `text`, after a delay: for benches.
    pub fn always(&self, text: &str, after: Duration) {
        self.shared.lock().always = Some((text.to_owned(), after));
    }

    /// Answers every request that has no turn with what `author` makes of its body. Requests are not recorded from then on:
    /// a long run would fill the memory with them.
    pub fn answer_by(&self, author: impl Fn(&Value) -> Turn + Send + Sync + 'static) {
        self.shared.lock().author = Some(Arc::new(author));
    }

    /// What `/v1/models` lists.
    pub fn list_models(&self, names: &[&str]) {
        self.shared.lock().models = names.iter().map(|name| (*name).to_owned()).collect();
    }

    /// Every request to a model so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.lock().requests.clone()
    }

    /// Those that no turn was for.
    #[must_use]
    pub fn unscripted(&self) -> Vec<Recorded> {
        self.shared.lock().unscripted.clone()
    }

    /// What the closed services would have refused.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.shared.lock().violations.clone()
    }

    /// How many turns were not played.
    #[must_use]
    pub fn turns_left(&self) -> usize {
        self.shared.lock().turns.len()
    }

    /// Waits until so many requests to a model have come; `false` if `within` passed before.
    pub async fn wait_for_requests(&self, count: usize, within: Duration) -> bool {
        let mut seen = self.shared.seen.subscribe();
        matches!(
            tokio::time::timeout(within, seen.wait_for(|seen| *seen >= count)).await,
            Ok(Ok(_))
        )
    }
}
