//! A whole copy of a database and its blobs, made while others work on them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::check::quick_check;
use super::generation::mark_as_copy;
use crate::blobs::UNFINISHED;
use crate::error::OpenError;
use crate::open::{self, BUSY, Options};
use crate::schema;

/// Why no copy was made.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database is not one that can be copied.
    #[error(transparent)]
    Database(#[from] OpenError),
    /// The copy could not be written.
    #[error("the copy of the database could not be made: {0}")]
    Copy(#[source] rusqlite::Error),
    /// The copy is not whole, because the original is not.
    #[error(
        "the copy of the database is damaged ({0}): the database itself may be; keep older backups, and see docs/database.md"
    )]
    Damaged(String),
    /// A file or a folder.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// Bytes of the database.
    pub database_bytes: u64,
    /// How many blobs.
    pub blobs: u64,
    /// Their bytes.
    pub blob_bytes: u64,
    /// How many of them share their bytes with the original (hard links).
    pub linked: u64,
}

impl Copied {
    /// Copies a database and its blobs to new places; the folders above them must be there. The original may be in use.
    /// `generation` is a fresh random name, so that the copy is known as one wherever it is put.
    ///
    /// Blobs are taken before and after the database: each one that the copy names was there at one of these moments, for
    /// a blob is durable before its row and outlives it by hours.
    ///
    /// # Errors
    /// [`BackupError`]; what was begun is left for the caller to remove.
    pub fn make(from: &Options, to: &Options, generation: &str) -> Result<Self, BackupError> {
        let mut copied = Self::default();
        open::copyable(&from.database)?;
        copied.take_blobs(&from.blobs, &to.blobs)?;
        copied.take_database(&from.database, &to.database, generation)?;
        copied.take_blobs(&from.blobs, &to.blobs)?;
        Ok(copied)
    }

    fn take_database(
        &mut self,
        from: &Path,
        to: &Path,
        generation: &str,
    ) -> Result<(), BackupError> {
        // SQLite fills an empty file; made here, it is nobody else's to read from its first byte on.
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(to)
            .map_err(at(to))?;
        let name = to.to_str().ok_or_else(|| {
            at(to)(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the name is not UTF-8",
            ))
        })?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(from, flags).map_err(BackupError::Copy)?;
        db.busy_timeout(BUSY).map_err(BackupError::Copy)?;
        db.execute("VACUUM INTO ?1", [name]).map_err(copying)?;
        drop(db);
        let copy = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .map_err(BackupError::Copy)?;
        prepare(&copy, generation).map_err(copying)?;
        let wrong = quick_check(&copy).map_err(copying)?;
        if let Some(first) = wrong.first() {
            return Err(BackupError::Damaged(first.clone()));
        }
        copy.close()
            .map_err(|(_db, source)| BackupError::Copy(source))?;
        let file = File::open(to).map_err(at(to))?;
        file.sync_all().map_err(at(to))?;
        self.database_bytes = file.metadata().map_err(at(to))?.len();
        sync_folder(to.parent().unwrap_or(Path::new(".")))
    }

    fn take_blobs(&mut self, from: &Path, to: &Path) -> Result<(), BackupError> {
        make(to)?;
        for entry in entries(from)? {
            let place = to.join(entry.file_name());
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(at(&entry.path())(error)),
            };
            if kind.is_dir() {
                self.take_blobs(&entry.path(), &place)?;
            } else if kind.is_file() && !entry.file_name().to_string_lossy().starts_with(UNFINISHED)
            {
                self.take_blob(&entry.path(), &place)?;
            }
        }
        sync_folder(to)
    }

    /// A link where the file system can, else a copy. A blob that has just gone is nobody's any more.
    fn take_blob(&mut self, from: &Path, to: &Path) -> Result<(), BackupError> {
        if to.exists() {
            return Ok(());
        }
        match fs::hard_link(from, to) {
            Ok(()) => {
                self.linked += 1;
                self.blobs += 1;
                self.blob_bytes += fs::metadata(to).map_err(at(to))?.len();
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            // Another file system, or one without links.
            Err(_no_link) => {}
        }
        let mut source = match File::open(from) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(at(from)(error)),
        };
        let mut copy = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(to)
            .map_err(at(to))?;
        self.blob_bytes += io::copy(&mut source, &mut copy).map_err(at(to))?;
        copy.sync_all().map_err(at(to))?;
        self.blobs += 1;
        Ok(())
    }
}

/// Makes the copy one: known as such, without anybody's login, in one file.
fn prepare(copy: &Connection, generation: &str) -> rusqlite::Result<()> {
    copy.execute_batch("PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE;")?;
    copy.execute_batch("DELETE FROM login; DELETE FROM browser;")?;
    if schema::version(copy)? >= schema::WITH_META {
        mark_as_copy(copy, generation)?;
    }
    Ok(())
}

/// Damage of the original that stops the copying is damage, and not a failure to copy.
fn copying(source: rusqlite::Error) -> BackupError {
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
            BackupError::Damaged(source.to_string())
        }
        Some(_) | None => BackupError::Copy(source),
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::File {
        path: path.clone(),
        source,
    }
}

fn entries(folder: &Path) -> Result<Vec<fs::DirEntry>, BackupError> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect::<io::Result<_>>().map_err(at(folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(at(folder)(error)),
    }
}

fn make(folder: &Path) -> Result<(), BackupError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(at(folder)(error)),
    }
}

fn sync_folder(folder: &Path) -> Result<(), BackupError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(at(folder))
}
