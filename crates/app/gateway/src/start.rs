//! Start and stop.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use admin::{ChannelStatus, ProfileCard, ProfileStatus};
use agent::{Agent, Ports, Tenant};
use chat::ChatAdapter;
use chat_web::Web;
use courier::Courier;
use intake::Intake;
use outbox::{OutboxStore, Outlet};
use sandbox::{BlobStore, SandboxPort};
use sandbox_docker::DockerSandbox;
use sandbox_folders::{Folders, HostPath};
use sandbox_process::ProcessSandbox;
use session::VisibleLog;
use settings::{Environment, Home, Settings};
use store_sqlite::Store;
use tokio::net::TcpListener;
use waybill::{AccountId, Clock, Ids, ProfileId};

use crate::directory::Routes;
use crate::health::{Board, Herald, home_chat};
use crate::models::Chooser;
use crate::sandboxes::Drivers;
use crate::status::Standing;
use crate::supervisor::Stage;
use crate::tenants::{Profiles, persona};
use crate::{HomeLock, StartError, SystemClock, SystemIds, channels, install};

/// How the gateway starts.
pub struct Options {
    /// Where everything lies; made by now.
    pub home: Home,
    /// What the owner wants.
    pub settings: Settings,
    /// Another address than the settings'; taken as it is, or refused.
    pub listen: Option<SocketAddr>,
    /// The command line that becomes a sandbox: see [`sandbox_process::Options::launcher`].
    pub launcher: Vec<String>,
}

/// What the owner reads when it runs.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Where it listens.
    pub address: SocketAddr,
    /// Where it should have listened, if that was taken.
    pub instead_of: Option<SocketAddr>,
    /// The one-time login link.
    pub login: String,
    /// Each profile and its model.
    pub profiles: Vec<(ProfileId, String)>,
    /// Each account and its kind.
    pub channels: Vec<(AccountId, String)>,
    /// What was left out, and why.
    pub left_out: Vec<(String, String)>,
}

/// The web chat's account.
const WEB: &str = "web";
/// Most attempts on the wire at once.
const IN_FLIGHT: usize = 64;
/// Most turns at once.
const TURNS: usize = 256;
/// Ports that are tried after the settings' own, if that one is taken.
const NEXT_PORTS: u16 = 20;
/// How long listeners, intake, courier and store may take to stop.
const HALT: Duration = Duration::from_secs(12);

/// The gateway.
pub struct Gateway;

/// A running gateway.
pub struct Running {
    summary: Summary,
    sandboxes: Vec<(ProfileId, Arc<dyn SandboxPort>)>,
    store: Store,
    listeners: Stage,
    intake: Stage,
    turns: Stage,
    courier: Stage,
    grace: Duration,
    ready: Arc<AtomicBool>,
    sandbox: Arc<OnceLock<String>>,
    _lock: HomeLock,
}

