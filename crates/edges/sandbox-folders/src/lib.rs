//! The host's side of a sandbox: its folders, and what is laid into them.
//!
//! Both drivers use this room. It refuses to know how a sandbox is walled in; it knows where its folders lie:
//! `profiles/NAME/sandboxes/KEY/{workspace,home,inbox}`.
//!
//! Invariants:
//! * Two [`SandboxKey`]s never share a folder: the name comes from [`waybill::label`], which is injective.
//! * Nothing here follows a link: the sandbox can write to `workspace` and `home`, so the gateway opens nothing below them.
//! * `inbox` is written by the gateway alone and shown to the sandbox read-only.
//!
//! Start reading at [`Folders`].

mod name;

use std::path::{Path, PathBuf};

use sandbox::{BlobReader, SandboxError, SandboxKey, SandboxPath};
use tokio::fs;
use tokio::io::AsyncWriteExt;

pub use name::shown;

/// A path of the machine that the gateway runs on. There is no conversion from or to a [`SandboxPath`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPath(PathBuf);

impl HostPath {
    /// Takes a path of this machine.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// For the one call that opens it.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

/// The folders of one sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Seen as `/workspace`.
    pub workspace: HostPath,
    /// Seen as `/root`.
    pub home: HostPath,
    /// Seen as `/inbox`, read-only.
    pub inbox: HostPath,
}

/// Where all sandboxes' folders lie.
#[derive(Debug, Clone)]
pub struct Folders {
    profiles: HostPath,
}

/// How many attachments of one name an inbox keeps apart.
const MOST_OF_ONE_NAME: u32 = 10_000;

impl Folders {
    /// `profiles` is the folder `TIDINGS_HOME/profiles`.
    #[must_use]
    pub fn new(profiles: HostPath) -> Self {
        Self { profiles }
    }

    /// Where a sandbox's folders lie, made or not.
    #[must_use]
    pub fn layout(&self, key: &SandboxKey) -> Layout {
        let folder = self
            .profiles
            .as_path()
            .join(key.profile().as_str())
            .join("sandboxes")
            .join(waybill::label::name(&key.to_string()));
        Layout {
            workspace: HostPath(folder.join("workspace")),
            home: HostPath(folder.join("home")),
            inbox: HostPath(folder.join("inbox")),
        }
    }

    /// Makes a sandbox's folders (mode 0700) where they are missing.
    ///
    /// # Errors
    /// [`SandboxError::Failed`] names the folder that could not be made.
    pub async fn ensure(&self, key: &SandboxKey) -> Result<Layout, SandboxError> {
        let layout = self.layout(key);
        for folder in [&layout.workspace, &layout.home, &layout.inbox] {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true).mode(0o700);
            builder.create(folder.as_path()).await.map_err(|source| {
                SandboxError::Failed(format!("{} could not be made: {source}", folder.as_path().display()))
            })?;
        }
        Ok(layout)
    }

    /// Lays bytes into the inbox under a safe, readable name that nothing there has yet; says where the sandbox sees them.
    ///
    /// # Errors
    /// [`SandboxError::Failed`] if the disk or the bytes' source fails; nothing half-written stays.
    pub async fn stage(
        &self,
        key: &SandboxKey,
        name: &str,
        mut bytes: Box<dyn BlobReader>,
    ) -> Result<SandboxPath, SandboxError> {
        let inbox = self.ensure(key).await?.inbox;
        let failed = |source: &dyn std::fmt::Display| {
            SandboxError::Failed(format!("the attachment could not be laid into the sandbox: {source}"))
        };
        for number in 1..=MOST_OF_ONE_NAME {
            let candidate = name::numbered(&name::shown(name), number);
            let path = inbox.as_path().join(&candidate);
            let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path).await;
            let mut file = match file {
                Ok(file) => file,
                Err(source) if source.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(source) => return Err(failed(&source)),
            };
            let copied = async {
                while let Some(piece) = bytes.next().await.map_err(|source| failed(&source))? {
                    file.write_all(&piece).await.map_err(|source| failed(&source))?;
                }
                file.flush().await.map_err(|source| failed(&source))
            }
            .await;
            if let Err(error) = copied {
                // The error that stopped the copy is the one to tell; a leftover is only untidy.
                fs::remove_file(&path).await.unwrap_or_default();
                return Err(error);
            }
            return SandboxPath::parse(&format!("{}/{candidate}", SandboxPath::INBOX)).map_err(SandboxError::Path);
        }
        Err(failed(&"the inbox is full of files of that name"))
    }
}
