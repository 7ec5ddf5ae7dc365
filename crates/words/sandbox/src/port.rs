//! What every sandbox driver does.

use async_trait::async_trait;
use bytes::Bytes;
use waybill::TurnScope;

use crate::{
    ArtifactRef, BlobReader, BlobStore, Exec, Output, Refusal, Running, SandboxError, SandboxPath,
    SandboxSpec, Start, forbidden_place,
};

/// What stands in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
    /// Bytes, for a regular file.
    pub size: u64,
}

/// What a folder's entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link, and all else.
    Other,
}

/// May a write replace what is there?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// Make or replace.
    Replace,
    /// Make, and fail if something is there.
    CreateNew,
}

/// A person's attachment, laid where the agent can read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staged {
    /// Where it lies: under [`SandboxPath::INBOX`].
    pub path: SandboxPath,
}

/// A sandbox driver. The turn's scope says which sandbox; the spec says what it must be made of. The driver makes it,
/// finds it again, or replaces it; if it can't, it refuses, and never turns to another sandbox or to the host.
///
/// Dropping a returned future cancels the work: the command's process group is killed.
#[async_trait]
pub trait SandboxPort: Send + Sync {
    /// Runs a command.
    ///
    /// # Errors
    /// [`SandboxError`] if it could not be run. A command that fails is an [`Output`] with its exit.
    async fn exec(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        exec: Exec,
    ) -> Result<Output, SandboxError>;

    /// Starts a command to stay with: for progress, for programs that ask, and for work that outlives its turn. It has no
    /// time-out of its own; it ends with the gateway, or when what is returned is dropped.
    ///
    /// # Errors
    /// [`SandboxError`] if it could not be started.
    async fn start(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        start: Start,
    ) -> Result<Box<dyn Running>, SandboxError>;

    /// Reads up to `most` bytes of a regular file from `offset`, and tells the file's size.
    ///
    /// # Errors
    /// [`SandboxError::File`] says why it can't be read.
    async fn read(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        offset: u64,
        most: usize,
    ) -> Result<(Bytes, u64), SandboxError>;

    /// Writes a whole file; folders on the way are made.
    ///
    /// # Errors
    /// [`SandboxError::File`] says why it can't be written.
    async fn write(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        bytes: &[u8],
        mode: WriteMode,
    ) -> Result<(), SandboxError>;

    /// Lists a folder, at most `most` entries, folders first, each kind by name; and how many were left out.
    ///
    /// # Errors
    /// [`SandboxError::File`] says why it can't be listed.
    async fn list(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        most: usize,
    ) -> Result<(Vec<Entry>, usize), SandboxError>;

    /// Copies a file out of the sandbox through the sandbox's own view, into the profile's blob store. `limit` in bytes.
    ///
    /// # Errors
    /// A typed [`Refusal`], written for the model and the person.
    async fn capture(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        limit: u64,
        blobs: &dyn BlobStore,
    ) -> Result<ArtifactRef, Refusal>;

    /// Why nothing of a folder is sent, if that is so: its place, for [`Refusal::Forbidden`], or a sentence. `canonical` is the
    /// folder as the sandbox's own kernel names it. A driver whose sandboxes see the machine's own files adds those.
    async fn forbids_folder(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        canonical: &str,
    ) -> Option<String> {
        let _of_any_turn = scope;
        let secret = spec.secret_places();
        forbidden_place(canonical, &secret.iter().collect::<Vec<_>>())
    }

    /// Lays bytes read-only under [`SandboxPath::INBOX`], under a safe name made from `name` that nothing there has yet.
    ///
    /// # Errors
    /// [`SandboxError`] if they could not be laid there.
    async fn stage(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        name: &str,
        bytes: Box<dyn BlobReader>,
    ) -> Result<Staged, SandboxError>;

    /// Why the sandbox that somebody asked for is not there yet, where that takes long: an image that is fetched.
    fn under_way(&self, spec: &SandboxSpec) -> Option<String> {
        let _nothing_takes_long = spec;
        None
    }

    /// One sentence for `doctor` and the banner: which walls stand, or why there are none.
    async fn describe(&self) -> Result<String, SandboxError>;
}
