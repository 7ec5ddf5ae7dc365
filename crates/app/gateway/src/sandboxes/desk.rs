//! The sandboxes of a home for its owner, beside a running gateway or without one.

use std::collections::BTreeMap;
use std::sync::Arc;

use sandbox::{
    Driver, Running, SandboxError, SandboxKey, SandboxPath, SandboxPort, SandboxSpec, Standing,
    Start, Window,
};
use settings::{Environment, Home, Profile, Settings};
use waybill::{
    Clock, Ids, Origin, Placement, ProfileId, ProfileScope, SessionId, SessionKey, TaskId, TurnId,
    TurnScope,
};

use super::{Drivers, Ground};
use crate::{StartError, SystemClock, SystemIds, install};

/// The conversation that an owner's commands belong to, where a sandbox has one conversation.
const CONVERSATION: &str = "owner";
/// The better shell, if the sandbox has it.
const SHELL: &str = "if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi";
/// Fewest signs of an id that may stand for the whole.
const FEWEST: usize = 6;

/// What stands, and what could not be asked.
#[derive(Debug, Default)]
pub struct Looked {
    /// What stands.
    pub standing: Vec<Standing>,
    /// What could not be asked, with the reason: drivers, and machines of a driver.
    pub away: Vec<(Driver, String)>,
}

/// The sandboxes of a home.
pub struct Sandboxes {
    home: Home,
    drivers: Drivers,
    settings: Settings,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
}

/// A profile's sandbox, ready to be used.
pub(crate) struct Ready {
    pub(crate) port: Arc<dyn SandboxPort>,
    pub(crate) spec: SandboxSpec,
    pub(crate) scope: TurnScope,
}

impl Sandboxes {
    /// Those of this home. Starts nothing and takes no lock. `launcher` as in [`crate::Options::launcher`]. To be called within a
    /// Tokio runtime.
    ///
    /// # Errors
    /// If the home's id can't be read.
    pub fn of(
        home: &Home,
        settings: Settings,
        launcher: Vec<String>,
        environment: &dyn Environment,
    ) -> Result<Self, StartError> {
        let ids: Arc<dyn Ids> = Arc::new(SystemIds);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let drivers = Drivers::new(Ground {
            home,
            install: &install::install_id(home, ids.as_ref())?,
            clock: &clock,
            launcher,
            docker: super::docker_host(environment),
            remotes: super::remotes(&settings),
            beside: true,
        });
        Ok(Self {
            home: home.clone(),
            drivers,
            settings,
            clock,
            ids,
        })
    }

    /// What stands now.
    pub async fn look(&self) -> Looked {
        let mut looked = Looked::default();
        for (driver, keeper) in self.drivers.keepers() {
            match keeper.standing().await {
                Ok(standing) => {
                    looked.standing.extend(standing);
                    let away = keeper.away().into_iter();
                    looked.away.extend(away.map(|reason| (driver, reason)));
                }
                Err(error) => looked.away.push((driver, error.to_string())),
            }
        }
        looked
    }

    /// Ends those whose lease is over; says which.
    pub async fn reap(&self) -> Looked {
        let mut looked = Looked::default();
        for (driver, keeper) in self.drivers.keepers() {
            match keeper.reap(self.clock.now()).await {
                Ok(ended) => looked.standing.extend(ended),
                Err(error) => looked.away.push((driver, error.to_string())),
            }
        }
        looked
    }

    /// Ends one, by its id or by at least six signs of its beginning; returns what it was.
    ///
    /// # Errors
    /// [`SandboxError::Failed`] if there is none, or more than one.
    pub async fn stop(&self, id: &str) -> Result<Standing, SandboxError> {
        let looked = self.look().await;
        let found = one(&looked.standing, id)?.clone();
        for (driver, keeper) in self.drivers.keepers() {
            if driver == found.driver {
                keeper.stop(&found.id).await?;
                return Ok(found);
            }
        }
        Err(nothing(id))
    }

    /// A shell in a sandbox: a profile's own, or the one with this id. Dropped, it is killed.
    ///
    /// # Errors
    /// [`SandboxError`] if there is none of that name, or it can't be started.
    pub async fn shell(
        &self,
        name: &str,
        window: Window,
        env: BTreeMap<String, String>,
    ) -> Result<Box<dyn Running>, SandboxError> {
        let ready = self.named(name).await?;
        let start = Start {
            command: SHELL.to_owned(),
            directory: SandboxPath::parse(SandboxPath::WORKSPACE)?,
            env,
            terminal: Some(window),
        };
        ready.port.start(&ready.scope, &ready.spec, start).await
    }

