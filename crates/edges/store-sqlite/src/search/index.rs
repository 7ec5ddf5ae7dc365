//! The file of the index.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use waybill::ProfileId;

use super::words::{Query, spaced};

/// "TDGX": marks the file as this index.
const APPLICATION: i32 = 0x5444_4758;
/// The version of its schema; a file of another one is made anew.
const VERSION: i64 = 1;
/// How long a connection waits for the other one's transaction.
const BUSY: std::time::Duration = std::time::Duration::from_secs(5);

/// Why the index did not do its work.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// What is there is no index, or not this one.
    #[error("{0}")]
    Damaged(String),
    /// The disk, or somebody in the way.
    #[error("{0}")]
    Away(String),
    /// There is no index yet.
    #[error("the index is just being made")]
    Absent,
}

impl From<rusqlite::Error> for Broken {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(
                ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::TypeMismatch
                | ErrorCode::ConstraintViolation
                // "No such table" and its like.
                | ErrorCode::Unknown,
            )
            | None => Self::Damaged(error.to_string()),
            Some(_) => Self::Away(error.to_string()),
        }
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Away(error.to_string())
    }
}

/// How far the transcripts are indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) id: i64,
    pub(super) turn: String,
}

/// An entry that is indexed.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) id: i64,
    pub(super) session: String,
    pub(super) profile: String,
    pub(super) text: String,
}

/// Entries of the transcripts, in order.
#[derive(Debug)]
pub(super) struct Batch {
    /// The mark is of another transcript.
    pub(super) other: bool,
    pub(super) lines: Vec<Line>,
    /// The last entry that was looked at; none if there was none.
    pub(super) last: Option<Mark>,
    pub(super) more: bool,
}

/// The open index.
pub(super) struct Index {
    db: Connection,
    /// The file that was opened, by device and number: another one may have its name by now.
    file: (u64, u64),
    mark: Mark,
}

impl Index {
    /// Opens what is there, or makes it. What is no index of this version is thrown away.
    pub(super) fn open(path: &Path) -> Result<Self, Broken> {
        match Self::existing(path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
            Ok(index) => Ok(index),
            Err(Broken::Absent) => Self::anew(path),
            Err(Broken::Damaged(why)) => {
                tracing::warn!(path = %path.display(), why, "the search index can't be used; it is made anew");
                Self::anew(path)
            }
            Err(away @ Broken::Away(_)) => Err(away),
        }
    }

