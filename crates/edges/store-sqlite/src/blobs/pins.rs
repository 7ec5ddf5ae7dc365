//! Bytes that somebody has in hand: captured or opened a while ago, and about to be named by a row that is not written yet.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long a hand holds: an hour. A row is written within seconds of its bytes, a page's message within minutes.
const HOLD: Duration = Duration::from_secs(60 * 60);

/// What may not be removed, whatever the database says. A place is pinned before its bytes are put there or opened, under the
/// lock under which they are removed: who has them in hand has them for good.
///
/// Pins are kept by a clock that can't be set and stands still while the machine sleeps, so that neither makes bytes old.
#[derive(Debug, Default)]
pub(super) struct Pins(Mutex<HashMap<PathBuf, Instant>>);

impl Pins {
    /// Pins a place where bytes will be.
    pub(super) fn pin(&self, place: &Path) {
        self.pinned().insert(place.to_owned(), Instant::now());
    }

    /// Opens what is at a place, and pins it if it is there.
    pub(super) fn open(&self, place: &Path) -> io::Result<File> {
        let mut pinned = self.pinned();
        let file = File::open(place)?;
        pinned.insert(place.to_owned(), Instant::now());
        Ok(file)
    }

    /// Forgets pins that nobody needs any more; called now and then, so that they stay few.
    pub(super) fn tidy(&self) {
        self.pinned().retain(|_place, since| since.elapsed() < HOLD);
    }

    /// Moves what is at a place away, unless it is pinned; says whether it did.
    pub(super) fn take_away(&self, place: &Path, to: &Path) -> io::Result<bool> {
        let pinned = self.pinned();
        if pinned
            .get(place)
            .is_some_and(|since| since.elapsed() < HOLD)
        {
            return Ok(false);
        }
        // A rename, since the lock is held: to free the blocks of a large file takes long.
        fs::rename(place, to)?;
        drop(pinned);
        Ok(true)
    }

    fn pinned(&self) -> MutexGuard<'_, HashMap<PathBuf, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
