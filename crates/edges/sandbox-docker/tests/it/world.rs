//! A gateway home in a temporary folder, and a driver over it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use conformance::sandbox::SandboxWorld;
use sandbox::{Driver, Limits, Network, SandboxPort, SandboxSpec};
use sandbox_folders::{Folders, HostPath};
use tempfile::TempDir;
use testkit::clock::ManualClock;
use testkit::image::ensure_test_image;
use tidings_sandbox_docker::{DockerSandbox, Options};

static WORLDS: AtomicU32 = AtomicU32::new(0);

pub(crate) struct World {
    pub(crate) install: String,
    pub(crate) driver: DockerSandbox,
    pub(crate) clock: Arc<ManualClock>,
    home: TempDir,
    image: String,
}

impl World {
    pub(crate) fn options(&self) -> Options {
        Options {
            clock: self.clock.clone(),
            ..options(&self.install, self.home.path(), None)
        }
    }
}

pub(crate) fn options(install: &str, home: &Path, socket: Option<String>) -> Options {
    Options {
        install: install.to_owned(),
        socket,
        folders: Folders::new(HostPath::new(home.join("profiles"))),
        clock: Arc::new(ManualClock::default()),
        egress: None,
        beside: false,
    }
}

#[async_trait::async_trait]
impl SandboxWorld for World {
    async fn build() -> Self {
        let image = tokio::task::spawn_blocking(ensure_test_image)
            .await
            .unwrap()
            .unwrap_or_else(|error| panic!("{error:#}"));
        let number = WORLDS.fetch_add(1, Ordering::SeqCst);
        let install = format!("test-{}-{number}", std::process::id());
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::default());
        let driver = DockerSandbox::new(Options {
            clock: clock.clone(),
            ..options(&install, home.path(), None)
        });
        let world = Self {
            install,
            driver,
            clock,
            home,
            image,
        };
        // Of a process that was killed and had the same number.
        world.sweep();
        world
    }

    fn port(&self) -> Arc<dyn SandboxPort> {
        Arc::new(self.driver.clone())
    }

    fn restarted(&self) -> Arc<dyn SandboxPort> {
        Arc::new(DockerSandbox::new(self.options()))
    }

    fn spec(&self) -> SandboxSpec {
        SandboxSpec {
            driver: Driver::Docker,
            image: self.image.clone(),
            mounts: Vec::new(),
            env: BTreeMap::new(),
            secret_env: BTreeMap::new(),
            network: Network::None,
            allow: Vec::new(),
            remote: None,
            limits: Limits::default(),
        }
    }

    fn home(&self) -> &Path {
        self.home.path()
    }
}

impl World {
    /// Ids of this world's containers, running or not.
    pub(crate) fn containers(&self) -> Vec<String> {
        let label = format!("label=tidings.install={}", self.install);
        docker(&["ps", "--all", "--quiet", "--no-trunc", "--filter", &label])
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    }

    /// Names of this world's networks.
    pub(crate) fn networks(&self) -> Vec<String> {
        let label = format!("label=tidings.install={}", self.install);
        docker(&["network", "ls", "--filter", &label, "--format", "{{.Name}}"])
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    }

    /// The number that this machine gives to a container's first process.
    pub(crate) fn pid(id: &str) -> String {
        docker(&["inspect", "--format", "{{.State.Pid}}", id])
    }

    fn sweep(&self) {
        for id in self.containers() {
            docker(&["rm", "--force", "--volumes", &id]);
        }
        for id in self.networks() {
            docker(&["network", "rm", &id]);
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.sweep();
    }
}

/// What the command line client says: another way to the engine than the one under test.
pub(crate) fn docker(arguments: &[&str]) -> String {
    let said = Command::new("docker").args(arguments).output().unwrap();
    String::from_utf8_lossy(&said.stdout).trim().to_owned()
}
