//! Sandbox drivers, chosen from the settings and from what the machine has. Never the bare host.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobReader, BlobStore, Driver, Entry, Exec, Network, Output, Refusal,
    SandboxError, SandboxPath, SandboxPort, SandboxSpec, Staged, WriteMode,
};
use sandbox_docker::DockerSandbox;
use sandbox_folders::{Folders, HostPath};
use sandbox_process::ProcessSandbox;
use settings::DriverChoice;
use tokio::sync::OnceCell;
use waybill::TurnScope;

use crate::foundations::Foundations;

/// The drivers of this machine.
#[derive(Clone)]
pub(crate) struct Drivers {
    pub(crate) docker: Arc<DockerSandbox>,
    pub(crate) process: Arc<ProcessSandbox>,
}

impl Drivers {
    /// Drivers that look for nothing yet. `docker` is the engine's socket, if not the usual one.
    pub(crate) fn new(base: &Foundations, launcher: Vec<String>, docker: Option<String>) -> Self {
        let folders = Folders::new(HostPath::new(base.home.profiles()));
        Self {
            docker: Arc::new(DockerSandbox::new(sandbox_docker::Options {
                install: base.install.clone(),
                socket: docker,
                folders: folders.clone(),
                clock: Arc::clone(&base.clock),
            })),
            process: Arc::new(ProcessSandbox::new(sandbox_process::Options {
                launcher,
                folders,
            })),
        }
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
                    version = engine.version,
                    image = self.image,
                    "sandboxes are Docker containers"
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
            Driver::Process | Driver::Host if spec.network == Network::Bridge => {
                return Err(SandboxError::Unavailable(WIDER.to_owned()));
            }
            Driver::Process | Driver::Host => self.drivers.process.as_ref(),
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

    async fn describe(&self) -> Result<String, SandboxError> {
        match self.driver().await {
            Driver::Docker => self.drivers.docker.describe().await,
            Driver::Process | Driver::Host => self.drivers.process.describe().await,
        }
    }
}

/// `driver = "host"`: accepted by the settings, refused here. A path of a sandbox has no meaning without walls.
struct NoWalls;

/// What every use of it answers.
const NO_WALLS: &str = "driver = \"host\" is not in this version, so nothing was run; set sandbox.driver to \"auto\", \
                        \"docker\" or \"process\"";

fn no_walls<T>() -> Result<T, SandboxError> {
    Err(SandboxError::Unavailable(NO_WALLS.to_owned()))
}

#[async_trait]
impl SandboxPort for NoWalls {
    async fn exec(&self, _: &TurnScope, _: &SandboxSpec, _: Exec) -> Result<Output, SandboxError> {
        no_walls()
    }

    async fn read(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        _: &SandboxPath,
        _: u64,
        _: usize,
    ) -> Result<(Bytes, u64), SandboxError> {
        no_walls()
    }

    async fn write(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        _: &SandboxPath,
        _: &[u8],
        _: WriteMode,
    ) -> Result<(), SandboxError> {
        no_walls()
    }

    async fn list(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        _: &SandboxPath,
        _: usize,
    ) -> Result<(Vec<Entry>, usize), SandboxError> {
        no_walls()
    }

    async fn capture(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        _: &SandboxPath,
        _: u64,
        _: &dyn BlobStore,
    ) -> Result<ArtifactRef, Refusal> {
        Err(Refusal::Sandbox {
            reason: NO_WALLS.to_owned(),
        })
    }

    async fn stage(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        _: &str,
        _: Box<dyn BlobReader>,
    ) -> Result<Staged, SandboxError> {
        no_walls()
    }

    async fn describe(&self) -> Result<String, SandboxError> {
        no_walls()
    }
}
