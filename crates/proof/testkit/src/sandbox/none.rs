//! A sandbox that refuses everything, for tests that never get that far.

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobReader, BlobStore, Entry, Exec, Output, Refusal, Running, SandboxError,
    SandboxPath, SandboxPort, SandboxSpec, Staged, Start, WriteMode,
};
use waybill::TurnScope;

/// Refuses everything.
#[derive(Debug, Clone, Copy)]
pub struct NoSandbox;

fn none<T>() -> Result<T, SandboxError> {
    Err(SandboxError::Unavailable(
        "there is no sandbox in this test".to_owned(),
    ))
}

#[async_trait]
impl SandboxPort for NoSandbox {
    async fn exec(&self, _: &TurnScope, _: &SandboxSpec, _: Exec) -> Result<Output, SandboxError> {
        none()
    }

    async fn start(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        _: Start,
    ) -> Result<Box<dyn Running>, SandboxError> {
        none()
    }

    async fn read(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        _: &SandboxPath,
        _: u64,
        _: usize,
    ) -> Result<(Bytes, u64), SandboxError> {
        none()
    }

    async fn write(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        _: &SandboxPath,
        _: &[u8],
        _: WriteMode,
    ) -> Result<(), SandboxError> {
        none()
    }

    async fn list(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        _: &SandboxPath,
        _: usize,
    ) -> Result<(Vec<Entry>, usize), SandboxError> {
        none()
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
            reason: "there is no sandbox in this test".to_owned(),
        })
    }

    async fn stage(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        _: &str,
        _: Box<dyn BlobReader>,
    ) -> Result<Staged, SandboxError> {
        none()
    }

    async fn describe(&self) -> Result<String, SandboxError> {
        none()
    }
}
