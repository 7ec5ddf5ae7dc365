//! `memory/`: `MEMORY.md` for the profile, `people/ACCOUNT.SENDER.md` for each person, and beside each what stood in it before.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use memory::{Change, Former, MOST_ARCHIVE, NoteError, NoteStore, Notebook, Whose};
use waybill::Timestamp;

use crate::folder::{Folder, ReadError};

/// Largest notebook that is read, in bytes: what an owner may write into one by hand, many times over what a model may.
const LARGEST: usize = 256 << 10;

/// The notebooks of one profile. Cheap to clone; clones take turns.
#[derive(Debug, Clone)]
pub struct Notes(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    /// Held while a notebook is changed.
    turn: Mutex<()>,
}

/// A notebook's file and its archive's.
struct Names {
    book: String,
    archive: String,
}

impl Notes {
    /// `folder`: the profile's `memory/`; it is made when something is first remembered.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self(Arc::new(Inner {
            folder,
            turn: Mutex::new(()),
        }))
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, NoteError> + Send + 'static,
    ) -> Result<T, NoteError> {
        let inner = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || work(&inner))
            .await
            .map_err(|error| NoteError::Disk(error.to_string()))?
    }
}

#[async_trait]
impl NoteStore for Notes {
    async fn read(&self, whose: &Whose) -> Result<Notebook, NoteError> {
        let whose = whose.clone();
        self.work(move |inner| inner.read(&whose).map(|(book, _)| book))
            .await
    }

    async fn change(
        &self,
        whose: &Whose,
        changes: Vec<Change>,
        at: Timestamp,
    ) -> Result<Notebook, NoteError> {
        let whose = whose.clone();
        self.work(move |inner| inner.change(&whose, &changes, at))
            .await
    }

    async fn former(
        &self,
        whose: &Whose,
        query: &str,
        most: usize,
    ) -> Result<Vec<Former>, NoteError> {
        let (whose, query) = (whose.clone(), query.to_owned());
        self.work(move |inner| {
            let (_, archive) = inner.read(&whose)?;
            Ok(memory::search(&archive, &query, most))
        })
        .await
    }
}

impl Inner {
    /// The folder in which a notebook lies, if it is there.
    fn open(&self, whose: &Whose) -> Result<Option<Folder>, NoteError> {
        let folder = match Folder::at(&self.folder) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.disk(error)),
        };
        match whose {
            Whose::Profile => Ok(Some(folder)),
            Whose::Person { .. } => match folder.enter(PEOPLE) {
                Ok(people) => Ok(Some(people)),
                Err(ReadError::Absent) => Ok(None),
                Err(error) => Err(self.disk(error)),
            },
        }
    }

    /// The same, made where it is missing.
    fn make(&self, whose: &Whose) -> Result<Folder, NoteError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder
            .create(&self.folder)
            .map_err(|error| self.disk(error))?;
        let folder = Folder::at(&self.folder).map_err(|error| self.disk(error))?;
        match whose {
            Whose::Profile => Ok(folder),
            Whose::Person { .. } => folder.make(PEOPLE).map_err(|error| self.disk(error)),
        }
    }

    /// A notebook and its archive.
    fn read(&self, whose: &Whose) -> Result<(Notebook, String), NoteError> {
        match self.open(whose)? {
            Some(folder) => self.read_in(&folder, &names(whose)),
            None => Ok((Notebook::read("", ""), String::new())),
        }
    }

    fn read_in(&self, folder: &Folder, names: &Names) -> Result<(Notebook, String), NoteError> {
        let text = |name: &str, most| {
            let bytes = folder.read_if_there(name, most);
            let bytes = bytes.map_err(|error| self.disk(format!("{name}: {error}")))?;
            Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
        };
        let book = text(&names.book, LARGEST)?;
        let archive = match text(&names.archive, 2 * MOST_ARCHIVE) {
            Ok(archive) => archive,
            // What is remembered is worth more than what was.
            Err(error) => {
                tracing::warn!(%error, "an archive can't be read and is left as it is");
                String::new()
            }
        };
        Ok((Notebook::read(&book, &archive), archive))
    }

    /// The archive as it must be read before it is written: what can't be read is not written over.
    fn archive_in(&self, folder: &Folder, names: &Names) -> Result<String, NoteError> {
        let bytes = folder.read_if_there(&names.archive, 2 * MOST_ARCHIVE);
        let bytes = bytes.map_err(|error| {
            self.disk(format!(
                "{} can't be read, so nothing is changed: {error}",
                names.archive
            ))
        })?;
        Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
    }

    fn change(
        &self,
        whose: &Whose,
        changes: &[Change],
        at: Timestamp,
    ) -> Result<Notebook, NoteError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = self.make(whose)?;
        let names = names(whose);
        let archive = self.archive_in(&folder, &names)?;
        let (before, _) = self.read_in(&folder, &names)?;
        let changed = memory::apply(&before, changes, whose.most(), at);
        let changed = changed.map_err(|refused| NoteError::Refused {
            refused,
            notebook: before.clone(),
        })?;
        if !changed.former.is_empty() {
            let kept = memory::archive(&archive, &changed.former);
            let written = folder.write(&names.archive, kept.as_bytes());
            written.map_err(|error| self.disk(error))?;
        }
        if changed.notebook != before {
            let text = changed.notebook.write();
            let written = folder.write(&names.book, text.as_bytes());
            written.map_err(|error| self.disk(error))?;
        }
        Ok(changed.notebook)
    }

    fn disk(&self, error: impl ToString) -> NoteError {
        tracing::warn!(folder = %self.folder.display(), error = error.to_string(), "a notebook can't be used");
        NoteError::Disk(error.to_string())
    }
}

/// The folder of people's notebooks.
const PEOPLE: &str = "people";

fn names(whose: &Whose) -> Names {
    let stem = match whose {
        Whose::Profile => "MEMORY".to_owned(),
        // An account's name has no colon, so two people never share a key; the label keeps them apart.
        Whose::Person { account, sender } => {
            waybill::label::name(&format!("{account}:{}", sender.as_str()))
        }
    };
    Names {
        book: format!("{stem}.md"),
        archive: format!("{stem}.former.jsonl"),
    }
}
