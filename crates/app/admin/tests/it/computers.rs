//! Sandboxes that a test put up.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use sandbox::{Driver, Keeper, Logbook, Ran, SandboxError, Standing, State};
use waybill::Timestamp;

/// What an agent that means harm runs.
pub(crate) const EVIL: &str = "sh -c '</code><script>alert(1)</script>'";

/// Two sandboxes: `one` can be ended, `stubborn` can't.
#[derive(Default)]
pub(crate) struct Computers {
    ended: Mutex<Vec<String>>,
}

impl Computers {
    pub(crate) fn ended(&self) -> Vec<String> {
        self.ended.lock().unwrap().clone()
    }
}

fn standing(id: &str, key: &str, state: State) -> Standing {
    Standing {
        id: id.to_owned(),
        profile: Some("default".parse().unwrap()),
        key: key.to_owned(),
        driver: Driver::Docker,
        made_of: "debian:bookworm-slim".to_owned(),
        state,
        since: Some(Timestamp::UNIX_EPOCH),
        lease: Some(Timestamp::MAX),
        disk: Some(3 << 20),
        memory: None,
        processes: vec![(7, EVIL.to_owned())],
    }
}

#[async_trait]
impl Keeper for Computers {
    async fn standing(&self) -> Result<Vec<Standing>, SandboxError> {
        let mut all = vec![
            standing("one", "session:default:chat:bot:7", State::Running),
            standing("stubborn", "profile:default", State::Stopped),
        ];
        all.retain(|one| !self.ended().contains(&one.id));
        Ok(all)
    }

    fn away(&self) -> Vec<String> {
        vec!["ana@<far>:22 can't be reached".to_owned()]
    }

    async fn stop(&self, id: &str) -> Result<(), SandboxError> {
        if id == "stubborn" {
            return Err(SandboxError::Failed("the engine hangs".to_owned()));
        }
        self.ended.lock().unwrap().push(id.to_owned());
        Ok(())
    }

    async fn reap(&self, _: Timestamp) -> Result<Vec<Standing>, SandboxError> {
        Ok(Vec::new())
    }
}

/// A kind of sandboxes that this machine has not.
pub(crate) struct Away;

#[async_trait]
impl Keeper for Away {
    async fn standing(&self) -> Result<Vec<Standing>, SandboxError> {
        Err(SandboxError::Unavailable(
            "no <engine> answers; start it".to_owned(),
        ))
    }

    async fn stop(&self, _: &str) -> Result<(), SandboxError> {
        Err(SandboxError::Unavailable("away".to_owned()))
    }

    async fn reap(&self, _: Timestamp) -> Result<Vec<Standing>, SandboxError> {
        Err(SandboxError::Unavailable("away".to_owned()))
    }
}

/// What was run in `profile:default`.
pub(crate) struct Log;

impl Logbook for Log {
    fn of(&self, sandbox: &str) -> Vec<Ran> {
        let ran = Ran {
            at: Timestamp::UNIX_EPOCH,
            took: Duration::from_millis(1_500),
            command: EVIL.to_owned(),
            output: "</pre><script>alert(2)</script>\n[exit code 3]".to_owned(),
            failed: true,
        };
        if sandbox == "profile:default" {
            vec![ran]
        } else {
            Vec::new()
        }
    }
}
