//! A plain shell whose calls are written down, and that keeps a place of its own from being sent.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobReader, BlobStore, Entry, Exec, Output, Refusal, Running, SandboxError,
    SandboxPath, SandboxPort, SandboxSpec, Staged, Start, WriteMode,
};
use testkit::sandbox::PlainShell;
use waybill::TurnScope;

/// What was asked of the sandbox.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) starts: Vec<Start>,
    pub(crate) execs: Vec<Exec>,
    pub(crate) reads: usize,
    /// What the next commands come to instead of being run; `None`: they can't be.
    pub(crate) said: VecDeque<Option<Output>>,
    /// A file that holds something else once the next command has ended.
    pub(crate) changed: Option<(PathBuf, String)>,
}

pub(crate) struct Watched {
    pub(crate) shell: Arc<PlainShell>,
    pub(crate) asked: Arc<Mutex<Asked>>,
    /// The end of the path of a folder that the driver alone knows to be secret.
    pub(crate) forbidden: Option<String>,
}

#[async_trait]
impl SandboxPort for Watched {
    async fn exec(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        exec: Exec,
    ) -> Result<Output, SandboxError> {
        let said = {
            let mut asked = self.asked.lock().unwrap();
            asked.execs.push(exec.clone());
            asked.said.pop_front()
        };
        let output = match said {
            Some(Some(output)) => output,
            Some(None) => return Err(SandboxError::Failed("no command runs".to_owned())),
            None => self.shell.exec(scope, spec, exec).await?,
        };
        if let Some((file, text)) = self.asked.lock().unwrap().changed.take() {
            std::fs::write(file, text).unwrap();
        }
        Ok(output)
    }

    async fn start(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        start: Start,
    ) -> Result<Box<dyn Running>, SandboxError> {
        self.asked.lock().unwrap().starts.push(start.clone());
        self.shell.start(scope, spec, start).await
    }

    async fn read(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        offset: u64,
        most: usize,
    ) -> Result<(Bytes, u64), SandboxError> {
        self.asked.lock().unwrap().reads += 1;
        self.shell.read(scope, spec, path, offset, most).await
    }

    async fn write(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        bytes: &[u8],
        mode: WriteMode,
    ) -> Result<(), SandboxError> {
        self.shell.write(scope, spec, path, bytes, mode).await
    }

    async fn list(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        most: usize,
    ) -> Result<(Vec<Entry>, usize), SandboxError> {
        self.shell.list(scope, spec, path, most).await
    }

    async fn capture(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        limit: u64,
        blobs: &dyn BlobStore,
    ) -> Result<ArtifactRef, Refusal> {
        self.shell.capture(scope, spec, path, limit, blobs).await
    }

    async fn forbids_folder(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        canonical: &str,
    ) -> Option<String> {
        match &self.forbidden {
            Some(place) if canonical.ends_with(place.as_str()) => Some("the gateway's home".into()),
            Some(_) | None => self.shell.forbids_folder(scope, spec, canonical).await,
        }
    }

    async fn stage(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        name: &str,
        bytes: Box<dyn BlobReader>,
    ) -> Result<Staged, SandboxError> {
        self.shell.stage(scope, spec, name, bytes).await
    }

    async fn describe(&self) -> Result<String, SandboxError> {
        self.shell.describe().await
    }
}
