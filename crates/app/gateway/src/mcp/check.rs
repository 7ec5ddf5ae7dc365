//! `tidings doctor`: whether each profile's servers answer.

use std::sync::Arc;
use std::time::Duration;

use ::mcp::{Known, Ports, Seen, Servers};
use admin::{ToolServer, ToolServerState};
use async_trait::async_trait;
use redact::Redactor;
use settings::{Environment, Home, Settings};
use tokio_util::sync::CancellationToken;
use tool::{ServerState, Toolbox as _};
use waybill::ProfileId;

use super::notes::running_servers;
use super::{options, seen};
use crate::{Check, Verdict};

/// Longest that a server is waited for: it is greeted in two ways, each with its own limit.
const PATIENCE: Duration = Duration::from_secs(130);

/// Looks at what was seen, and remembers nothing.
struct ReadOnly(seen::Files);

#[async_trait]
impl Seen for ReadOnly {
    async fn load(&self, server: &str) -> Result<Option<Known>, String> {
        self.0.load(server).await
    }

    async fn store(&self, _server: &str, _known: &Known) -> Result<(), String> {
        Ok(())
    }

    async fn answered(&self, _server: &str) -> Option<String> {
        None
    }
}

/// Tries each profile's servers: those of a running gateway are as it sees them, else each is connected to and let go again.
pub async fn examine_servers(
    home: &Home,
    settings: &Settings,
    minder: &[String],
    environment: &dyn Environment,
) -> Vec<(ProfileId, Vec<Check>)> {
    if let Some(servers) = running_servers(home) {
        let profiles = settings.profiles.keys();
        return profiles
            .map(|id| {
                let own = servers.iter().filter(|one| one.profile == *id);
                (id.clone(), own.map(as_seen).collect())
            })
            .collect();
    }
    let mut all = Vec::new();
    for (id, profile) in &settings.profiles {
        let built = profile
            .mcp
            .iter()
            .map(|(name, server)| options(home, id, name, server, minder, environment));
        let tried = match (ports(home, settings, id), profile.mcp.is_empty()) {
            (_, true) => Vec::new(),
            (Ok(ports), false) => tried(Servers::new(built.collect(), &ports)).await,
            (Err(why), false) => vec![Check::bad("servers", why)],
        };
        all.push((id.clone(), tried));
    }
    all
}

fn ports(home: &Home, settings: &Settings, profile: &ProfileId) -> Result<Ports, String> {
    let client = net::Client::new(net::Options {
        plain_http: net::PlainHttp::Anywhere,
        ..net::Options::default()
    });
    Ok(Ports {
        client: client.map_err(|error| error.to_string())?,
        seen: Arc::new(ReadOnly(seen::Files::of(home, profile))),
        redactor: Arc::new(Redactor::new(settings.secrets()).map_err(|error| error.to_string())?),
    })
}

async fn tried(servers: Servers) -> Vec<Check> {
    let stop = CancellationToken::new();
    let looking = async {
        let mut news = servers.news();
        let settled = async {
            loop {
                news.borrow_and_update();
                let all = servers.servers();
                if all
                    .iter()
                    .all(|server| server.state != ServerState::Connecting)
                {
                    return;
                }
                if news.changed().await.is_err() {
                    return;
                }
            }
        };
        // Who is silent for so long is still connecting, and that is told.
        tokio::time::timeout(PATIENCE, settled)
            .await
            .unwrap_or_default();
        let checks = servers
            .servers()
            .into_iter()
            .map(|server| check(&server.name, &server.state));
        let checks: Vec<Check> = checks.collect();
        stop.cancel();
        checks
    };
    let ((), checks) = tokio::join!(servers.run(stop.clone()), looking);
    checks
}

fn check(name: &str, state: &ServerState) -> Check {
    match state {
        ServerState::Ready { tools } => {
            Check::good("server", format!("{name} answers and offers {tools} tools"))
        }
        ServerState::Changed { cause } => {
            Check::new("server", Verdict::Warning, format!("{name}: {cause}"))
        }
        ServerState::Away { cause, .. } => Check::bad("server", format!("{name}: {cause}")),
        ServerState::Connecting => Check::bad("server", format!("{name} does not answer")),
    }
}

/// As a running gateway sees it.
fn as_seen(server: &ToolServer) -> Check {
    let state = match server.state {
        ToolServerState::Ready => ServerState::Ready {
            tools: server.tools.len(),
        },
        ToolServerState::Changed => ServerState::Changed {
            cause: server.cause.clone().unwrap_or_default(),
        },
        ToolServerState::Away => ServerState::Away {
            cause: server.cause.clone().unwrap_or_default(),
            tries: server.tries,
        },
        ToolServerState::Connecting | ToolServerState::Resting => ServerState::Connecting,
    };
    check(&server.name, &state)
}
