//! Generations: a database that was put back from a copy is noticed.
//!
//! A copy is older than reality: what it calls open may have been sent long ago. So each run, and each hour of a run, has a
//! random name, its generation, in the database and in a small file beside it. A copy of the database brings an old name with
//! it, and the two differ. Who puts back the file together with the database must take the file away; `tidings backup` takes
//! care of it. One copy can't be told from the original: made in the running generation, so within the last hour, and put back
//! after a crash in that same hour.
//!
//! A new generation is begun in this order, and each cut leaves a pair that the next start understands:
//! 1. the file is read;
//! 2. one transaction: `generation` = the new name, `generation_before` = what the file held, and, if the pair did not fit,
//!    everything that follows from that;
//! 3. the file is replaced (synced, renamed, its folder synced).
//!
//! Cut before 2 nothing has happened. Cut between 2 and 3 the file still holds `generation_before`, which is why that one fits
//! too. At a start and at a stop nothing else is done between 2 and 3, so no work can be lost behind a pair that fits this way;
//! in a run it is the moment that 3 takes, or until the next hour if 3 failed. Where there was no file, a second generation
//! follows at once, so that from then on a missing file is a sign.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use outbox::StoreError;
use rusqlite::params;
use waybill::{Ids, Timestamp};

use crate::desk::Desk;
use crate::error::Trouble;
use crate::store::Store;

const GENERATION: &str = "generation";
const BEFORE: &str = "generation_before";
const RESTORED: &str = "restored";

/// Why no generation could be begun.
#[derive(Debug, thiserror::Error)]
pub enum GenerationError {
    /// The file beside the database.
    #[error("{} can't be read or written: {source}; give the folder to the user that runs the gateway", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl GenerationError {
    /// Whether there was no room on the disk.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::File { source, .. } => super::ballast::is_full(source),
            Self::Store(error) => matches!(error, StoreError::Full(_)),
        }
    }
}

/// How the database was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entered {
    /// As it was left, or new.
    AsLeft,
    /// It was put back from a copy, and nobody was told yet. The name makes the notice one notice, however often it is stored.
    PutBack {
        /// The generation in which this was noticed.
        generation: String,
    },
}

impl Store {
    /// Begins a generation. If the database was put back from a copy, every open part becomes `unknown`, due at once and
    /// possibly a repeat, and turns that were running are marked so that they end with a sentence instead of going on.
    /// For who holds the home's lock, before anything else works on the store.
    ///
    /// # Errors
    /// [`GenerationError`]; then nothing may go on.
    pub async fn enter(
        &self,
        file: &Path,
        ids: &dyn Ids,
        now: Timestamp,
    ) -> Result<Entered, GenerationError> {
        let held = read(file)?;
        let there_was_a_file = held.is_some();
        let fresh = name(ids);
        let next = fresh.clone();
        let entered = self
            .write(move |desk| begin(desk, held, &next, now))
            .await?;
        failpoint::point("C19");
        replace(file, &fresh)?;
        if !there_was_a_file {
            self.renew(file, ids).await?;
        }
        Ok(entered)
    }

    /// Begins another generation, in a run now and then and at its clean stop: a copy of the database that was made until now
    /// is an old one. One at a time.
    ///
    /// # Errors
    /// [`GenerationError`]; the pair still fits.
    pub async fn renew(&self, file: &Path, ids: &dyn Ids) -> Result<(), GenerationError> {
        let held = read(file)?;
        let fresh = name(ids);
        let next = fresh.clone();
        self.write(move |desk| put_pair(desk, held.as_deref(), &next))
            .await?;
        failpoint::point("C19");
        replace(file, &fresh)
    }

    /// The owner was told that the database was put back.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn told_of_restore(&self) -> Result<(), StoreError> {
        self.write(|desk| put(desk, RESTORED, None)).await
    }
}

fn name(ids: &dyn Ids) -> String {
    ids.uuid().simple().to_string()
}

/// How the names fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Same,
    First,
    PutBack,
}

