//! The services, built and wired, none of them running yet.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, Ports};
use chat::ChatAdapter;
use chat_web::Web;
use courier::{Channels, Courier};
use intake::Intake;
use outbox::{HealthSink, Outlet};
use sandbox::SandboxPort;
use settings::{Environment, Settings};
use waybill::{AccountId, ProfileId};

use crate::channels;
use crate::directory::Routes;
use crate::foundations::Foundations;
use crate::health::{Board, Changes, Herald, Side, home_chat};
use crate::sandboxes::Drivers;
use crate::tenants::{self, Profiles};

/// Most attempts on the wire at once.
const IN_FLIGHT: usize = 64;
/// Most turns at once.
const TURNS: usize = 256;

/// Everything that runs, and what the owner is told of it.
pub(crate) struct Services {
    pub(crate) web: Web,
    pub(crate) adapters: Channels,
    pub(crate) courier: Courier,
    pub(crate) agent: Agent,
    pub(crate) intake: Intake,
    pub(crate) herald: Herald,
    pub(crate) changes: Changes,
    pub(crate) board: Board,
    pub(crate) drivers: Drivers,
    /// Each profile's driver.
    pub(crate) sandboxes: Vec<(ProfileId, Arc<dyn SandboxPort>)>,
    /// Each profile and its model.
    pub(crate) models: Vec<(ProfileId, String)>,
    /// Each account but the web chat's, and its kind.
    pub(crate) accounts: Vec<(AccountId, String)>,
    /// Accounts that could not be built, and why.
    pub(crate) left_out: Vec<(AccountId, String)>,
}

impl Services {
    /// Builds them; looks for models where the settings leave that open.
    pub(crate) async fn build(
        base: &Foundations,
        drivers: Drivers,
        environment: &dyn Environment,
    ) -> Self {
        let web = web(base);
        let channels::Built {
            mut adapters,
            left_out,
        } = channels::build(&base.settings, &base.client, &base.clock);
        let accounts = adapters
            .iter()
            .map(|(name, adapter)| (name.clone(), adapter.descriptor().kind.clone()))
            .collect();
        adapters.insert(
            base.web.clone(),
            Arc::new(web.clone()) as Arc<dyn ChatAdapter>,
        );
        let adapters: Channels = Arc::new(adapters);
        let (board, changes) = Board::new();
        let courier = courier(base, &adapters, board.sink(Side::Speaks));
        let outlet: Arc<dyn Outlet> = Arc::new(courier.handle());
        let tenants = tenants::build(base, &drivers, environment).await;
        let sandboxes = tenants
            .iter()
            .map(|(name, tenant)| (name.clone(), Arc::clone(&tenant.sandbox)))
            .collect();
        let models: Vec<(ProfileId, String)> = tenants
            .iter()
            .map(|(name, tenant)| (name.clone(), tenant.model.name().to_owned()))
            .collect();
        let agent = Agent::new(
            agent::Options {
                install: base.install.clone(),
                turns: TURNS,
                grace: Duration::from_secs(base.settings.gateway.drain_seconds),
            },
            Ports {
                sessions: Arc::new(base.store.clone()),
                tenants: Arc::new(Profiles(tenants)),
                blobs: Arc::clone(&base.blobs),
                files: Arc::new(channels::Fetcher(Arc::clone(&adapters))),
                outlet: Arc::clone(&outlet),
                clock: Arc::clone(&base.clock),
                ids: Arc::clone(&base.ids),
            },
        );
        let intake = intake(base, &models, &agent, &outlet, board.sink(Side::Hears));
        let herald = herald(base, outlet);
        Self {
            web,
            adapters,
            courier,
            agent,
            intake,
            herald,
            changes,
            board,
            drivers,
            sandboxes,
            models,
            accounts,
            left_out,
        }
    }
}

fn web(base: &Foundations) -> Web {
    Web::new(
        chat_web::Options {
            account: base.web.clone(),
            attachment_bytes: base.attachment_bytes(),
        },
        chat_web::Ports {
            visible: Arc::new(base.store.clone()),
            blobs: Arc::clone(&base.blobs),
            clock: Arc::clone(&base.clock),
        },
    )
}

fn courier(base: &Foundations, adapters: &Channels, health: HealthSink) -> Courier {
    let home = base.web.clone();
    Courier::new(
        courier::Options {
            install: base.install.clone(),
            in_flight: IN_FLIGHT,
            home: Arc::new(move |profile| home_chat(&home, profile)),
            health,
        },
        Arc::new(base.store.clone()),
        Arc::clone(&base.blobs),
        Arc::clone(adapters),
        Arc::clone(&base.clock),
        Arc::clone(&base.ids),
    )
}

fn intake(
    base: &Foundations,
    models: &[(ProfileId, String)],
    agent: &Agent,
    outlet: &Arc<dyn Outlet>,
    health: HealthSink,
) -> Intake {
    let about: HashMap<ProfileId, String> = models
        .iter()
        .map(|(name, model)| (name.clone(), format!("Model `{model}`.")))
        .collect();
    let routes = Routes::new(
        Arc::clone(&base.settings),
        base.web.clone(),
        Arc::new(base.store.clone()),
        about,
    );
    Intake::new(
        intake::Options {
            install: base.install.clone(),
            health,
        },
        Arc::new(base.store.clone()),
        Arc::new(base.store.clone()),
        Arc::new(routes),
        Arc::new(agent.handle()),
        Arc::clone(outlet),
        Arc::clone(&base.clock),
        Arc::clone(&base.ids),
    )
}

fn herald(base: &Foundations, outlet: Arc<dyn Outlet>) -> Herald {
    let channels = base.settings.channels.iter();
    Herald {
        homes: homes(&base.settings),
        install: base.install.clone(),
        web: base.web.clone(),
        profiles: channels
            .map(|(name, channel)| (name.clone(), channel.profile.clone()))
            .collect(),
        outbox: Arc::new(base.store.clone()),
        visible: Arc::new(base.store.clone()),
        outlet,
        clock: Arc::clone(&base.clock),
        ids: Arc::clone(&base.ids),
    }
}

/// Every profile that an account or a route names: what is meant for it may fail, and its owner must read of that.
fn homes(settings: &Settings) -> BTreeSet<ProfileId> {
    let accounts = settings.channels.values().map(|channel| &channel.profile);
    let routes = settings.routes.iter().map(|route| &route.profile);
    accounts.chain(routes).cloned().collect()
}

#[cfg(test)]
mod tests {
    use settings::Home;

    use super::*;

    struct Tokens;

    impl Environment for Tokens {
        fn get(&self, name: &str) -> Option<String> {
            (name == "TOKEN").then(|| "123456:AAtoken".to_owned())
        }
    }

    #[test]
    fn profiles_that_only_a_route_names_have_a_home_too() {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"
            [profiles.work]
            [profiles.topic]
            [profiles.idle]
            [channels.bot]
            kind = "telegram"
            profile = "work"
            token = "env:TOKEN"
            [[routes]]
            channel = "bot"
            chat = "-100"
            profile = "topic"
        "#;
        let loaded = settings::read(text, &Home::at(folder.path()).unwrap(), &Tokens);
        let homes = homes(loaded.settings().unwrap());
        let names: Vec<&str> = homes.iter().map(ProfileId::as_str).collect();
        assert_eq!(names, ["topic", "work"], "{:?}", loaded.problems);
    }
}