    async fn named(&self, name: &str) -> Result<Ready, SandboxError> {
        if let Some((id, profile)) = self
            .settings
            .profiles
            .iter()
            .find(|(id, _)| id.as_str() == name)
        {
            return Ok(self.ready(id, profile));
        }
        let looked = self.look().await;
        let standing = one(&looked.standing, name)?;
        let unread = || {
            SandboxError::Failed(format!(
                "nobody knows whose the sandbox {} is; `tidings sandboxes stop` can end it",
                standing.id
            ))
        };
        let key: SandboxKey = standing.key.parse().map_err(|_malformed| unread())?;
        let profile = self.settings.profiles.get(key.profile()).ok_or_else(|| {
            SandboxError::Failed(format!(
                "the profile '{}' of that sandbox is not in tidings.toml",
                key.profile()
            ))
        })?;
        let (driver, port) = self
            .drivers
            .port(profile.sandbox.driver, &profile.sandbox.image);
        Ok(Ready {
            port,
            spec: profile.sandbox.spec(driver),
            scope: scope_of(&key, self.ids.as_ref()),
        })
    }

    /// The sandbox that a profile's owner gets.
    pub(crate) fn ready(&self, id: &ProfileId, profile: &Profile) -> Ready {
        let (driver, port) = self
            .drivers
            .port(profile.sandbox.driver, &profile.sandbox.image);
        let session = SessionKey::Local(CONVERSATION.to_owned());
        let key = match profile.sandbox.placement {
            Placement::PerProfile => SandboxKey::Profile(id.clone()),
            Placement::PerSession | Placement::PerTask => SandboxKey::Session(id.clone(), session),
        };
        Ready {
            port,
            spec: profile.sandbox.spec(driver),
            scope: scope_of(&key, self.ids.as_ref()),
        }
    }

    /// The home that they belong to.
    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// The profiles that can work.
    pub(crate) fn profiles(&self) -> &BTreeMap<ProfileId, Profile> {
        &self.settings.profiles
    }
}

/// The scope of an owner's command in this sandbox.
fn scope_of(key: &SandboxKey, ids: &dyn Ids) -> TurnScope {
    let owner = || SessionKey::Local(CONVERSATION.to_owned());
    let (session, task, placement) = match key {
        SandboxKey::Profile(_) => (owner(), TaskId::fresh(ids), Placement::PerProfile),
        SandboxKey::Session(_, session) => {
            (session.clone(), TaskId::fresh(ids), Placement::PerSession)
        }
        SandboxKey::Task(_, task) => (owner(), *task, Placement::PerTask),
    };
    ProfileScope::enter(key.profile().clone())
        .session(session, SessionId::fresh(ids))
        .begin_turn(TurnId::fresh(ids), task, Origin::Operator, placement)
}

fn nothing(id: &str) -> SandboxError {
    SandboxError::Failed(format!(
        "there is no profile and no sandbox '{}'; `tidings sandboxes list` shows the ids of those that stand",
        id.escape_debug()
    ))
}

/// The one that an id or its beginning names.
fn one<'a>(standing: &'a [Standing], id: &str) -> Result<&'a Standing, SandboxError> {
    if let Some(found) = standing.iter().find(|standing| standing.id == id) {
        return Ok(found);
    }
    let mut begin = standing
        .iter()
        .filter(|standing| id.len() >= FEWEST && standing.id.starts_with(id));
    match (begin.next(), begin.next()) {
        (Some(found), None) => Ok(found),
        (Some(_), Some(_)) => Err(SandboxError::Failed(format!(
            "more than one sandbox begins with '{}'; give more of its id",
            id.escape_debug()
        ))),
        (None, _) => Err(nothing(id)),
    }
}

#[cfg(test)]
mod tests {
    use sandbox::State;
    use testkit::clock::CountingIds;

    use super::*;

    fn standing(id: &str) -> Standing {
        Standing {
            id: id.to_owned(),
            profile: None,
            key: String::new(),
            driver: Driver::Docker,
            made_of: String::new(),
            state: State::Running,
            since: None,
            lease: None,
            disk: None,
            memory: None,
            processes: Vec::new(),
        }
    }

    #[test]
    fn an_id_names_one_sandbox_or_none() {
        let all = [standing("abcdef11"), standing("abcdef22"), standing("abc")];
        let id = |text| one(&all, text).map(|found| found.id.as_str());
        assert_eq!(id("abcdef1").unwrap(), "abcdef11");
        assert_eq!(id("abc").unwrap(), "abc");
        assert!(
            id("abcdef")
                .unwrap_err()
                .to_string()
                .contains("more than one")
        );
        for text in ["", "abcde", "zzzzzzz"] {
            let error = id(text).unwrap_err().to_string();
            assert!(
                error.contains("there is no profile and no sandbox"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn a_shell_opens_in_the_sandbox_that_was_named_and_in_no_other() {
        let ids = CountingIds::default();
        for text in [
            "profile:work",
            "session:work:chat:bot:7",
            "session:work:local:owner",
            "task:work:tsk_00000000000000000000000000000007",
        ] {
            let key: SandboxKey = text.parse().unwrap();
            assert_eq!(scope_of(&key, &ids).sandbox(), &key);
        }
    }
}
