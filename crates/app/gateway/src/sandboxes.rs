//! Sandbox drivers, chosen from the settings and from what the machine has. Never the bare host.

mod desk;
mod no_walls;
mod reaper;
mod way_out;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobReader, BlobStore, Driver, Entry, Exec, Keeper, Network, Output, Refusal,
    Remote, Running, SandboxError, SandboxPath, SandboxPort, SandboxSpec, Staged, Start, WriteMode,
};
use sandbox_docker::DockerSandbox;
use sandbox_folders::{Folders, HostPath};
use sandbox_process::ProcessSandbox;
use sandbox_ssh::SshSandbox;
use settings::{DriverChoice, Environment, Home, Settings};
use tokio::sync::OnceCell;
use waybill::{Clock, TurnScope};

pub(crate) use desk::Ready;
pub use desk::{Looked, Sandboxes};
pub(crate) use reaper::Reaper;

use no_walls::NoWalls;
use way_out::WayOut;

/// The drivers of this machine.
#[derive(Clone)]
pub(crate) struct Drivers {
    pub(crate) docker: Arc<DockerSandbox>,
    pub(crate) process: Arc<ProcessSandbox>,
    pub(crate) ssh: Arc<SshSandbox>,
}

/// What drivers must be told of their home and their machine.
pub(crate) struct Ground<'a> {
    pub(crate) home: &'a Home,
    /// The installation's id.
    pub(crate) install: &'a str,
    pub(crate) clock: &'a Arc<dyn Clock>,
    /// See [`sandbox_process::Options::launcher`].
    pub(crate) launcher: Vec<String>,
    /// The engine's socket, if not the usual one.
    pub(crate) docker: Option<String>,
    /// Other machines that profiles name.
    pub(crate) remotes: Vec<Remote>,
    /// Whether this is not the gateway itself but the owner's look beside it.
    pub(crate) beside: bool,
}

/// The other machines that profiles name.
pub(crate) fn remotes(settings: &Settings) -> Vec<Remote> {
    let profiles = settings.profiles.values();
    profiles
        .filter_map(|profile| profile.sandbox.remote.clone())
        .collect()
}

/// Where the owner says that the engine listens.
pub(crate) fn docker_host(environment: &dyn Environment) -> Option<String> {
    environment
        .get("DOCKER_HOST")
        .filter(|host| !host.is_empty())
}

impl Drivers {
    /// Drivers that look for nothing yet. To be called within the runtime that shall carry what sandboxes say outward.
    pub(crate) fn new(ground: Ground<'_>) -> Self {
        let folders = Folders::new(HostPath::new(ground.home.profiles()));
        let egress = Arc::new(WayOut::here());
        Self {
            docker: Arc::new(DockerSandbox::new(sandbox_docker::Options {
                install: ground.install.to_owned(),
                socket: ground.docker,
                folders: folders.clone(),
                clock: Arc::clone(ground.clock),
                egress: Some(Arc::clone(&egress) as Arc<dyn sandbox_docker::Egress>),
                beside: ground.beside,
            })),
            process: Arc::new(ProcessSandbox::new(sandbox_process::Options {
                launcher: ground.launcher,
                folders,
                egress: Some(egress as Arc<dyn sandbox_process::Egress>),
                beside: ground.beside,
            })),
            ssh: Arc::new(SshSandbox::new(sandbox_ssh::Options {
                remotes: ground.remotes,
                ..sandbox_ssh::Options::default()
            })),
        }
    }

    /// Who looks after the sandboxes of each driver.
    pub(crate) fn keepers(&self) -> Vec<(Driver, Arc<dyn Keeper>)> {
        vec![
            (Driver::Docker, Arc::clone(&self.docker) as Arc<dyn Keeper>),
            (
                Driver::Process,
                Arc::clone(&self.process) as Arc<dyn Keeper>,
            ),
            (Driver::Ssh, Arc::clone(&self.ssh) as Arc<dyn Keeper>),
        ]
    }

    /// The driver of a choice; `auto` looks at the machine when it is first used, and stays with what it found.
    pub(crate) fn port(&self, choice: DriverChoice, image: &str) -> (Driver, Arc<dyn SandboxPort>) {
        match choice {
            DriverChoice::Docker => (
                Driver::Docker,
                Arc::clone(&self.docker) as Arc<dyn SandboxPort>,
            ),
            DriverChoice::Process => (
                Driver::Process,
                Arc::clone(&self.process) as Arc<dyn SandboxPort>,
            ),
            DriverChoice::Ssh => (Driver::Ssh, Arc::clone(&self.ssh) as Arc<dyn SandboxPort>),
            DriverChoice::Host => (Driver::Host, Arc::new(NoWalls)),
            DriverChoice::Auto => {
                let auto = Auto {
                    drivers: self.clone(),
                    image: image.to_owned(),
                    found: OnceCell::new(),
                };
                (Driver::Process, Arc::new(auto))
            }
        }
    }
}