    /// Opens what is there, to look at it.
    pub(super) fn look(path: &Path) -> Result<Self, Broken> {
        Self::existing(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    fn existing(path: &Path, access: OpenFlags) -> Result<Self, Broken> {
        let file = match fs::symlink_metadata(path) {
            Ok(file) if file.is_file() => (file.dev(), file.ino()),
            Ok(_) => return Err(Broken::Damaged("it is no file".to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Broken::Absent),
            Err(error) => return Err(error.into()),
        };
        let db = connect(path, access)?;
        let application: i32 = db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
        let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if (application, version) != (APPLICATION, VERSION) {
            return Err(Broken::Damaged(format!("it has the version {version}")));
        }
        let mark = read_mark(&db)?;
        Ok(Self { db, file, mark })
    }

    /// Makes an empty one in the place of whatever is there.
    pub(super) fn anew(path: &Path) -> Result<Self, Broken> {
        remove_files(path);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(path)?.metadata()?;
        let db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Kept through a loss of power by the log; what the log had not synced is indexed again.
        db.query_row("PRAGMA journal_mode = WAL", [], |row| {
            row.get::<_, String>(0)
        })?;
        db.execute_batch("BEGIN IMMEDIATE")?;
        db.execute_batch(include_str!("../../schema/search_0001.sql"))?;
        db.pragma_update(None, "application_id", APPLICATION)?;
        db.pragma_update(None, "user_version", VERSION)?;
        db.execute_batch("COMMIT")?;
        let mark = read_mark(&db)?;
        Ok(Self {
            db,
            file: (file.dev(), file.ino()),
            mark,
        })
    }

    /// Whether the file at this path is still the one that was opened.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|file| (file.dev(), file.ino()) == self.file)
    }

    /// How far the transcripts are indexed.
    pub(super) fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Adds a batch, whole or not at all.
    pub(super) fn add(&mut self, batch: &Batch) -> Result<(), Broken> {
        let Some(last) = &batch.last else {
            return Ok(());
        };
        let step = self.db.transaction()?;
        for line in &batch.lines {
            let added = step
                .prepare_cached("INSERT INTO line(id, session, profile) VALUES(?1, ?2, ?3)")?
                .execute(params![line.id, line.session, line.profile])?;
            debug_assert_eq!(added, 1);
            step.prepare_cached("INSERT INTO words(rowid, text) VALUES(?1, ?2)")?
                .execute(params![line.id, spaced(&line.text)])?;
        }
        step.execute(
            "UPDATE mark SET id = ?1, turn = ?2",
            params![last.id, last.turn],
        )?;
        step.commit()?;
        self.mark = last.clone();
        Ok(())
    }

    /// Numbers that are indexed, after one, in order.
    pub(super) fn ids(&self, after: i64, most: usize) -> Result<Vec<i64>, Broken> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut statement = self
            .db
            .prepare_cached("SELECT id FROM line WHERE id > ?1 ORDER BY id LIMIT ?2")?;
        let ids = statement.query_map([after, most], |row| row.get(0))?;
        Ok(ids.collect::<rusqlite::Result<_>>()?)
    }

    /// Lets go of words.
    pub(super) fn remove(&self, ids: &[i64]) -> Result<(), Broken> {
        let step = self.db.unchecked_transaction()?;
        for id in ids {
            step.prepare_cached("DELETE FROM words WHERE rowid = ?1")?
                .execute([id])?;
            step.prepare_cached("DELETE FROM line WHERE id = ?1")?
                .execute([id])?;
        }
        step.commit()?;
        Ok(())
    }

    /// The best hits of a profile, and of these stretches if they are given: all terms first, else any.
    pub(super) fn find(
        &self,
        query: &Query,
        profile: &ProfileId,
        sessions: Option<&[String]>,
        most: usize,
    ) -> Result<Vec<i64>, Broken> {
        let all = self.matching(&query.all, profile, sessions, most)?;
        if all.is_empty() && query.any != query.all {
            return self.matching(&query.any, profile, sessions, most);
        }
        Ok(all)
    }

    fn matching(
        &self,
        expression: &str,
        profile: &ProfileId,
        sessions: Option<&[String]>,
        most: usize,
    ) -> Result<Vec<i64>, Broken> {
        let sessions = sessions
            .map(serde_json::to_string)
            .transpose()
            .map_err(|error| Broken::Away(error.to_string()))?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut statement = self.db.prepare_cached(
            "SELECT l.id FROM words JOIN line l ON l.id = words.rowid
             WHERE words MATCH ?1 AND l.profile = ?2
               AND (?3 IS NULL OR l.session IN (SELECT value FROM json_each(?3)))
             ORDER BY words.rank, l.id DESC LIMIT ?4",
        )?;
        let hits = statement.query_map(
            params![expression, profile.as_str(), sessions, most],
            |row| row.get(0),
        )?;
        Ok(hits.collect::<rusqlite::Result<_>>()?)
    }
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, Broken> {
    let db = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(BUSY)?;
    db.execute_batch("PRAGMA synchronous = NORMAL")?;
    Ok(db)
}

fn read_mark(db: &Connection) -> rusqlite::Result<Mark> {
    db.query_row("SELECT id, turn FROM mark", [], |row| {
        Ok(Mark {
            id: row.get(0)?,
            turn: row.get(1)?,
        })
    })
}

/// Removes the index and what SQLite keeps beside it: a log of another file would be taken for its own.
pub(super) fn remove_files(path: &Path) {
    for ending in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        let file = PathBuf::from(name);
        match fs::remove_file(&file) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::warn!(path = %file.display(), %error, "a part of the search index can't be removed");
            }
        }
    }
}
