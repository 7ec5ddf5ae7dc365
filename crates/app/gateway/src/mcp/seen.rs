//! What the owner has seen of each server of a profile: a file each.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use ::mcp::{Known, Seen};
use async_trait::async_trait;
use settings::Home;
use tokio::task::spawn_blocking;
use waybill::ProfileId;

/// Largest file: 500 tools, each with the words that its owner reads.
const LARGEST: u64 = 8 << 20;
/// Longest answer: a hash.
const ANSWER: u64 = 256;

/// `profiles/NAME/mcp/`
pub(super) fn folder(home: &Home, profile: &ProfileId) -> PathBuf {
    home.profile(profile).join("mcp")
}

/// The files of one profile.
pub(super) struct Files {
    folder: PathBuf,
}

impl Files {
    pub(super) fn of(home: &Home, profile: &ProfileId) -> Self {
        Self {
            folder: folder(home, profile),
        }
    }

    fn known(&self, server: &str) -> PathBuf {
        self.folder.join(format!("{server}.json"))
    }

    fn answer(&self, server: &str) -> PathBuf {
        self.folder.join(format!("{server}.accept"))
    }

    /// What is remembered of a server. Blocks for a moment.
    ///
    /// # Errors
    /// If something is there and can't be understood.
    pub(super) fn read(&self, server: &str) -> Result<Option<Known>, String> {
        let path = self.known(server);
        let said = |error: &dyn std::fmt::Display| {
            format!(
                "what was seen of its tools can't be read ({}: {error}); remove the file to take the tools as they are now",
                path.display()
            )
        };
        match std::fs::metadata(&path) {
            Ok(about) if about.len() > LARGEST => return Err(said(&"it is too large")),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(said(&error)),
        }
        let bytes = std::fs::read(&path).map_err(|error| said(&error))?;
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| said(&error))
    }

    /// Leaves the owner's word for the running gateway, or for the next one. Blocks for a moment.
    pub(super) fn leave_answer(&self, server: &str, question: &str) -> io::Result<()> {
        whole(&self.folder, &self.answer(server), question.as_bytes())
    }
}

#[async_trait]
impl Seen for Files {
    async fn load(&self, server: &str) -> Result<Option<Known>, String> {
        let (files, server) = (Self::at(&self.folder), server.to_owned());
        spawn_blocking(move || files.read(&server))
            .await
            .map_err(|error| error.to_string())?
    }

    async fn store(&self, server: &str, known: &Known) -> Result<(), String> {
        let bytes = serde_json::to_vec_pretty(known).map_err(|error| error.to_string())?;
        let (folder, path) = (self.folder.clone(), self.known(server));
        spawn_blocking(move || {
            whole(&folder, &path, &bytes).map_err(|error| {
                format!(
                    "what was seen of its tools can't be kept ({}: {error})",
                    path.display()
                )
            })
        })
        .await
        .map_err(|error| error.to_string())?
    }

    async fn answered(&self, server: &str) -> Option<String> {
        let path = self.answer(server);
        spawn_blocking(move || {
            let about = std::fs::metadata(&path).ok()?;
            let answer = (about.len() <= ANSWER)
                .then(|| std::fs::read_to_string(&path).ok())
                .flatten();
            // Taken once; a word on an older question is worth nothing later.
            if let Err(error) = std::fs::remove_file(&path) {
                tracing::warn!(%error, "the owner's word can't be taken away, so it is not taken");
                return None;
            }
            answer
        })
        .await
        .ok()
        .flatten()
    }
}

impl Files {
    fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }
}

/// Whole or not at all: a new file, synced, then renamed into its place. For nobody else's eyes.
pub(super) fn whole(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let fresh = path.with_extension("new");
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)?;
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use ::mcp::Waiting;

    use super::*;

    #[tokio::test]
    async fn what_was_seen_lasts_and_what_is_damaged_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::at(&folder.path().join("mcp"));
        assert_eq!(files.load("calc").await, Ok(None));
        let waiting = Waiting {
            hash: "2".to_owned(),
            description: "Adds.".to_owned(),
        };
        let known = Known {
            accepted: [("add".to_owned(), "1".to_owned())].into(),
            waiting: [("add".to_owned(), waiting)].into(),
        };
        files.store("calc", &known).await.unwrap();
        assert_eq!(files.load("calc").await, Ok(Some(known)));
        std::fs::write(files.known("calc"), "{").unwrap();
        let told = files.load("calc").await.unwrap_err();
        assert!(
            told.contains("calc.json") && told.contains("remove the file"),
            "{told}"
        );
    }

    #[tokio::test]
    async fn the_owners_word_is_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::at(&folder.path().join("mcp"));
        assert_eq!(files.answered("calc").await, None);
        files.leave_answer("calc", "question").unwrap();
        assert_eq!(files.answered("calc").await.as_deref(), Some("question"));
        assert_eq!(files.answered("calc").await, None);
    }
}
