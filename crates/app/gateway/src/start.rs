//! The start, in order: lock and address, store, services, courier, turns, intake, listeners.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use admin::{ChannelStatus, ProfileCard, ProfileStatus};
use courier::Channels;
use intake::IntakeHandle;
use settings::{Environment, Home, Section, Settings};
use store_sqlite::Entered;
use tokio::net::{TcpListener, TcpSocket};
use waybill::AccountId;

use crate::care::{self, Caretaker, Storage};
use crate::foundations::Foundations;
use crate::health::home_chat;
use crate::retention::{Keeper, Tallies};
use crate::running::{Running, Stages, Summary};
use crate::sandboxes::{self, Drivers, Ground, Reaper};
use crate::services::{Services, homes};
use crate::status::{Coins, Inbox, Standing, Walls};
use crate::supervisor::Stage;
use crate::system::allow_open_files;
use crate::{HomeLock, StartError};

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
    /// The command line that becomes the minder of a server of tools: see [`::mcp::minder`].
    pub minder: Vec<String>,
    /// Which accounts are heard and served.
    pub accounts: Accounts,
}

/// Which accounts are heard and served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Accounts {
    /// Those of the settings, and the gateway's own.
    #[default]
    All,
    /// The gateway's own alone: what waits for the others waits on.
    Own,
}

/// Connections that may wait to be accepted; the system's own bound holds besides.
const CONNECTIONS: u32 = 4_096;
/// Ports that are tried after the settings' own, if that one is taken.
const NEXT_PORTS: u16 = 20;

/// The gateway.
pub struct Gateway;

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
            minder,
            accounts,
        } = options;
        let settings = match accounts {
            Accounts::All => settings,
            Accounts::Own => Settings {
                channels: BTreeMap::new(),
                routes: Vec::new(),
                ..settings
            },
        };
        let lock = HomeLock::take(&home)?;
        allow_open_files();
        let (listener, instead_of) = listen_on(listen, settings.gateway.listen)?;
        let address = listener.local_addr().map_err(|source| StartError::Listen {
            address: settings.gateway.listen,
            source,
        })?;
        care::make_way(&home);
        let base = Foundations::lay(home, settings, lock)?;
        // Before anything else works on the store: what it calls open may not be.
        let entered = care::enter(
            &base.home,
            &base.store,
            base.ids.as_ref(),
            base.clock.as_ref(),
        )
        .await?;
        let drivers = Drivers::new(Ground {
            home: &base.home,
            install: &base.install,
            clock: &base.clock,
            launcher,
            docker: sandboxes::docker_host(environment),
            remotes: sandboxes::remotes(&base.settings),
            beside: false,
        });
        let services = Services::build(&base, drivers, &minder, environment).await?;
        services.herald.prepare().await?;
        let token = admin::new_login(&base.store, base.clock.as_ref())
            .await
            .map_err(StartError::Login)?;
        let summary = Summary {
            address,
            instead_of,
            login: format!("http://{address}/login?token={}", token.reveal()),
            profiles: services.models.clone(),
            channels: services.accounts.clone(),
            left_out: left_out(&base.settings, &services),
        };
        run(base, services, entered, summary, listener).await
    }
}