/// What a gateway does once with the containers that it finds: ends commands of an earlier life that was killed, and says whether
/// the engine sees the home. `false`: the engine could not be asked, so that it is to be tried again.
pub(crate) async fn take_over(docker: &DockerSandbox) -> bool {
    match docker.end_orphans().await {
        Ok(0) => {}
        Ok(ended) => {
            tracing::info!(
                ended,
                "commands of an earlier life of this gateway were ended"
            );
        }
        Err(error) => {
            tracing::debug!(%error, "the containers could not be looked through");
            return false;
        }
    }
    if let Ok(engine) = docker.ping().await {
        tracing::info!(
            engine = %engine.kind,
            version = engine.version,
            rootless = engine.rootless,
            socket = engine.socket,
            "a container engine was found"
        );
    }
    match docker.check_home().await {
        Ok(None) => {}
        Ok(Some(sentence)) => tracing::warn!("{sentence}"),
        Err(error) => {
            tracing::debug!(%error, "whether the engine sees the home could not be found out");
        }
    }
    true
}

/// `driver = "auto"`: Docker if its daemon answers and has the image or gets it, else processes.
struct Auto {
    drivers: Drivers,
    image: String,
    found: OnceCell<Driver>,
}

impl Auto {
    async fn driver(&self) -> Driver {
        *self.found.get_or_init(|| self.look()).await
    }

    async fn look(&self) -> Driver {
        let engine = match self.drivers.docker.ping().await {
            Ok(engine) => engine,
            Err(error) => {
                tracing::info!(%error, "no Docker engine; sandboxes are processes of this machine");
                return Driver::Process;
            }
        };
        match self.drivers.docker.ensure_image(&self.image).await {
            Ok(()) => {
                tracing::info!(
                    engine = %engine.kind,
                    version = engine.version,
                    image = self.image,
                    "sandboxes are containers"
                );
                Driver::Docker
            }
            Err(error) => {
                tracing::warn!(%error, "Docker has no image for sandboxes; they are processes of this machine");
                Driver::Process
            }
        }
    }

    /// The driver that was found, if it gives what the profile asked for: `auto` never widens a network.
    async fn pick(
        &self,
        spec: &SandboxSpec,
    ) -> Result<(&dyn SandboxPort, SandboxSpec), SandboxError> {
        let driver = self.driver().await;
        let port: &dyn SandboxPort = match driver {
            Driver::Docker => self.drivers.docker.as_ref(),
            Driver::Process | Driver::Ssh | Driver::Host if spec.network == Network::Bridge => {
                return Err(SandboxError::Unavailable(WIDER.to_owned()));
            }
            Driver::Process | Driver::Ssh | Driver::Host => self.drivers.process.as_ref(),
        };
        let spec = SandboxSpec {
            driver,
            ..spec.clone()
        };
        Ok((port, spec))
    }
}

/// What `auto` says where only the process driver is there for a profile that wants a bridge.
const WIDER: &str = "this profile has network = \"bridge\", and without Docker that would be the whole network of this machine, \
                     so nothing was run; start Docker and the gateway again, or set sandbox.driver = \"process\" to accept it";

#[async_trait]
impl SandboxPort for Auto {
    async fn exec(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        exec: Exec,
    ) -> Result<Output, SandboxError> {
        let (port, spec) = self.pick(spec).await?;
        port.exec(scope, &spec, exec).await
    }

    async fn start(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        start: Start,
    ) -> Result<Box<dyn Running>, SandboxError> {
        let (port, spec) = self.pick(spec).await?;
        port.start(scope, &spec, start).await
    }

    async fn read(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        offset: u64,
        most: usize,
    ) -> Result<(Bytes, u64), SandboxError> {
        let (port, spec) = self.pick(spec).await?;
        port.read(scope, &spec, path, offset, most).await
    }

    async fn write(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        bytes: &[u8],
        mode: WriteMode,
    ) -> Result<(), SandboxError> {
        let (port, spec) = self.pick(spec).await?;
        port.write(scope, &spec, path, bytes, mode).await
    }

    async fn list(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        most: usize,
    ) -> Result<(Vec<Entry>, usize), SandboxError> {
        let (port, spec) = self.pick(spec).await?;
        port.list(scope, &spec, path, most).await
    }

    async fn capture(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        limit: u64,
        blobs: &dyn BlobStore,
    ) -> Result<ArtifactRef, Refusal> {
        let picked = self.pick(spec).await;
        let (port, spec) = picked.map_err(|error| Refusal::Sandbox {
            reason: error.to_string(),
        })?;
        port.capture(scope, &spec, path, limit, blobs).await
    }

    async fn stage(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        name: &str,
        bytes: Box<dyn BlobReader>,
    ) -> Result<Staged, SandboxError> {
        let (port, spec) = self.pick(spec).await?;
        port.stage(scope, &spec, name, bytes).await
    }

    async fn forbids_folder(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        canonical: &str,
    ) -> Option<String> {
        match self.pick(spec).await {
            Ok((port, spec)) => port.forbids_folder(scope, &spec, canonical).await,
            Err(error) => Some(error.to_string()),
        }
    }

    fn under_way(&self, spec: &SandboxSpec) -> Option<String> {
        SandboxPort::under_way(self.drivers.docker.as_ref(), spec)
    }

    async fn describe(&self) -> Result<String, SandboxError> {
        match self.driver().await {
            Driver::Docker => self.drivers.docker.describe().await,
            Driver::Process | Driver::Ssh | Driver::Host => self.drivers.process.describe().await,
        }
    }
}
