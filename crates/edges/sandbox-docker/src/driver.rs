//! The driver as others see it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobReader, BlobStore, Entry, Exec, Output, Refusal, SandboxError, SandboxKey,
    SandboxPath, SandboxPort, SandboxSpec, Staged, WriteMode,
};
use sandbox_folders::Folders;
use tokio_util::task::TaskTracker;
use waybill::{Clock, TurnScope};

use crate::container::Room;
use crate::engine::{Engine, EngineInfo};
use crate::rows::Row;

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
}

/// Sandboxes in Docker containers. Cheap to clone.
#[derive(Clone)]
pub struct DockerSandbox {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) options: Options,
    pub(crate) engine: Engine,
    pub(crate) killers: TaskTracker,
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
        format!("{}-{number}", self.options.clock.now().as_millisecond())
    }
}

impl DockerSandbox {
    /// Takes its options; talks to nobody yet, so that an engine that starts later is found.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let engine = Engine::new(options.socket.clone());
        Self {
            inner: Arc::new(Inner {
                options,
                engine,
                killers: TaskTracker::new(),
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

    /// Removes one of this gateway's own containers with all that runs in it. The workspace and the home stay.
    ///
    /// # Errors
    /// [`SandboxError::Failed`] if the container is not this gateway's.
    pub async fn remove(&self, id: &str) -> Result<(), SandboxError> {
        self.inner.remove_own(id).await
    }

    /// Waits until the commands whose futures were dropped are dead. For an orderly stop.
    pub async fn settle(&self) {
        self.inner.killers.close();
        self.inner.killers.wait().await;
    }
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

    async fn describe(&self) -> Result<String, SandboxError> {
        let engine = self.ping().await?;
        let seccomp = if engine.seccomp {
            "filtered system calls"
        } else {
            "no filter of system calls (the engine has none)"
        };
        let rootless = if engine.rootless { ", rootless" } else { "" };
        Ok(format!(
            "Docker {} (API {}{rootless}): one container per sandbox, no capabilities, no new privileges, {seccomp}, bounds on memory, processors and processes",
            engine.version, engine.api
        ))
    }
}
