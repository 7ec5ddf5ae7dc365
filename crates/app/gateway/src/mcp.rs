//! Each profile's servers of tools: built from the settings, run beside the turns, and told of.
//!
//! What the owner has seen of a server lies in `profiles/NAME/mcp/SERVER.json`, and the owner's word from the command line beside it.
//! How the servers are is written to `run/mcp.json` whenever it changes, for the same command line: a file of the home asks for no
//! key, and shows the last state even of a gateway that died.

mod check;
mod notes;
mod seen;

use std::collections::BTreeMap;
use std::sync::Arc;

use ::mcp::{Address, Limits, Options, Ports, Program, Reach, Servers};
use admin::{ToolServer, ToolServers};
use redact::Redactor;
use settings::{Environment, Home, McpServer, McpTransport, Settings};
use tokio_util::sync::CancellationToken;
use waybill::{ProfileId, Secret};

use crate::supervisor::Stage;

pub use check::examine_servers;
pub use notes::{AcceptError, accept_tools, resting_servers, running_servers};

/// What a program may know of the gateway's own environment: where programs lie, whose home it is, and how people write.
const INHERITED: [&str; 3] = ["PATH", "HOME", "LANG"];

/// Each profile's servers; a profile without any is not there.
#[derive(Clone, Default)]
pub(crate) struct Toolboxes(BTreeMap<ProfileId, Arc<Servers>>);

impl Toolboxes {
    /// Builds them; none runs yet.
    pub(crate) fn build(
        home: &Home,
        settings: &Settings,
        client: &net::Client,
        redactor: &Arc<Redactor>,
        minder: &[String],
        environment: &dyn Environment,
    ) -> Self {
        let profiles = settings.profiles.iter();
        let with_servers = profiles.filter(|(_, profile)| !profile.mcp.is_empty());
        Self(
            with_servers
                .map(|(id, profile)| {
                    let options = profile
                        .mcp
                        .iter()
                        .map(|(name, server)| options(home, id, name, server, minder, environment));
                    let ports = Ports {
                        client: client.clone(),
                        seen: Arc::new(seen::Files::of(home, id)),
                        redactor: Arc::clone(redactor),
                    };
                    let servers = Servers::new(options.collect(), &ports);
                    (id.clone(), Arc::new(servers))
                })
                .collect(),
        )
    }

    /// A profile's own.
    pub(crate) fn of(&self, profile: &ProfileId) -> Option<Arc<Servers>> {
        self.0.get(profile).cloned()
    }

    /// Lets them live as long as the stage does, and tells of them.
    pub(crate) fn run(&self, stage: &mut Stage, home: &Home) {
        for (profile, servers) in &self.0 {
            let (servers, stop) = (Arc::clone(servers), stage.stop.clone());
            stage.spawn(format!("servers of {profile}"), async move {
                servers.run(stop).await;
                Ok(())
            });
        }
        let (all, home, stop) = (self.clone(), home.clone(), stage.stop.clone());
        stage.spawn("news of servers", async move {
            all.tell(&home, &stop).await;
            Ok(())
        });
    }

    /// Writes down how they are whenever that changes; takes it away at the end.
    async fn tell(&self, home: &Home, stop: &CancellationToken) {
        let mut news: Vec<_> = self.0.values().map(|servers| servers.news()).collect();
        loop {
            for one in &mut news {
                one.borrow_and_update();
            }
            notes::write(home, &self.standing());
            let changes = news.iter_mut().map(|one| Box::pin(one.changed()));
            let changed = async {
                if changes.len() == 0 {
                    return std::future::pending().await;
                }
                let (changed, ..) = futures_util::future::select_all(changes).await;
                changed
            };
            tokio::select! {
                () = stop.cancelled() => break,
                // A sender that is gone tells nothing any more.
                changed = changed => if changed.is_err() { stop.cancelled().await; break },
            }
            tokio::time::sleep(notes::GATHER).await;
        }
        notes::remove(home);
    }

    fn standing(&self) -> Vec<(ProfileId, ::mcp::Standing)> {
        let all = self.0.iter();
        all.flat_map(|(profile, servers)| {
            let standing = servers.standing().into_iter();
            standing.map(|one| (profile.clone(), one))
        })
        .collect()
    }
}

/// For the page and its API.
impl ToolServers for Toolboxes {
    fn standing(&self) -> Vec<ToolServer> {
        let all = self.standing().into_iter();
        all.map(|(profile, standing)| notes::shown(profile, standing))
            .collect()
    }

    fn accept(&self, profile: &ProfileId, server: &str, question: &str) -> Result<(), String> {
        let servers = self
            .of(profile)
            .ok_or_else(|| format!("the profile '{profile}' has no servers"))?;
        servers.accept(server, question)
    }
}

/// A server, as the settings have it.
pub(crate) fn options(
    home: &Home,
    profile: &ProfileId,
    name: &str,
    server: &McpServer,
    minder: &[String],
    environment: &dyn Environment,
) -> Options {
    let secrets = |map: &BTreeMap<String, Secret>| -> Vec<(String, Secret)> {
        map.iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    let reach = match &server.transport {
        McpTransport::Program {
            command,
            env,
            secret_env,
        } => {
            let mut variables: BTreeMap<String, String> = INHERITED
                .into_iter()
                .filter_map(|name| Some((name.to_owned(), environment.get(name)?)))
                .collect();
            variables.extend(env.clone());
            Reach::Program(Program {
                launcher: minder.to_vec(),
                command: command.clone(),
                environment: variables.into_iter().collect(),
                secrets: secrets(secret_env),
                folder: seen::folder(home, profile).join(name),
            })
        }
        McpTransport::Http { url, headers } => Reach::Address(Address {
            url: Secret::new(url.clone()),
            headers: secrets(headers),
        }),
    };
    Options {
        name: name.to_owned(),
        reach,
        only: server
            .tools
            .as_ref()
            .map(|tools| tools.iter().cloned().collect()),
        limits: Limits::default(),
    }
}