impl Gateway {
    /// Starts everything.
    ///
    /// # Errors
    /// [`StartError`] says what to do. Channels and profiles that can't be built are left out and named in the summary.
    pub async fn start(
        options: Options,
        environment: &dyn Environment,
    ) -> Result<Running, StartError> {
        let Options {
            home,
            settings,
            listen,
            launcher,
        } = options;
        let docker = environment
            .get("DOCKER_HOST")
            .filter(|host| !host.is_empty());
        let settings = Arc::new(settings);
        let lock = HomeLock::take(&home)?;
        let (listener, instead_of) = listen_on(listen, settings.gateway.listen).await?;
        let address = listener.local_addr().map_err(|source| StartError::Listen {
            address: settings.gateway.listen,
            source,
        })?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let ids: Arc<dyn Ids> = Arc::new(SystemIds);
        let install = install::install_id(&home, ids.as_ref())?;
        let store = Store::open(&store_sqlite::Options {
            database: home.database(),
            blobs: home.blobs(),
        })?;
        let blobs: Arc<dyn BlobStore> =
            Arc::new(store.blobs().cloned().ok_or(StartError::NoBlobs)?);
        // Every address here is one that the owner wrote: a model or a bot server on the own network speaks plain HTTP.
        let client = net::Client::new(net::Options {
            plain_http: net::PlainHttp::Anywhere,
            ..net::Options::default()
        })?;

        let web_account =
            AccountId::parse(WEB).map_err(|error| StartError::Login(error.to_string()))?;
        let attachment_bytes = settings
            .profiles
            .values()
            .map(|profile| profile.limits.attachment_bytes)
            .max();
        let web = Web::new(
            chat_web::Options {
                account: web_account.clone(),
                attachment_bytes: attachment_bytes.unwrap_or(0),
            },
            chat_web::Ports {
                visible: Arc::new(store.clone()),
                blobs: Arc::clone(&blobs),
                clock: Arc::clone(&clock),
            },
        );
        let channels::Built {
            mut adapters,
            left_out,
        } = channels::build(&settings, &client, &clock);
        let accounts: Vec<(AccountId, String)> = adapters
            .iter()
            .map(|(name, adapter)| (name.clone(), adapter.descriptor().kind.clone()))
            .collect();
        adapters.insert(
            web_account.clone(),
            Arc::new(web.clone()) as Arc<dyn ChatAdapter>,
        );
        let adapters = Arc::new(adapters);

        let drivers = drivers(&home, &install, launcher, docker, &clock);
        let tenants = tenants(&home, &settings, &client, environment, &drivers).await;
        let models: Vec<(ProfileId, String)> = tenants
            .iter()
            .map(|(name, tenant)| (name.clone(), tenant.model.name().to_owned()))
            .collect();

        let sandboxes = tenants
            .iter()
            .map(|(name, tenant)| (name.clone(), Arc::clone(&tenant.sandbox)))
            .collect();
        let board = Board::default();
        let (health, changes) = board.sink();
        let outbox: Arc<dyn OutboxStore> = Arc::new(store.clone());
        let visible: Arc<dyn VisibleLog> = Arc::new(store.clone());

        let home_account = web_account.clone();
        let carrying = Courier::new(
            courier::Options {
                install: install.clone(),
                in_flight: IN_FLIGHT,
                home: Arc::new(move |profile| home_chat(&home_account, profile)),
                health: Arc::clone(&health),
            },
            Arc::clone(&outbox),
            Arc::clone(&blobs),
            Arc::clone(&adapters),
            Arc::clone(&clock),
            Arc::clone(&ids),
        );
        let outlet: Arc<dyn Outlet> = Arc::new(carrying.handle());
        let grace = Duration::from_secs(settings.gateway.drain_seconds);
        let about = tenants
            .iter()
            .map(|(name, tenant)| (name.clone(), about(tenant)))
            .collect();
        let turning = Agent::new(
            agent::Options {
                install: install.clone(),
                turns: TURNS,
                grace,
            },
            Ports {
                sessions: Arc::new(store.clone()),
                tenants: Arc::new(Profiles(tenants)),
                blobs: Arc::clone(&blobs),
                files: Arc::new(channels::Fetcher(Arc::clone(&adapters))),
                outlet: Arc::clone(&outlet),
                clock: Arc::clone(&clock),
                ids: Arc::clone(&ids),
            },
        );
        let taking = Intake::new(
            intake::Options {
                install: install.clone(),
                health,
            },
            Arc::new(store.clone()),
            Arc::new(store.clone()),
            Arc::new(Routes::new(
                Arc::clone(&settings),
                web_account.clone(),
                Arc::clone(&visible),
                about,
            )),
            Arc::new(turning.handle()),
            Arc::clone(&outlet),
            Arc::clone(&clock),
            Arc::clone(&ids),
        );
        let herald = Herald {
            install,
            web: web_account,
            profiles: settings
                .channels
                .iter()
                .map(|(name, channel)| (name.clone(), channel.profile.clone()))
                .collect(),
            outbox,
            visible: Arc::clone(&visible),
            outlet,
            clock: Arc::clone(&clock),
            ids: Arc::clone(&ids),
        };
        herald.prepare().await?;

        let ready = Arc::new(AtomicBool::new(false));
        let sandbox: Arc<OnceLock<String>> = Arc::default();
        let sink = taking.handle();
        let mut courier_stage = Stage::new("courier");
        let stop = courier_stage.stop.clone();
        courier_stage.spawn("courier", async move {
            carrying.run(stop).await.map_err(|error| error.to_string())
        });
        let stop = courier_stage.stop.clone();
        courier_stage.spawn("herald", async move {
            herald.run(changes, stop).await;
            Ok(())
        });
        let resumed = turning.resume().await?;
        if resumed > 0 {
            tracing::warn!(resumed, "turns were cut off by the last stop; they go on");
        }
        let mut turns_stage = Stage::new("turns");
        let stop = turns_stage.stop.clone();
        turns_stage.spawn("turns", async move {
            turning.run(stop).await;
            Ok(())
        });
        let mut intake_stage = Stage::new("intake");
        let stop = intake_stage.stop.clone();
        intake_stage.spawn("intake", async move {
            taking.run(stop).await.map_err(|error| error.to_string())
        });
        let mut listeners = Stage::new("listeners");
        for (name, adapter) in adapters.iter() {
            let adapter = Arc::clone(adapter);
            let sink = sink.clone();
            listeners.spawn_again(format!("listener of {name}"), move || {
                let adapter = Arc::clone(&adapter);
                let sink = sink.clone();
                async move {
                    match adapter.listen(&sink).await {
                        Ok(never) => match never {},
                        Err(error) => error.to_string(),
                    }
                }
            });
        }
        let token = admin::new_login(&store, clock.as_ref())
            .await
            .map_err(|error| StartError::Login(error.to_string()))?;
        let mut unusable: Vec<(String, String)> = settings
            .disabled
            .iter()
            .map(|(section, reason)| (section.to_string(), reason.clone()))
            .collect();
        unusable.extend(
            left_out
                .iter()
                .map(|(name, reason)| (format!("[channels.{name}]"), reason.clone())),
        );
        let summary = Summary {
            address,
            instead_of,
            login: format!("http://{address}/login?token={}", token.reveal()),
            profiles: models.clone(),
            channels: accounts.clone(),
            left_out: unusable,
        };
        let standing = Standing {
            ready: Arc::clone(&ready),
            profiles: models
                .iter()
                .map(|(name, model)| ProfileStatus {
                    id: name.clone(),
                    model: model.clone(),
                })
                .collect(),
            channels: accounts,
            left_out: summary
                .left_out
                .iter()
                .map(|(name, text)| ChannelStatus {
                    name: name.clone(),
                    kind: "configuration".to_owned(),
                    ok: false,
                    text: text.clone(),
                })
                .collect(),
            board,
            sandbox: Arc::clone(&sandbox),
        };
        let serving = admin::Options {
            web,
            visible,
            access: Arc::new(store.clone()),
            blobs,
            profiles: cards(&settings),
            hosts: Vec::new(),
            clock,
            ids,
            attachment_bytes: attachment_bytes.unwrap_or(0),
            status: Arc::new(standing),
        };
        let stop = listeners.stop.clone();
        listeners.spawn("web", async move {
            admin::serve(listener, serving, async move { stop.cancelled().await })
                .await
                .map_err(|error| error.to_string())
        });
        ready.store(true, Ordering::Relaxed);
        Ok(Running {
            summary,
            sandboxes,
            store,
            listeners,
            intake: intake_stage,
            turns: turns_stage,
            courier: courier_stage,
            grace,
            ready,
            sandbox,
            _lock: lock,
        })
    }
}

