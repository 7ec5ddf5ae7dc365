//! The driver as others see it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobReader, BlobStore, Entry, Exec, Output, Refusal, Running, SandboxError,
    SandboxKey, SandboxPath, SandboxPort, SandboxSpec, Staged, Start, WriteMode,
};
use sandbox_folders::Folders;
use tokio_util::task::TaskTracker;
use waybill::{Clock, TurnScope};

use crate::container::Room;
use crate::egress::Egress;
use crate::engine::{Engine, EngineInfo};
use crate::lease::Leases;
use crate::rows::Row;
use crate::storage::Storage;
use crate::volumes::VolumeRow;

/// What the driver must be told.
#[derive(Clone)]
pub struct Options {
    /// A stable id of this gateway's home. Containers carry it; those without it are never touched.
    pub install: String,
    /// Where the engine listens: a path, `unix://…` or `tcp://…`; `None` is `/var/run/docker.sock`.
    pub socket: Option<String>,
    /// Where the sandboxes' folders lie on this machine. Containers run as the user who owns them (as root without
    /// capabilities, where that is root).
    pub folders: Folders,
    /// The time, for leases.
    pub clock: Arc<dyn Clock>,
    /// What serves the allow lists of sandboxes without a network; none, and a sandbox with such a list is refused.
    pub egress: Option<Arc<dyn Egress>>,
    /// Whether a gateway may be at work in these sandboxes meanwhile, as where the owner looks in from a terminal. Then no
    /// container that runs is put away for another: it may be in use.
    pub beside: bool,
}

/// Sandboxes in Docker containers. Cheap to clone.
#[derive(Clone)]
pub struct DockerSandbox {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) options: Options,
    pub(crate) engine: Engine,
    pub(crate) killers: TaskTracker,
    pub(crate) leases: Leases,
    /// Held while a container is made on a network, and while unused networks are removed.
    pub(crate) making: tokio::sync::Mutex<()>,
    life: String,
    rooms: Mutex<HashMap<SandboxKey, Arc<tokio::sync::Mutex<Room>>>>,
    marks: AtomicU64,
}

/// Remembered sandboxes; past it, those that nobody uses just now are forgotten and found again by their labels.
const MOST_ROOMS: usize = 1024;

impl Inner {
    /// What is known of a key's container; its lock is held while the container is found or made.
    pub(crate) fn room(&self, key: &SandboxKey) -> Arc<tokio::sync::Mutex<Room>> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if rooms.len() >= MOST_ROOMS {
            rooms.retain(|_, room| Arc::strong_count(room) > 1);
        }
        rooms.entry(key.clone()).or_default().clone()
    }

    /// A mark for one command's processes that no other ever had.
    pub(crate) fn mark(&self) -> String {
        let number = self.marks.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number}", self.life)
    }

    /// Is it a mark of this driver's own life?
    pub(crate) fn is_own(&self, mark: &str) -> bool {
        let rest = mark.strip_prefix(&self.life);
        rest.is_some_and(|rest| rest.starts_with('-'))
    }
}

impl DockerSandbox {
    /// Takes its options; talks to nobody yet, so that an engine that starts later is found.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let engine = Engine::new(options.socket.clone());
        let life = life(options.clock.as_ref());
        Self {
            inner: Arc::new(Inner {
                options,
                engine,
                killers: TaskTracker::new(),
                leases: Leases::default(),
                making: tokio::sync::Mutex::default(),
                life,
                rooms: Mutex::default(),
                marks: AtomicU64::new(0),
            }),
        }
    }

    /// Asks the engine who it is.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] says what to do.
    pub async fn ping(&self) -> Result<EngineInfo, SandboxError> {
        self.inner.engine.info().await
    }

    /// Fetches an image that the engine does not have.
    ///
    /// # Errors
    /// [`SandboxError`] if the engine is away or the image can't be had.
    pub async fn ensure_image(&self, image: &str) -> Result<(), SandboxError> {
        if self.has_image(image).await? {
            return Ok(());
        }
        self.inner.engine.pull(image).await.map(drop)
    }

    /// Has the engine this image?
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] if the engine can't be asked.
    pub async fn has_image(&self, image: &str) -> Result<bool, SandboxError> {
        Ok(self.inner.engine.image_id(image).await?.is_some())
    }

    /// This gateway's own containers, running or not.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] if the engine can't be asked.
    pub async fn list(&self) -> Result<Vec<Row>, SandboxError> {
        self.inner.rows().await
    }

    /// This gateway's own volumes: those of sandboxes whose files the engine keeps, in use or not.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] if the engine can't be asked.
    pub async fn volumes(&self) -> Result<Vec<VolumeRow>, SandboxError> {
        self.inner.own_volumes().await
    }

    /// Removes the volumes of a sandbox of this gateway, with all files in them; says how many there were. Nothing else ever
    /// removes one: not the end of a lease, and not another container in the place of the old one.
    ///
    /// # Errors
    /// [`SandboxError::Failed`] if a container still has them.
    pub async fn remove_volumes(&self, key: &SandboxKey) -> Result<usize, SandboxError> {
        self.inner.remove_volumes(key).await
    }

    /// Removes one of this gateway's own containers with all that runs in it. The workspace and the home stay.
    ///
    /// # Errors
    /// [`SandboxError::Failed`] if the container is not this gateway's.
    pub async fn remove(&self, id: &str) -> Result<(), SandboxError> {
        self.inner.remove_own(id).await.map(drop)
    }

    /// Ends what commands of an earlier life of this gateway still do because it was killed and could not end them; says how
    /// many there were. To be called once, when the gateway has its home for itself and before anything runs: another
    /// gateway's commands would be taken for orphans. What a command that ended by itself left behind stays.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] if the engine can't be asked.
    pub async fn end_orphans(&self) -> Result<usize, SandboxError> {
        self.inner.end_orphans().await
    }

    /// Looks whether the engine sees the gateway's home where the gateway sees it, which it does not if the gateway runs in a
    /// container of that engine or the engine on another machine; a sentence for the owner if it does not.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] if the engine can't be asked.
    pub async fn check_home(&self) -> Result<Option<String>, SandboxError> {
        self.inner.check_home().await
    }

    /// Waits until the commands whose futures were dropped are dead, and writes all leases. For an orderly stop.
    pub async fn settle(&self) {
        self.inner.killers.close();
        self.inner.killers.wait().await;
        self.inner.renew_all().await;
    }
}

