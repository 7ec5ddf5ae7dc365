//! A gateway home in a temporary folder, and a driver over it.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
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
    /// Another path of the home, under which the engine does not see it.
    hidden: Option<(OwnedFd, PathBuf)>,
    image: String,
}

impl World {
    pub(crate) fn options(&self) -> Options {
        Options {
            clock: self.clock.clone(),
            ..options(&self.install, self.root(), engine())
        }
    }

    /// The home as the gateway is told of it.
    fn root(&self) -> &Path {
        match &self.hidden {
            Some((_open, path)) => path,
            None => self.home.path(),
        }
    }

    /// The same, but that the engine sees the home if it did not.
    pub(crate) fn shown(&self) -> Options {
        Options {
            folders: Folders::new(HostPath::new(self.home.path().join("profiles"))),
            ..self.options()
        }
    }
}

/// A world whose engine does not see the gateway's home: its path leads through this process's own open files, so that for
/// the engine, another process, nothing is there.
pub(crate) struct Hidden(World);

impl std::ops::Deref for Hidden {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0
    }
}

#[async_trait::async_trait]
impl SandboxWorld for Hidden {
    async fn build() -> Self {
        Self(
            World::make(|home| {
                let folder = std::fs::File::open(home).unwrap();
                // A number that no engine has open.
                let folder = rustix::io::fcntl_dupfd_cloexec(&folder, 900).unwrap();
                let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
                Some((folder, path))
            })
            .await,
        )
    }

    fn port(&self) -> Arc<dyn SandboxPort> {
        self.0.port()
    }

    fn restarted(&self) -> Arc<dyn SandboxPort> {
        self.0.restarted()
    }

    fn spec(&self) -> SandboxSpec {
        self.0.spec()
    }

    fn home(&self) -> &Path {
        self.0.home()
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
        Self::make(|_home| None).await
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
    async fn make(hide: impl FnOnce(&Path) -> Option<(OwnedFd, PathBuf)>) -> Self {
        let image = tokio::task::spawn_blocking(ensure_test_image)
            .await
            .unwrap()
            .unwrap_or_else(|error| panic!("{error:#}"));
        let number = WORLDS.fetch_add(1, Ordering::SeqCst);
        let install = format!("test-{}-{number}", std::process::id());
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::default());
        let hidden = hide(home.path());
        let root = match &hidden {
            Some((_open, path)) => path,
            None => home.path(),
        };
        let driver = DockerSandbox::new(Options {
            clock: clock.clone(),
            ..options(&install, root, engine())
        });
        let world = Self {
            install,
            driver,
            clock,
            home,
            hidden,
            image,
        };
        // Of a process that was killed and had the same number.
        world.sweep();
        world
    }

    /// Ids of this world's sandboxes, running or not.
    pub(crate) fn containers(&self) -> Vec<String> {
        let helpers = self.labelled(&["--filter", "label=tidings.helper"]);
        let mut all = self.labelled(&[]);
        all.retain(|id| !helpers.contains(id));
        all
    }

    /// Ids of this world's containers that are no sandboxes.
    pub(crate) fn helpers(&self) -> Vec<String> {
        self.labelled(&["--filter", "label=tidings.helper"])
    }

    fn labelled(&self, more: &[&str]) -> Vec<String> {
        let label = format!("label=tidings.install={}", self.install);
        let mut list = vec!["ps", "--all", "--quiet", "--no-trunc", "--filter", &label];
        list.extend(more);
        docker(&list)
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    }

    /// Names of this world's volumes.
    pub(crate) fn volumes(&self) -> Vec<String> {
        let label = format!("label=tidings.install={}", self.install);
        docker(&["volume", "ls", "--quiet", "--filter", &label])
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
        for id in self.labelled(&[]) {
            docker(&["rm", "--force", "--volumes", &id]);
        }
        for name in self.volumes() {
            docker(&["volume", "rm", "--force", &name]);
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

/// Where the engine of these tests listens, as for the command line client: the usual place unless `DOCKER_HOST` names another.
#[expect(
    clippy::disallowed_methods,
    reason = "which engine a test speaks to is the tester's to say, and no part of the product"
)]
pub(crate) fn engine() -> Option<String> {
    std::env::var("DOCKER_HOST").ok()
}

/// The file of the engine's socket.
pub(crate) fn socket() -> String {
    let host = engine().unwrap_or_else(|| "unix:///var/run/docker.sock".to_owned());
    host.trim_start_matches("unix://").to_owned()
}

/// What the command line client says: another way to the engine than the one under test.
pub(crate) fn docker(arguments: &[&str]) -> String {
    let said = Command::new("docker").args(arguments).output().unwrap();
    String::from_utf8_lossy(&said.stdout).trim().to_owned()
}
