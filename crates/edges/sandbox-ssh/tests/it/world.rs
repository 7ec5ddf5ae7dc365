//! A gateway's home in a temporary folder, and a driver that reaches a private sshd.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use conformance::sandbox::bench::exec;
use conformance::sandbox::{Promise, SandboxWorld};
use sandbox::{Driver, Limits, Network, Placement, Remote, SandboxError, SandboxPort, SandboxSpec};
use tempfile::TempDir;
use testkit::clock::CountingIds;
use tidings_sandbox_ssh::{Options, SshSandbox};
use waybill::{Origin, ProfileId, ProfileScope, SessionId, SessionKey, TaskId, TurnId, TurnScope};

use crate::sshd::Sshd;

pub(crate) struct World {
    pub(crate) sshd: Sshd,
    pub(crate) driver: SshSandbox,
    home: TempDir,
    /// Programs that its sshd finds before the system's, where there are any.
    pub(crate) programs: Option<TempDir>,
}

/// What sandboxes are made of in these tests.
pub(crate) fn spec(remote: Remote) -> SandboxSpec {
    SandboxSpec {
        driver: Driver::Ssh,
        image: String::new(),
        mounts: Vec::new(),
        env: BTreeMap::new(),
        secret_env: BTreeMap::new(),
        network: Network::None,
        allow: Vec::new(),
        remote: Some(remote),
        limits: Limits::default(),
    }
}

impl World {
    /// With lines for the configuration of its sshd.
    pub(crate) fn with(more: &str) -> Self {
        Self {
            sshd: Sshd::start(more),
            driver: SshSandbox::new(Options::default()),
            home: tempfile::tempdir().unwrap(),
            programs: None,
        }
    }
}

#[async_trait]
impl SandboxWorld for World {
    async fn build() -> Self {
        if !Path::new("/usr/bin/bwrap").exists() {
            println!(
                "skipped: this machine has no /usr/bin/bwrap (Debian: bubblewrap), so there are no walls to try"
            );
            std::process::exit(0);
        }
        Self::with("")
    }

    fn port(&self) -> Arc<dyn SandboxPort> {
        Arc::new(self.driver.clone())
    }

    fn restarted(&self) -> Arc<dyn SandboxPort> {
        Arc::new(SshSandbox::new(Options::default()))
    }

    fn spec(&self) -> SandboxSpec {
        spec(self.sshd.remote())
    }

    fn home(&self) -> &Path {
        self.home.path()
    }

    fn lacks(&self, promise: Promise) -> Option<&'static str> {
        Some(match promise {
            Promise::Mounts => {
                "folders of the gateway's machine are not on the other one; mounts are refused"
            }
            Promise::SystemCalls => {
                "bubblewrap gets no filter: it would have to be made for the other machine's processor"
            }
        })
    }
}

/// A command in the workspace of profile `work`.
pub(crate) async fn say(
    driver: &SshSandbox,
    spec: &SandboxSpec,
    command: &str,
) -> Result<String, SandboxError> {
    let output = driver.exec(&scope("work"), spec, exec(command)).await?;
    Ok(String::from_utf8_lossy(&output.bytes).into_owned())
}

/// A turn of a profile in the profile's own sandbox.
pub(crate) fn scope(profile: &str) -> TurnScope {
    let ids = CountingIds::default();
    ProfileScope::enter(ProfileId::parse(profile).unwrap())
        .session(SessionKey::Local("talk".to_owned()), SessionId::fresh(&ids))
        .begin_turn(
            TurnId::fresh(&ids),
            TaskId::fresh(&ids),
            Origin::Operator,
            Placement::PerProfile,
        )
}