/// A word that no other driver ever had, so that its marks are its own.
fn life(clock: &dyn Clock) -> String {
    let mut random = [0; 8];
    if getrandom::fill(&mut random).is_err() {
        // Without chance, the instant and the process are what differs.
        return format!(
            "{:x}.{:x}",
            clock.now().as_millisecond(),
            std::process::id()
        );
    }
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[async_trait]
impl SandboxPort for DockerSandbox {
    async fn exec(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        exec: Exec,
    ) -> Result<Output, SandboxError> {
        self.inner.command(scope.sandbox(), spec, exec).await
    }

    async fn start(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        start: Start,
    ) -> Result<Box<dyn Running>, SandboxError> {
        self.inner.start_command(scope.sandbox(), spec, start).await
    }

    async fn read(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        offset: u64,
        most: usize,
    ) -> Result<(Bytes, u64), SandboxError> {
        self.inner
            .read(scope.sandbox(), spec, path, offset, most)
            .await
    }

    async fn write(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        bytes: &[u8],
        mode: WriteMode,
    ) -> Result<(), SandboxError> {
        self.inner
            .write(scope.sandbox(), spec, path, bytes, mode)
            .await
    }

    async fn list(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        most: usize,
    ) -> Result<(Vec<Entry>, usize), SandboxError> {
        self.inner.entries(scope.sandbox(), spec, path, most).await
    }

    async fn capture(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        limit: u64,
        blobs: &dyn BlobStore,
    ) -> Result<ArtifactRef, Refusal> {
        self.inner.capture(scope, spec, path, limit, blobs).await
    }

    async fn stage(
        &self,
        scope: &TurnScope,
        _spec: &SandboxSpec,
        name: &str,
        bytes: Box<dyn BlobReader>,
    ) -> Result<Staged, SandboxError> {
        let path = self
            .inner
            .options
            .folders
            .stage(scope.sandbox(), name, bytes)
            .await?;
        Ok(Staged { path })
    }

    fn under_way(&self, spec: &SandboxSpec) -> Option<String> {
        self.inner.engine.fetches.of(&spec.image)
    }

    async fn describe(&self) -> Result<String, SandboxError> {
        let engine = self.ping().await?;
        let seccomp = if engine.seccomp {
            "filtered system calls"
        } else {
            "no filter of system calls (the engine has none)"
        };
        let bounds = if engine.bounded {
            "bounds on memory, processors and processes"
        } else {
            "no bounds on memory, processors and processes (the engine can't keep them; it needs control groups of version 2, delegated to its user)"
        };
        let rootless = if engine.rootless { ", rootless" } else { "" };
        let remote = if engine.remote {
            ", on another machine"
        } else {
            ""
        };
        let files = match self.inner.engine.known().await?.storage.get() {
            Some(Storage::Folders) => "files in the gateway's home, ",
            Some(Storage::Volumes) => {
                "files in the engine's volumes since it does not see the gateway's home, "
            }
            // No sandbox was made yet.
            None => "",
        };
        Ok(format!(
            "{} {} (API {}{rootless}{remote}): one container per sandbox, {files} no capabilities, no new privileges, {seccomp}, {bounds}",
            engine.kind, engine.version, engine.api
        ))
    }
}
