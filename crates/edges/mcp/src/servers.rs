//! The servers of one profile, as one toolbox.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use redact::Redactor;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tool::{Output, OutsideTool, ServerState, ToolError, Toolbox};

use crate::server::Server;
use crate::{Options, Seen, Waiting, text};

/// Rest of a server whose task panicked.
const AGAIN: Duration = Duration::from_secs(5);

/// What the servers need from the rest of the house.
#[derive(Clone)]
pub struct Ports {
    /// The one HTTP client.
    pub client: net::Client,
    /// What the owner has seen of each server.
    pub seen: Arc<dyn Seen>,
    /// Known secrets, kept out of what is said of a server.
    pub redactor: Arc<Redactor>,
}

/// A server, as its owner sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Its name in the configuration.
    pub name: String,
    /// How it is.
    pub state: ServerState,
    /// What can be called now.
    pub tools: Vec<OutsideTool>,
    /// What waits for the owner, by the server's own names.
    pub waiting: BTreeMap<String, Waiting>,
    /// What the owner says yes to with [`Servers::accept`], if something waits.
    pub question: Option<String>,
}

/// The servers of one profile.
pub struct Servers {
    servers: BTreeMap<String, Arc<Server>>,
    news: watch::Sender<u64>,
}

impl Servers {
    /// Makes them; none runs yet. Of two with the same name the last one is taken.
    #[must_use]
    pub fn new(options: Vec<Options>, ports: &Ports) -> Self {
        let news = watch::Sender::new(0);
        let servers = options
            .into_iter()
            .map(|options| {
                let name = options.name.clone();
                let server = Server::new(options, ports.clone(), news.clone());
                (name, Arc::new(server))
            })
            .collect();
        Self { servers, news }
    }

    /// Lets them live until `stop`, or until the future is dropped. Waits for none of them at the start. One that panics begins again
    /// after a rest.
    pub async fn run(&self, stop: CancellationToken) {
        let mut lives = JoinSet::new();
        for (name, server) in &self.servers {
            let (name, server, stop) = (name.clone(), Arc::clone(server), stop.clone());
            lives.spawn(async move {
                while AssertUnwindSafe(server.run(&stop))
                    .catch_unwind()
                    .await
                    .is_err()
                {
                    tracing::error!(server = name, "a server's task panicked; it begins again");
                    tokio::time::sleep(AGAIN).await;
                }
            });
        }
        while lives.join_next().await.is_some() {}
        stop.cancelled().await;
    }

    /// Counts changes of any server.
    #[must_use]
    pub fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Every server, for its owner, sorted by name.
    #[must_use]
    pub fn standing(&self) -> Vec<Standing> {
        self.servers
            .iter()
            .map(|(name, server)| {
                let (waiting, question) = server.waiting();
                Standing {
                    name: name.clone(),
                    state: server.state(),
                    tools: server.tools(),
                    waiting,
                    question,
                }
            })
            .collect()
    }

    /// The owner accepts what waits of a server: `question` says what was shown.
    ///
    /// # Errors
    /// Why not, for people.
    pub fn accept(&self, name: &str, question: &str) -> Result<(), String> {
        let server = self
            .servers
            .get(name)
            .ok_or_else(|| format!("there is no server '{}'", text::line(name, 64)))?;
        if server.accept(question) {
            return Ok(());
        }
        Err(format!(
            "what {name} offers changed again, or nothing waits any more; look again"
        ))
    }
}

#[async_trait]
impl Toolbox for Servers {
    fn servers(&self) -> Vec<tool::Server> {
        self.servers
            .iter()
            .map(|(name, server)| tool::Server {
                name: name.clone(),
                state: server.state(),
            })
            .collect()
    }

    fn tools(&self) -> Vec<OutsideTool> {
        let mut tools: Vec<OutsideTool> = self
            .servers
            .values()
            .flat_map(|server| server.tools())
            .collect();
        tools.sort_by(|one, other| one.spec.name.cmp(&other.spec.name));
        tools
    }

    async fn call(&self, tool: &str, arguments: &Map<String, Value>) -> Result<Output, ToolError> {
        for server in self.servers.values() {
            if let Some(called) = server.call(tool, arguments).await {
                return called;
            }
        }
        Err(ToolError::Failed(format!(
            "no server offers a tool '{}' now",
            text::line(tool, 100)
        )))
    }
}
