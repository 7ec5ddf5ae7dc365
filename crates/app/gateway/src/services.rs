//! The services, built and wired, none of them running yet.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, Ports, Purse};
use chat::ChatAdapter;
use chat_api::Api;
use chat_web::Web;
use courier::{Channels, Courier};
use intake::Intake;
use outbox::{HealthSink, Outlet};
use redact::Redactor;
use sandbox::SandboxPort;
use session::SessionStore as _;
use settings::{Environment, Settings};
use store_sqlite::Search;
use waybill::{AccountId, ProfileId, Secret};

use crate::audit::Record;
use crate::channels;
use crate::directory::Routes;
use crate::error::StartError;
use crate::foundations::Foundations;
use crate::health::{Board, Changes, Crier, Herald, Side, home_chat};
use crate::knowledge::{self, Chats};
use crate::mcp::Toolboxes;
use crate::people::Known;
use crate::sandboxes::Drivers;
use crate::tenants::{self, Profiles};

/// Most attempts on the wire at once.
const IN_FLIGHT: usize = 256;
/// Most turns at once. A turn that waits for its model costs some tens of kilobytes, and a crowd of programs must not keep people's
/// turns waiting.
const TURNS: usize = 1_024;

/// Everything that runs, and what the owner is told of it.
pub(crate) struct Services {
    pub(crate) web: Web,
    pub(crate) api: Api,
    pub(crate) adapters: Channels,
    pub(crate) courier: Courier,
    pub(crate) agent: Agent,
    pub(crate) intake: Intake,
    pub(crate) herald: Herald,
    pub(crate) crier: Arc<Crier>,
    pub(crate) changes: Changes,
    pub(crate) board: Board,
    pub(crate) drivers: Drivers,
    /// Each profile's driver.
    pub(crate) sandboxes: Vec<(ProfileId, Arc<dyn SandboxPort>)>,
    /// Each profile's servers of tools.
    pub(crate) toolboxes: Toolboxes,
    /// What is spent.
    pub(crate) purse: Arc<Purse>,
    /// What was said, to be searched.
    pub(crate) search: Search,
    /// Skills that can't be used, and why.
    pub(crate) broken_skills: Vec<(String, String)>,
    /// Each profile and its model.
    pub(crate) models: Vec<(ProfileId, String)>,
    /// Each account but the web chat's, and its kind.
    pub(crate) accounts: Vec<(AccountId, String)>,
    /// Accounts that could not be built, and why.
    pub(crate) left_out: Vec<(AccountId, String)>,
}

impl Services {
    /// Builds them; looks for models where the settings leave that open.
    ///
    /// # Errors
    /// If nothing could keep the secrets out of sight.
    pub(crate) async fn build(
        base: &Foundations,
        drivers: Drivers,
        minder: &[String],
        environment: &dyn Environment,
    ) -> Result<Self, StartError> {
        let redactor = Arc::new(redactor(&base.settings, environment)?);
        let toolboxes = Toolboxes::build(
            &base.home,
            &base.settings,
            &base.client,
            &redactor,
            minder,
            environment,
        );
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
        let api = api(base);
        adapters.insert(
            base.api.clone(),
            Arc::new(api.clone()) as Arc<dyn ChatAdapter>,
        );
        let adapters: Channels = Arc::new(adapters);
        let (board, changes) = Board::new();
        let courier = courier(base, &adapters, board.sink(Side::Speaks));
        let outlet: Arc<dyn Outlet> = Arc::new(courier.handle());
        let tenants = tenants::build(base, &drivers, &toolboxes, environment).await;
        let sandboxes = tenants
            .iter()
            .map(|(name, tenant)| (name.clone(), Arc::clone(&tenant.sandbox)))
            .collect();
        let models: Vec<(ProfileId, String)> = tenants
            .iter()
            .map(|(name, tenant)| (name.clone(), tenant.model.name().to_owned()))
            .collect();
        let running = base.store.running_turns().await?;
        let limits = tenants::limits(&base.settings);
        let clock = Arc::clone(&base.clock);
        let purse = Arc::new(Purse::load(limits, &base.store, &running, clock).await?);
        let search = Search::new(base.store.clone(), &base.home.state().join("search.db"));
        let broken_skills = knowledge::broken(&base.home, &base.settings).await;
        let agent = Agent::new(
            agent::Options {
                install: base.install.clone(),
                turns: TURNS,
                grace: Duration::from_secs(base.settings.gateway.drain_seconds),
            },
            Ports {
                inbox: Arc::new(base.store.clone()),
                last_words: Arc::new(base.store.clone()),
                sessions: Arc::new(base.store.clone()),
                tenants: Arc::new(Profiles(tenants)),
                blobs: Arc::clone(&base.blobs),
                files: Arc::new(channels::Fetcher(Arc::clone(&adapters))),
                outlet: Arc::clone(&outlet),
                recall: Arc::new(search.clone()),
                plans: Arc::new(base.store.clone()),
                contacts: Arc::new(Chats {
                    store: base.store.clone(),
                    settings: Arc::clone(&base.settings),
                    web: base.web.clone(),
                }),
                clock: Arc::clone(&base.clock),
                ids: Arc::clone(&base.ids),
                purse: Arc::clone(&purse),
                people: Arc::new(Known::new(
                    &base.settings,
                    base.web.clone(),
                    base.api.clone(),
                )),
                audit: Arc::new(record(&base.home)?),
                redactor,
            },
        );
        let intake = intake(
            base,
            &models,
            &agent,
            &purse,
            &outlet,
            board.sink(Side::Hears),
        );
        let crier = Arc::new(crier(base, outlet));
        let herald = herald(base, &crier);
        Ok(Self {
            web,
            api,
            adapters,
            courier,
            agent,
            intake,
            herald,
            crier,
            changes,
            board,
            drivers,
            sandboxes,
            toolboxes,
            purse,
            search,
            broken_skills,
            models,
            accounts,
            left_out,
        })
    }
}

