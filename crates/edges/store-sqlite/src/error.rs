//! What can go wrong, in words for the owner.

use std::path::PathBuf;

use outbox::StoreError;
use rusqlite::ErrorCode;

/// Why a database was not opened. Whatever is named here was left as it was.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The SQLite in this binary can lose commits (WAL-reset bug, fixed in 3.51.3).
    #[error(
        "this binary holds SQLite {found}, which can lose commits: build it with SQLite 3.51.3 or newer"
    )]
    Library {
        /// The version as SQLite counts: 3051003 is 3.51.3.
        found: i32,
    },
    /// There is no database, but something says that there was one.
    #[error(
        "the database {} is missing, but {clue}: put the database back from a backup, or, to begin anew, \
         move the folder {} away", path.display(), folder.display()
    )]
    Missing {
        /// Where it should be.
        path: PathBuf,
        /// What says that there was one.
        clue: String,
        /// What to move away to begin anew.
        folder: PathBuf,
    },
    /// There is no database, and this way of opening makes none.
    #[error("there is no database at {}: start the gateway once with `tidings up`", path.display())]
    NotThere {
        /// Where it should be.
        path: PathBuf,
    },
    /// The file is there and has no bytes.
    #[error(
        "the database {} is empty (0 bytes): put it back from a backup, or move the file away with the rest of its folder \
         to begin anew", path.display()
    )]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a database: put the database back from a backup", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is a database of another program.
    #[error("{} is a database of another program: move it away or choose another place", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version.
    #[error(
        "the database {} was written by a newer version (schema {found}, this version knows {known}): start that version, \
         or put back the backup that was made before it", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest one known here.
        known: i64,
    },
    /// The file was written by an older version, and this way of opening changes nothing.
    #[error(
        "the database {} was written by an older version (schema {found} of {known}): start the gateway once with \
         `tidings up`", path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The one needed here.
        known: i64,
    },
    /// The file is damaged.
    #[error(
        "the database {} is damaged ({reason}): stop here, copy it for safety with its -wal file, and put it back from a \
         backup or save what can be saved with `sqlite3 FILE .recover`", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// There is no room to open it.
    #[error("the database {} can't be opened: the disk is full; free some space on it and start again", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file lies on another machine.
    #[error(
        "the database {} would lie on a network file system ({kind}): its log needs shared memory and locks that hold, which \
         a network does not give, and it would be damaged; put the home on a local disk (--home DIR or TIDINGS_HOME)",
        path.display()
    )]
    Network {
        /// The file.
        path: PathBuf,
        /// Which kind.
        kind: &'static str,
    },
    /// The file can't be written.
    #[error("the database {} can't be written: give its file and folder to the user that runs the gateway", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The file system can't do what a safe log needs.
    #[error("the database {} can't keep a write-ahead log: put it on a local disk", path.display())]
    NoLog {
        /// The file.
        path: PathBuf,
    },
    /// A step to the newest schema failed and was taken back.
    #[error("the database {} could not be brought to schema {to}; it was left as it was: {source}", path.display())]
    Migration {
        /// The file.
        path: PathBuf,
        /// The step.
        to: i64,
        /// Why.
        source: rusqlite::Error,
    },
    /// SQLite failed otherwise.
    #[error("the database {} could not be opened: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A file or a folder could not be made or read.
    #[error("{} could not be made ready: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Trouble inside a job, before it becomes what callers know.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Trouble {
    /// The caller asked for what the store refuses to do.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::Store(StoreError::Failed(text.into().into()))
    }

    /// The damage, if it is that of one row and not of the database; else the trouble itself.
    pub(crate) fn damage(self) -> Result<Damage, Self> {
        match StoreError::from(self) {
            StoreError::Unreadable { row, reason } => {
                tracing::error!(%row, %reason, "a stored row can't be read; it is set aside for the owner");
                Ok(Damage(format!(
                    "the stored row can't be read ({row}): {reason}"
                )))
            }
            other @ (StoreError::Full(_) | StoreError::Failed(_) | StoreError::Closed) => {
                Err(Self::Store(other))
            }
        }
    }

    /// A stored value makes no sense.
    pub(crate) fn unreadable(row: impl ToString, reason: impl ToString) -> Self {
        Self::Store(StoreError::Unreadable {
            row: row.to_string(),
            reason: reason.to_string(),
        })
    }
}

/// What is wrong with one row. The others go on.
#[derive(Debug)]
pub(crate) struct Damage(pub(crate) String);

/// Parts what can be read from what can't.
pub(crate) fn sound<T>(rows: impl Iterator<Item = Result<T, Trouble>>) -> Result<Vec<T>, Trouble> {
    let mut sound = Vec::new();
    for row in rows {
        match row {
            Ok(row) => sound.push(row),
            Err(trouble) => drop(trouble.damage()?),
        }
    }
    Ok(sound)
}

impl From<Trouble> for StoreError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Store(error) => error,
            Trouble::Sqlite(error) if is_full(&error) => Self::Full(Box::new(error)),
            Trouble::Sqlite(
                error @ (rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::Utf8Error(..)),
            ) => Self::Unreadable {
                row: "a column".to_owned(),
                reason: error.to_string(),
            },
            Trouble::Sqlite(error) => Self::Failed(Box::new(error)),
        }
    }
}

/// Besides the plain answer: on a full disk the shared memory beside the log can't grow, which SQLite calls an I/O error.
///
/// A quota that is used up is not among them: SQLite takes ENOSPC alone for a full disk, EDQUOT becomes `SQLITE_IOERR_WRITE` as
/// a broken disk does, and the number that would tell them apart (`sqlite3_system_errno`) is out of reach without unsafe code.
/// docs/database.md says what to do then.
pub(crate) fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
        || error
            .sqlite_error()
            .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}
