//! What the tests stand on.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use mcp::{Address, Known, Limits, Options, Ports, Program, Reach, Seen, Servers};
use redact::Redactor;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool::{Output, ServerState, ToolError, Toolbox as _};
use waybill::Secret;

use crate::server::{Calculator, KIND};

/// A loaded machine may take its time; nothing here waits so long when it works.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the owner has seen, in memory.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) known: Mutex<HashMap<String, Known>>,
    pub(crate) answer: Mutex<Option<String>>,
    pub(crate) broken: Mutex<bool>,
}

#[async_trait]
impl Seen for Memory {
    async fn load(&self, server: &str) -> Result<Option<Known>, String> {
        if *self.broken.lock().unwrap() {
            return Err("the file is damaged".to_owned());
        }
        Ok(self.known.lock().unwrap().get(server).cloned())
    }

    async fn store(&self, server: &str, known: &Known) -> Result<(), String> {
        let mut all = self.known.lock().unwrap();
        all.insert(server.to_owned(), known.clone());
        Ok(())
    }

    async fn answered(&self, _server: &str) -> Option<String> {
        self.answer.lock().unwrap().take()
    }
}

/// Short waits; everything else as in earnest.
pub(crate) fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(40),
        call: Duration::from_secs(40),
        call_in_all: Duration::from_secs(60),
        first_rest: Duration::from_millis(50),
        longest_rest: Duration::from_millis(400),
        look_again: Duration::from_secs(3600),
        between_lists: Duration::from_millis(50),
        owner: Duration::from_millis(20),
    }
}

/// A program of a kind of [`crate::server`], with further variables.
pub(crate) fn program(name: &str, kind: &str, folder: &Path, more: &[(&str, &str)]) -> Options {
    let myself = std::env::current_exe().unwrap();
    let mut environment = vec![(KIND.to_owned(), kind.to_owned())];
    environment.push(("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()));
    environment.extend(
        more.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    let command = [
        myself.to_str().unwrap(),
        "--exact",
        "server::program",
        "--ignored",
        "--nocapture",
    ];
    Options {
        name: name.to_owned(),
        reach: Reach::Program(Program {
            launcher: vec![env!("CARGO_BIN_EXE_tidings-mcp-minder").to_owned()],
            command: command.map(str::to_owned).to_vec(),
            environment,
            secrets: Vec::new(),
            folder: folder.join(name),
        }),
        only: None,
        limits: limits(),
    }
}

/// A service at an address.
pub(crate) fn service(name: &str, address: SocketAddr) -> Options {
    Options {
        name: name.to_owned(),
        reach: Reach::Address(Address {
            url: Secret::new(format!("http://{address}/mcp")),
            headers: Vec::new(),
        }),
        only: None,
        limits: limits(),
    }
}

/// Servers that live, until this is dropped.
pub(crate) struct World {
    pub(crate) servers: Arc<Servers>,
    pub(crate) memory: Arc<Memory>,
    stop: CancellationToken,
    lives: JoinSet<()>,
}

impl World {
    pub(crate) fn of(options: Vec<Options>) -> Self {
        Self::remembering(options, Arc::default())
    }

    pub(crate) fn remembering(options: Vec<Options>, memory: Arc<Memory>) -> Self {
        let secret = Secret::new("very-secret-key".to_owned());
        let ports = Ports {
            client: net::Client::new(net::Options::default()).unwrap(),
            seen: Arc::clone(&memory) as Arc<dyn Seen>,
            redactor: Arc::new(Redactor::new([("KEY", secret)]).unwrap()),
        };
        let servers = Arc::new(Servers::new(options, &ports));
        let stop = CancellationToken::new();
        let mut lives = JoinSet::new();
        let (living, until) = (Arc::clone(&servers), stop.clone());
        lives.spawn(async move { living.run(until).await });
        Self {
            servers,
            memory,
            stop,
            lives,
        }
    }

    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        self.lives.join_next().await;
    }

    pub(crate) fn state(&self, name: &str) -> ServerState {
        let mut servers = self.servers.servers().into_iter();
        servers.find(|server| server.name == name).unwrap().state
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let tools = self.servers.tools().into_iter();
        tools.map(|tool| tool.spec.name).collect()
    }

    pub(crate) async fn ready(&self, name: &str) {
        until(&format!("{name} is ready"), || {
            let state = self.state(name);
            matches!(state, ServerState::Ready { .. })
                .then_some(())
                .ok_or_else(|| format!("{state:?}"))
        })
        .await;
    }

    /// Waits until a server is away, and says why.
    pub(crate) async fn away(&self, name: &str) -> String {
        until(&format!("{name} is away"), || match self.state(name) {
            ServerState::Away { cause, .. } => Ok(cause),
            other => Err(format!("{other:?}")),
        })
        .await
    }

    /// Waits until a server's tools wait for the owner, and says what is told.
    pub(crate) async fn changed(&self, name: &str) -> String {
        until(&format!("{name} changed"), || match self.state(name) {
            ServerState::Changed { cause } => Ok(cause),
            other => Err(format!("{other:?}")),
        })
        .await
    }

    pub(crate) async fn call(&self, tool: &str) -> Result<Output, ToolError> {
        self.servers.call(tool, &Map::new()).await
    }

    pub(crate) async fn add(&self, server: &str) -> Result<String, ToolError> {
        let Value::Object(arguments) = json!({ "a": 20, "b": 22 }) else {
            unreachable!()
        };
        let tool = format!("{server}__add");
        Ok(self.servers.call(&tool, &arguments).await?.text)
    }
}

/// Waits until something is so; the last reason why not is told when patience ends.
pub(crate) async fn until<T>(what: &str, mut is_so: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match is_so() {
            Ok(found) => return found,
            Err(why) if Instant::now() > deadline => panic!("not so: {what}; {why}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

pub(crate) fn is_alive(pid: &str) -> bool {
    // A dead process that nobody took out of the table yet is dead.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit_once(')')
            .unwrap()
            .1
            .trim_start()
            .starts_with('Z')
    })
}

pub(crate) async fn dead(pid: &str) {
    until(&format!("{pid} is dead"), || {
        (!is_alive(pid)).then_some(()).ok_or_else(String::new)
    })
    .await;
}

/// What a program wrote down.
pub(crate) async fn trace(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    until(name, || {
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        Ok(text)
    })
    .await
}

/// A service that runs, until this is dropped.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    _serving: JoinSet<()>,
}

/// How a service answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    /// In streams of events, within sessions.
    Streams,
    /// In plain JSON, without sessions.
    Json,
}

impl Service {
    pub(crate) async fn start(calculator: Calculator, answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, calculator, answers)
    }

    /// At an address that was in use before.
    pub(crate) async fn again(
        address: SocketAddr,
        calculator: Calculator,
        answers: Answers,
    ) -> Self {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match TcpListener::bind(address).await {
                Ok(listener) => return Self::on(listener, calculator, answers),
                Err(error) if Instant::now() > deadline => panic!("{error}"),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    fn on(listener: TcpListener, calculator: Calculator, answers: Answers) -> Self {
        let mut config = StreamableHttpServerConfig::default();
        config.legacy_session_mode = answers == Answers::Streams;
        config.json_response = answers == Answers::Json;
        let service = StreamableHttpService::new(
            move || Ok(calculator.clone()),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let service = TowerToHyperService::new(service.clone());
                connections.spawn(async move {
                    let served = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service);
                    served.await.unwrap_or_default();
                });
            }
        });
        Self {
            address,
            _serving: serving,
        }
    }
}