impl Running {
    /// What the owner reads.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Which walls the sandboxes of each profile have, in a sentence for the owner. Looks at the machine.
    pub async fn walls(&self) -> Vec<(ProfileId, String)> {
        let mut walls = Vec::new();
        for (profile, port) in &self.sandboxes {
            walls.push((profile.clone(), self.wall(port.as_ref()).await));
        }
        walls
    }

    async fn wall(&self, port: &dyn SandboxPort) -> String {
        let sentence = match port.describe().await {
            Ok(sentence) => sentence,
            Err(error) => format!("none: {error}"),
        };
        // The first profile's is the one that the dashboard shows.
        self.sandbox.get_or_init(|| sentence.clone());
        sentence
    }

    /// Waits until a service ends by itself, which it should not; says which.
    pub async fn failed(&mut self) -> String {
        tokio::select! {
            name = self.listeners.first_end() => name,
            name = self.intake.first_end() => name,
            name = self.turns.first_end() => name,
            name = self.courier.first_end() => name,
        }
    }

    /// Stops in order: listeners, intake, turns (with their grace), courier (which finishes what is on the wire), store.
    pub async fn stop(self) {
        self.ready.store(false, Ordering::Relaxed);
        self.listeners.halt(HALT).await;
        self.intake.halt(HALT).await;
        self.turns.halt(self.grace + HALT).await;
        self.courier.halt(HALT).await;
        if let Err(error) = self.store.close().await {
            tracing::error!(%error, "the store did not close cleanly; the next start recovers it");
        }
    }
}