/// Where decisions on what leaves a sandbox are written down.
fn record(home: &settings::Home) -> Result<Record, StartError> {
    let state = home.state();
    Record::open(&state).map_err(|source| StartError::File {
        path: state.display().to_string(),
        source,
    })
}

/// Keeps every secret of the settings, and the keys that `model = "auto"` may find, out of what models and people read.
fn redactor(settings: &Settings, environment: &dyn Environment) -> Result<Redactor, StartError> {
    let found = model_http::known::KNOWN.iter().filter_map(|known| {
        let key = environment.get(known.key_variable)?;
        Some((
            known.key_variable.to_owned(),
            Secret::new(key.trim().to_owned()),
        ))
    });
    Ok(Redactor::new(settings.secrets().into_iter().chain(found))?)
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

fn api(base: &Foundations) -> Api {
    Api::new(
        chat_api::Options {
            account: base.api.clone(),
            attachment_bytes: base.attachment_bytes(),
        },
        chat_api::Ports {
            answers: Arc::new(base.store.clone()),
            blobs: Arc::clone(&base.blobs),
            clock: Arc::clone(&base.clock),
            ids: Arc::clone(&base.ids),
        },
    )
}

fn courier(base: &Foundations, adapters: &Channels, health: HealthSink) -> Courier {
    let (home, homes) = (base.web.clone(), homes(&base.settings));
    let first = first(&base.settings);
    Courier::new(
        courier::Options {
            install: base.install.clone(),
            in_flight: IN_FLIGHT,
            home: Arc::new(move |profile| {
                home_chat(&home, housed(profile, &homes, first.as_ref()))
            }),
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
    purse: &Arc<Purse>,
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
    )
    .with_programs(base.api.clone(), Arc::new(base.store.clone()))
    .with_purse(Arc::clone(purse))
    .with_skills_in(base.home.clone());
    Intake::new(
        intake::Options {
            install: base.install.clone(),
            health,
        },
        Arc::new(base.store.clone()),
        Arc::new(base.store.clone()),
        Arc::new(routes),
        Arc::new(agent.handle()),
        Arc::new(base.store.clone()),
        Arc::clone(outlet),
        Arc::clone(&base.clock),
        Arc::clone(&base.ids),
    )
}

fn crier(base: &Foundations, outlet: Arc<dyn Outlet>) -> Crier {
    Crier {
        install: base.install.clone(),
        web: base.web.clone(),
        first: first(&base.settings),
        outbox: Arc::new(base.store.clone()),
        visible: Arc::new(base.store.clone()),
        outlet,
        clock: Arc::clone(&base.clock),
        ids: Arc::clone(&base.ids),
    }
}

/// The profile whose owner is told what concerns no profile: `default`, if there is one.
fn first(settings: &Settings) -> Option<ProfileId> {
    let mut names = settings.profiles.keys();
    let default = names.clone().find(|name| name.as_str() == "default");
    default.or_else(|| names.next()).cloned()
}

fn herald(base: &Foundations, crier: &Arc<Crier>) -> Herald {
    let channels = base.settings.channels.iter();
    Herald {
        homes: homes(&base.settings),
        profiles: channels
            .map(|(name, channel)| (name.clone(), channel.profile.clone()))
            .collect(),
        outbox: Arc::new(base.store.clone()),
        crier: Arc::clone(crier),
        ids: Arc::clone(&base.ids),
    }
}

/// Every profile: what is meant for it may fail, and its owner must read of that.
pub(crate) fn homes(settings: &Settings) -> BTreeSet<ProfileId> {
    settings.profiles.keys().cloned().collect()
}

/// The profile in whose home it is told what concerns this one: the first one's, where this one was removed and has none.
fn housed<'a>(
    profile: &'a ProfileId,
    homes: &BTreeSet<ProfileId>,
    first: Option<&'a ProfileId>,
) -> &'a ProfileId {
    match first {
        Some(first) if !homes.contains(profile) => first,
        Some(_) | None => profile,
    }
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

    fn settings(text: &str) -> settings::Loaded {
        let folder = tempfile::tempdir().unwrap();
        settings::read(text, &Home::at(folder.path()).unwrap(), &Tokens)
    }

    #[test]
    fn every_profile_has_a_home_and_one_that_was_removed_the_first_ones() {
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
        let loaded = settings(text);
        let settings = loaded.settings().unwrap();
        let homes = homes(settings);
        let names: Vec<&str> = homes.iter().map(ProfileId::as_str).collect();
        assert_eq!(names, ["idle", "topic", "work"], "{:?}", loaded.problems);
        let first = first(settings);
        let gone = ProfileId::parse("gone").unwrap();
        for profile in &homes {
            assert_eq!(housed(profile, &homes, first.as_ref()), profile);
        }
        assert_eq!(Some(housed(&gone, &homes, first.as_ref())), first.as_ref());
        assert!(homes.contains(first.as_ref().unwrap()));
        assert_eq!(housed(&gone, &BTreeSet::new(), None), &gone);
    }
}