/// Lets the services run, each after those that it hands on to.
async fn run(
    base: Foundations,
    services: Services,
    entered: Entered,
    summary: Summary,
    listener: TcpListener,
) -> Result<Running, StartError> {
    let ready = Arc::new(AtomicBool::new(false));
    let walls = Walls::default();
    let storage = Storage::default();
    let let_go = Tallies::default();
    let serving = admin::Options {
        v1: admin::Programs {
            api: services.api,
            keys: Arc::new(base.store.clone()),
            answers: Arc::new(base.store.clone()),
        },
        web: services.web,
        visible: Arc::new(base.store.clone()),
        access: Arc::new(base.store.clone()),
        blobs: Arc::clone(&base.blobs),
        outbox: Arc::new(base.store.clone()),
        inbox: Arc::new(Inbox(Arc::new(base.store.clone()))),
        tally: services.courier.tally(),
        started_at: base.clock.now(),
        profiles: cards(&base.settings),
        hosts: Vec::new(),
        keepers: services
            .drivers
            .keepers()
            .into_iter()
            .map(|(_driver, keeper)| keeper)
            .collect(),
        servers: Arc::new(services.toolboxes.clone()),
        money: Arc::new(Coins(Arc::clone(&services.purse))),
        ledger: Arc::new(base.store.clone()),
        logbook: services.agent.handle().logbook(),
        clock: Arc::clone(&base.clock),
        ids: Arc::clone(&base.ids),
        attachment_bytes: base.attachment_bytes(),
        status: Arc::new(Standing {
            ready: Arc::clone(&ready),
            profiles: summary
                .profiles
                .iter()
                .map(|(name, model)| ProfileStatus {
                    id: name.clone(),
                    model: model.clone(),
                    walls: String::new(),
                })
                .collect(),
            channels: summary.channels.clone(),
            left_out: summary.left_out.iter().map(not_there).collect(),
            unbuilt: unbuilt(&base.settings, &services.left_out),
            board: services.board,
            storage: storage.clone(),
            let_go: let_go.clone(),
            walls: walls.clone(),
        }),
    };

    let mut courier = Stage::new("courier");
    let (carrying, stop) = (services.courier, courier.stop.clone());
    courier.spawn("courier", async move {
        carrying.run(stop).await;
        Ok(())
    });
    let (herald, changes, stop) = (services.herald, services.changes, courier.stop.clone());
    courier.spawn("herald", async move {
        herald.run(changes, stop).await;
        Ok(())
    });
    let keeper = Arc::new(keeper(&base, let_go));
    courier.spawn_again("retention", move || {
        let keeper = Arc::clone(&keeper);
        async move { keeper.run().await }
    });

    let search = services.search;
    courier.spawn_again("search", move || {
        let search = search.clone();
        async move { search.keep().await }
    });

    let caretaker = Caretaker {
        home: base.home.clone(),
        store: base.store.clone(),
        storage,
        crier: services.crier,
        ids: Arc::clone(&base.ids),
        entered,
    };
    let stop = courier.stop.clone();
    courier.spawn("caretaker", async move {
        caretaker.run(stop).await;
        Ok(())
    });

    let mut servers = Stage::new("servers");
    services.toolboxes.run(&mut servers, &base.home);

    let resumed = services.agent.resume().await?;
    if resumed > 0 {
        tracing::warn!(resumed, "turns were cut off by the last stop; they go on");
    }
    let mut turns = Stage::new("turns");
    let (agent, stop) = (services.agent, turns.stop.clone());
    turns.spawn("turns", async move {
        agent.run(stop).await;
        Ok(())
    });
    let reaper = Reaper {
        keepers: services.drivers.keepers(),
        clock: Arc::clone(&base.clock),
        docker: Some(Arc::clone(&services.drivers.docker)),
    };
    let stop = turns.stop.clone();
    turns.spawn("reaper", async move {
        reaper.run(stop).await;
        Ok(())
    });

    let sink = services.intake.handle();
    let mut intake = Stage::new("intake");
    let (taking, stop) = (services.intake, intake.stop.clone());
    intake.spawn("intake", async move {
        taking.run(stop).await.map_err(|error| error.to_string())
    });

    let mut listeners = Stage::new("listeners");
    listen_to(&mut listeners, &services.adapters, &sink);
    let stop = listeners.stop.clone();
    listeners.spawn("web", async move {
        let stopped = async move { stop.cancelled().await };
        admin::serve(listener, serving, stopped)
            .await
            .map_err(|error| error.to_string())
    });
    ready.store(true, Ordering::Relaxed);
    Ok(Running {
        summary,
        stages: Stages {
            listeners,
            intake,
            turns,
            servers,
            courier,
        },
        sandboxes: services.sandboxes,
        drivers: services.drivers,
        store: base.store,
        home: base.home,
        ids: base.ids,
        grace: Duration::from_secs(base.settings.gateway.drain_seconds),
        ready,
        walls,
        _lock: base.lock,
    })
}

/// What lets go of things. It ends with the courier, since notices are the last that may need a home.
fn keeper(base: &Foundations, tallies: Tallies) -> Keeper {
    let profiles = base.settings.profiles.keys().cloned();
    let homes = profiles
        .chain(homes(&base.settings))
        .filter_map(|profile| Some(home_chat(&base.web, &profile)?.conversation))
        .collect();
    Keeper {
        store: Arc::new(base.store.clone()),
        retention: base.settings.retention,
        homes,
        clock: Arc::clone(&base.clock),
        tallies,
    }
}

fn listen_to(listeners: &mut Stage, adapters: &Channels, sink: &IntakeHandle) {
    for (name, adapter) in adapters.iter() {
        let (adapter, sink) = (Arc::clone(adapter), sink.clone());
        listeners.spawn_again(format!("listener of {name}"), move || {
            let (adapter, sink) = (Arc::clone(&adapter), sink.clone());
            async move {
                match adapter.listen(&sink).await {
                    Ok(never) => match never {},
                    Err(error) => error.to_string(),
                }
            }
        });
    }
}

/// What the settings left out, and what could not be built.
fn left_out(settings: &Settings, services: &Services) -> Vec<(String, String)> {
    let disabled = settings
        .disabled
        .iter()
        .map(|(section, reason)| (section.to_string(), reason.clone()));
    let unbuilt = services
        .left_out
        .iter()
        .map(|(name, reason)| (format!("[channels.{name}]"), reason.clone()));
    let skills = services.broken_skills.iter().cloned();
    disabled.chain(unbuilt).chain(skills).collect()
}

/// Accounts that the file names and that do not run.
fn unbuilt(settings: &Settings, left_out: &[(AccountId, String)]) -> Vec<AccountId> {
    let disabled = settings.disabled.iter().filter_map(|(section, _)| {
        let Section::Channel(name) = section else {
            return None;
        };
        name.parse().ok()
    });
    disabled
        .chain(left_out.iter().map(|(name, _)| name.clone()))
        .collect()
}

fn not_there((name, reason): &(String, String)) -> ChannelStatus {
    ChannelStatus {
        name: name.clone(),
        kind: "configuration".to_owned(),
        ok: false,
        text: reason.clone(),
    }
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

/// Takes an address, with room for a thousand connections that come in the same moment: the usual 128 and what the system does
/// beyond lose some of them.
fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(CONNECTIONS)
}

/// The address that was asked for is taken or refused; the settings' own may move to the next free port.
fn listen_on(
    asked: Option<SocketAddr>,
    configured: SocketAddr,
) -> Result<(TcpListener, Option<SocketAddr>), StartError> {
    let refused = |address| move |source| StartError::Listen { address, source };
    if let Some(address) = asked {
        return Ok((bind(address).map_err(refused(address))?, None));
    }
    let first = match bind(configured) {
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
        if let Ok(listener) = bind(address) {
            return Ok((listener, Some(configured)));
        }
    }
    Err(refused(configured)(first))
}