/// The address that was asked for is taken or refused; the settings' own may move to the next free port.
async fn listen_on(
    asked: Option<SocketAddr>,
    configured: SocketAddr,
) -> Result<(TcpListener, Option<SocketAddr>), StartError> {
    let refused = |address| move |source| StartError::Listen { address, source };
    if let Some(address) = asked {
        return Ok((
            TcpListener::bind(address).await.map_err(refused(address))?,
            None,
        ));
    }
    let first = match TcpListener::bind(configured).await {
        Ok(listener) => return Ok((listener, None)),
        Err(source) if source.kind() == std::io::ErrorKind::AddrInUse && configured.port() != 0 => {
            source
        }
        Err(source) => return Err(refused(configured)(source)),
    };
    for step in 1..=NEXT_PORTS {
        let Some(port) = configured.port().checked_add(step) else {
            break;
        };
        let address = SocketAddr::new(configured.ip(), port);
        if let Ok(listener) = TcpListener::bind(address).await {
            return Ok((listener, Some(configured)));
        }
    }
    Err(refused(configured)(first))
}

fn drivers(
    home: &Home,
    install: &str,
    launcher: Vec<String>,
    docker: Option<String>,
    clock: &Arc<dyn Clock>,
) -> Drivers {
    let folders = Folders::new(HostPath::new(home.profiles()));
    Drivers {
        docker: Arc::new(DockerSandbox::new(sandbox_docker::Options {
            install: install.to_owned(),
            socket: docker,
            folders: folders.clone(),
            clock: Arc::clone(clock),
        })),
        process: Arc::new(ProcessSandbox::new(sandbox_process::Options {
            launcher,
            folders,
        })),
    }
}

async fn tenants(
    home: &Home,
    settings: &Settings,
    client: &net::Client,
    environment: &dyn Environment,
    drivers: &Drivers,
) -> HashMap<ProfileId, Arc<Tenant>> {
    let mut chooser = Chooser::new(settings, client, environment);
    let mut tenants = HashMap::new();
    for (name, profile) in &settings.profiles {
        let (driver, port) = drivers.port(profile.sandbox.driver, &profile.sandbox.image);
        let tenant = Tenant {
            model: chooser.choose(&profile.model).await,
            sandbox: port,
            spec: profile.sandbox.spec(driver),
            placement: profile.sandbox.placement,
            persona: persona(home, name, profile),
            steps: profile.limits.turn_steps,
            attachment_bytes: profile.limits.attachment_bytes,
        };
        tenants.insert(name.clone(), Arc::new(tenant));
    }
    tenants
}

/// The profiles that the page offers; `default` first, if there is one.
fn cards(settings: &Settings) -> Vec<ProfileCard> {
    let mut cards: Vec<ProfileCard> = settings
        .profiles
        .keys()
        .map(|id| ProfileCard {
            id: id.clone(),
            description: String::new(),
        })
        .collect();
    cards.sort_by_key(|card| card.id.as_str() != "default");
    cards
}

fn about(tenant: &Tenant) -> String {
    format!("Model `{}`.", tenant.model.name())
}
