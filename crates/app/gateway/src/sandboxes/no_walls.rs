//! The driver that is named and not there: it refuses, and never turns to the host.

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobReader, BlobStore, Entry, Exec, Output, Refusal, Running, SandboxError,
    SandboxPath, SandboxPort, SandboxSpec, Staged, Start, WriteMode,
};
use waybill::TurnScope;

/// `driver = "host"`: accepted by the settings, refused here. A path of a sandbox has no meaning without walls.
pub(super) struct NoWalls;

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

    async fn start(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        _: Start,
    ) -> Result<Box<dyn Running>, SandboxError> {
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
