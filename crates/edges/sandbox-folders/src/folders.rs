//! Where a sandbox's folders lie, and how bytes come into its inbox.

use std::path::{Path, PathBuf};

use sandbox::{BlobReader, SandboxError, SandboxKey, SandboxPath};
use tokio::fs;
use tokio::io::AsyncWriteExt;
use waybill::ProfileId;

use crate::name;

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

/// A sandbox's folders that lie on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What they are called: [`waybill::label::name`] of the sandbox's key.
    pub name: String,
    /// Whose they are; none if the folder's name is no profile's.
    pub profile: Option<ProfileId>,
    /// Where they lie.
    pub layout: Layout,
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

    /// The folder `TIDINGS_HOME/profiles`.
    #[must_use]
    pub fn root(&self) -> &HostPath {
        &self.profiles
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
        layout_in(&folder)
    }

    /// All that lie on the disk, by profile and name.
    ///
    /// # Errors
    /// [`SandboxError::Failed`] names the folder that could not be read.
    pub async fn all(&self) -> Result<Vec<Found>, SandboxError> {
        let mut found = Vec::new();
        for (profile, folder) in folders_in(self.profiles.as_path()).await? {
            for (name, folder) in folders_in(&folder.join("sandboxes")).await? {
                found.push(Found {
                    name,
                    profile: profile.parse().ok(),
                    layout: layout_in(&folder),
                });
            }
        }
        Ok(found)
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
                SandboxError::Failed(format!(
                    "{} could not be made: {source}",
                    folder.as_path().display()
                ))
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
            SandboxError::Failed(format!(
                "the attachment could not be laid into the sandbox: {source}"
            ))
        };
        for number in 1..=MOST_OF_ONE_NAME {
            let candidate = name::numbered(&name::shown(name), number);
            let path = inbox.as_path().join(&candidate);
            let file = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o644)
                .open(&path)
                .await;
            let mut file = match file {
                Ok(file) => file,
                Err(source) if source.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(source) => return Err(failed(&source)),
            };
            let mut unfinished = Unfinished(Some(path));
            while let Some(piece) = bytes.next().await.map_err(|source| failed(&source))? {
                file.write_all(&piece)
                    .await
                    .map_err(|source| failed(&source))?;
            }
            file.flush().await.map_err(|source| failed(&source))?;
            unfinished.0 = None;
            return SandboxPath::parse(&format!("{}/{candidate}", SandboxPath::INBOX))
                .map_err(SandboxError::Path);
        }
        Err(failed(&"the inbox is full of files of that name"))
    }
}

fn layout_in(folder: &Path) -> Layout {
    Layout {
        workspace: HostPath(folder.join("workspace")),
        home: HostPath(folder.join("home")),
        inbox: HostPath(folder.join("inbox")),
    }
}

/// The folders in one, by name; links and names that are no text are left out. None where there is no such folder.
async fn folders_in(folder: &Path) -> Result<Vec<(String, PathBuf)>, SandboxError> {
    let failed = |source: std::io::Error| {
        SandboxError::Failed(format!("{} could not be read: {source}", folder.display()))
    };
    let mut entries = match fs::read_dir(folder).await {
        Ok(entries) => entries,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source)),
    };
    let mut found = Vec::new();
    while let Some(entry) = entries.next_entry().await.map_err(failed)? {
        let is_folder = entry.file_type().await.is_ok_and(|kind| kind.is_dir());
        if let (true, Ok(name)) = (is_folder, entry.file_name().into_string()) {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// A file that is not whole yet: an error or a dropped future takes it away again.
struct Unfinished(Option<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // What stopped the copy is the thing to tell; a leftover is only untidy.
            std::fs::remove_file(path).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io;
    use std::time::Duration;

    use async_trait::async_trait;
    use bytes::Bytes;
    use sandbox::{BlobError, BlobReader, SandboxKey};

    use super::{Folders, HostPath};

    /// Gives one piece and then fails, or never answers again.
    struct Broken {
        given: bool,
        silent: bool,
    }

    #[async_trait]
    impl BlobReader for Broken {
        async fn next(&mut self) -> Result<Option<Bytes>, BlobError> {
            if !self.given {
                self.given = true;
                return Ok(Some(Bytes::from_static(b"half")));
            }
            if self.silent {
                std::future::pending::<()>().await;
            }
            Err(BlobError::Io(io::Error::other("the disk is gone")))
        }
    }

    fn key(text: &str) -> SandboxKey {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn half_an_attachment_never_stays_in_the_inbox() {
        let home = tempfile::tempdir().unwrap();
        let folders = Folders::new(HostPath::new(home.path().to_owned()));
        let key = key("profile:work");
        for silent in [false, true] {
            let bytes = Box::new(Broken {
                given: false,
                silent,
            });
            let staging = folders.stage(&key, "a.txt", bytes);
            let staged = tokio::time::timeout(Duration::from_millis(200), staging).await;
            assert!(!matches!(staged, Ok(Ok(_))));
            let inbox = folders.layout(&key).inbox;
            assert_eq!(
                std::fs::read_dir(inbox.as_path()).unwrap().count(),
                0,
                "silent: {silent}"
            );
        }
    }

    #[test]
    fn two_keys_never_share_a_folder() {
        let folders = Folders::new(HostPath::new("/profiles".into()));
        let keys = [
            "profile:work",
            "session:work:local:a",
            "session:work:local:A",
            "session:work:local:a%2Fb",
            "session:work:local:a%3Ab",
            "session:work:chat:bot:1",
            "session:work:chat:bot:1:2",
            "session:work:chat:bot:-1",
        ];
        let keys: Vec<SandboxKey> = keys.iter().filter_map(|text| text.parse().ok()).collect();
        let places: BTreeSet<String> = keys
            .iter()
            .map(|key| {
                folders
                    .layout(key)
                    .workspace
                    .as_path()
                    .display()
                    .to_string()
                    .to_lowercase()
            })
            .collect();
        assert_eq!(keys.len(), 8, "a key of the table is malformed");
        assert_eq!(places.len(), keys.len());
    }
}