/// `history`: whether the database has ever heard or said anything.
fn fit(
    held: Option<&str>,
    generation: Option<&str>,
    before: Option<&str>,
    history: History,
) -> Fit {
    match generation {
        Some(generation) if held == Some(generation) || held == before => Fit::Same,
        None if held.is_none() => Fit::First,
        // Who moved everything away to begin anew may have left the file.
        Some(_) | None if history == History::None => Fit::First,
        Some(_) | None => Fit::PutBack,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum History {
    None,
    Some,
}

fn begin(
    desk: &Desk<'_>,
    held: Option<String>,
    fresh: &str,
    now: Timestamp,
) -> Result<Entered, Trouble> {
    let (generation, before) = (get(desk, GENERATION)?, get(desk, BEFORE)?);
    let fit = fit(
        held.as_deref(),
        generation.as_deref(),
        before.as_deref(),
        history(desk)?,
    );
    if fit == Fit::PutBack {
        let parts = crate::outbox::doubt(desk, now)?;
        let turns = crate::session::doubt(desk)?;
        let events = crate::aside::doubt(desk)?;
        put(desk, RESTORED, Some(fresh))?;
        tracing::error!(
            parts,
            turns,
            events,
            "the database was put back from a copy: what was open then may have been done since"
        );
    }
    put_pair(desk, held.as_deref(), fresh)?;
    Ok(match get(desk, RESTORED)? {
        Some(generation) => Entered::PutBack { generation },
        None => Entered::AsLeft,
    })
}

fn put_pair(desk: &Desk<'_>, held: Option<&str>, fresh: &str) -> Result<(), Trouble> {
    put(desk, BEFORE, held)?;
    put(desk, GENERATION, Some(fresh))
}

/// Marks a copy: no file fits it, not even a missing one.
pub(super) fn mark_as_copy(db: &rusqlite::Connection, fresh: &str) -> rusqlite::Result<()> {
    for key in [GENERATION, BEFORE] {
        db.execute(
            "INSERT INTO meta(key, value) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            [key, fresh],
        )?;
    }
    Ok(())
}

fn history(desk: &Desk<'_>) -> Result<History, Trouble> {
    let any: Option<bool> = desk.first(
        "SELECT EXISTS(SELECT 1 FROM message) OR EXISTS(SELECT 1 FROM inbox)",
        [],
        |row| row.get(0),
    )?;
    Ok(if any == Some(true) {
        History::Some
    } else {
        History::None
    })
}

fn get(desk: &Desk<'_>, key: &str) -> Result<Option<String>, Trouble> {
    desk.first("SELECT value FROM meta WHERE key = ?1", [key], |row| {
        row.get(0)
    })
}

fn put(desk: &Desk<'_>, key: &str, value: Option<&str>) -> Result<(), Trouble> {
    match value {
        Some(value) => desk.run(
            "INSERT INTO meta(key, value) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            params![key, value],
        )?,
        None => desk.run("DELETE FROM meta WHERE key = ?1", [key])?,
    };
    Ok(())
}

fn at(path: &Path) -> impl Fn(io::Error) -> GenerationError {
    let path = path.to_owned();
    move |source| GenerationError::File {
        path: path.clone(),
        source,
    }
}

fn read(path: &Path) -> Result<Option<String>, GenerationError> {
    match fs::read(path) {
        // A file that holds anything else than a name fits nothing, which is what it should do.
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at(path)(error)),
    }
}

/// Whole or not at all, and durable.
fn replace(path: &Path, text: &str) -> Result<(), GenerationError> {
    let write = || {
        let fresh = path.with_extension("new");
        let mut file = File::create(&fresh)?;
        writeln!(file, "{text}")?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    write().map_err(at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pair_that_was_left_fits() {
        let some = History::Some;
        for (held, generation, before, expected) in [
            (Some("g"), Some("g"), Some("f"), Fit::Same),
            // Cut between the transaction and the file.
            (Some("f"), Some("g"), Some("f"), Fit::Same),
            (None, Some("g"), None, Fit::Same),
            (None, None, None, Fit::First),
            // An old copy.
            (Some("h"), Some("g"), Some("f"), Fit::PutBack),
            (Some("h"), None, None, Fit::PutBack),
            // The file is gone, or the home is a backup.
            (None, Some("g"), Some("f"), Fit::PutBack),
            (None, Some("g"), Some("g"), Fit::PutBack),
            (Some(""), Some("g"), Some("f"), Fit::PutBack),
        ] {
            assert_eq!(
                fit(held, generation, before, some),
                expected,
                "{held:?} {generation:?} {before:?}"
            );
        }
        assert_eq!(fit(Some("h"), None, None, History::None), Fit::First);
    }
}
