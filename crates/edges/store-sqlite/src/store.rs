//! The handle.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use outbox::{StoreError, Turnstile};
use rusqlite::Connection;
use tokio::sync::Notify;

use crate::blobs::DiskBlobs;
use crate::care::Reserve;
use crate::desk::Desk;
use crate::error::{OpenError, Trouble};
use crate::open::{self, Options};
use crate::readers::Readers;
use crate::writer::{SharedTurnstile, Writer};

/// The store. Cheap to clone; all clones are one store.
///
/// Writes are durable when they return, and are not taken back when their caller goes away: whoever claims parts must
/// wait for the answer, or those parts stay `sending` until the next start.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    // The readers go first, so that the writer is the last to leave the file and can tidy its log away.
    readers: Readers,
    writer: Option<Writer>,
    blobs: Option<DiskBlobs>,
    changed: Arc<Notify>,
    turnstile: SharedTurnstile,
    reserve: Arc<Reserve>,
    path: PathBuf,
}

impl Store {
    /// Opens the store, and makes it if there never was one. Blocks for some milliseconds.
    ///
    /// # Errors
    /// [`OpenError`] names the file and what to do; what is there is left as it is.
    pub fn open(options: &Options) -> Result<Self, OpenError> {
        Self::serve(options, open::writable(options)?)
    }

    /// As [`Self::open`], with a database that may not grow over `pages` pages of 4 KiB: for tests of a full disk.
    ///
    /// # Errors
    /// As [`Self::open`].
    #[doc(hidden)]
    pub fn open_bounded(options: &Options, pages: u32) -> Result<Self, OpenError> {
        let db = open::writable(options)?;
        db.pragma_update(None, "max_page_count", pages)
            .map_err(|source| OpenError::Sqlite {
                path: options.database.clone(),
                source,
            })?;
        Self::serve(options, db)
    }

    /// As [`Self::open`], with settings of SQLite changed: for the proof of what a loss of power leaves, which must go red
    /// with `synchronous` at 1 (`NORMAL`). A gateway that opens its store so loses what it acknowledged.
    ///
    /// # Errors
    /// As [`Self::open`], or if there is no such setting.
    #[doc(hidden)]
    pub fn open_tuned(options: &Options, settings: &[(&str, i64)]) -> Result<Self, OpenError> {
        let db = open::writable(options)?;
        for (name, value) in settings {
            db.pragma_update(None, name, value)
                .map_err(|source| OpenError::Sqlite {
                    path: options.database.clone(),
                    source,
                })?;
        }
        Self::serve(options, db)
    }

    fn serve(options: &Options, db: Connection) -> Result<Self, OpenError> {
        let blobs = DiskBlobs::open(&options.blobs).map_err(|source| OpenError::File {
            path: options.blobs.clone(),
            source,
        })?;
        let changed = Arc::new(Notify::new());
        let turnstile = SharedTurnstile::default();
        let reserve = Arc::new(Reserve::default());
        let writer = Writer::start(
            db,
            Arc::clone(&changed),
            Arc::clone(&turnstile),
            Arc::clone(&reserve),
        )
        .map_err(|source| OpenError::File {
            path: options.database.clone(),
            source,
        })?;
        Ok(Self(Arc::new(Inner {
            readers: Readers::new(&options.database),
            writer: Some(writer),
            blobs: Some(blobs),
            changed,
            turnstile,
            reserve,
            path: options.database.clone(),
        })))
    }

    /// Opens the database of a gateway, running or not, to look at it. Everything that would write is refused.
    ///
    /// # Errors
    /// [`OpenError`] names the file and what to do.
    pub fn open_read_only(database: &Path) -> Result<Self, OpenError> {
        open::read_only(database)?;
        Ok(Self(Arc::new(Inner {
            readers: Readers::new(database),
            writer: None,
            blobs: None,
            changed: Arc::new(Notify::new()),
            turnstile: Arc::new(OnceLock::new()),
            reserve: Arc::default(),
            path: database.to_owned(),
        })))
    }

    /// Opens the database of a gateway, running or not, to do with parcels what its owner wants. Another process may write
    /// too: SQLite lets one wait for the other. Nothing is made or migrated, and bytes are out of reach.
    ///
    /// # Errors
    /// [`OpenError`] names the file and what to do; what is there is left as it is.
    pub fn open_to_act(database: &Path) -> Result<Self, OpenError> {
        let db = open::existing(database)?;
        let changed = Arc::new(Notify::new());
        let turnstile = SharedTurnstile::default();
        let reserve = Arc::new(Reserve::default());
        let writer = Writer::start(
            db,
            Arc::clone(&changed),
            Arc::clone(&turnstile),
            Arc::clone(&reserve),
        )
        .map_err(|source| OpenError::File {
            path: database.to_owned(),
            source,
        })?;
        Ok(Self(Arc::new(Inner {
            readers: Readers::new(database),
            writer: Some(writer),
            blobs: None,
            changed,
            turnstile,
            reserve,
            path: database.to_owned(),
        })))
    }

    /// Captured bytes; `None` where the store was opened to look at or to act.
    #[must_use]
    pub fn blobs(&self) -> Option<&DiskBlobs> {
        self.0.blobs.as_ref()
    }

    /// Finishes what waits and closes the database; afterwards every call answers [`StoreError::Closed`].
    ///
    /// # Errors
    /// If the writer ended in a panic.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.0.readers.close().await;
        let Some(thread) = self.0.writer.as_ref().and_then(Writer::finish) else {
            return Ok(());
        };
        tokio::task::spawn_blocking(move || thread.join())
            .await
            .map_err(|error| StoreError::Failed(Box::new(error)))?
            .map_err(|_panic| StoreError::Failed("the store's writer ended in a panic".into()))
    }

    /// Looks through the whole database; returns what is wrong, empty when all is well. For `doctor`: it reads everything.
    ///
    /// # Errors
    /// [`StoreError`] if it can't be read at all.
    pub async fn check(&self) -> Result<Vec<String>, StoreError> {
        self.read(|desk| {
            let mut wrong = desk.all("PRAGMA integrity_check(20)", [], |row| {
                row.get::<_, String>(0)
            })?;
            wrong.retain(|line| line != "ok");
            wrong.extend(desk.all("PRAGMA foreign_key_check", [], |row| {
                let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
                Ok(format!(
                    "a row of {table} points to a missing row of {parent}"
                ))
            })?);
            Ok(wrong)
        })
        .await
    }

    pub(crate) fn reserve(&self) -> &Arc<Reserve> {
        &self.0.reserve
    }

    pub(crate) fn readers(&self) -> &Readers {
        &self.0.readers
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Desk<'_>) -> Result<T, Trouble> + Send + 'static,
    {
        match &self.0.writer {
            Some(writer) => writer.write(work).await,
            None => Err(StoreError::Failed(
                "the database was opened only to look at it".into(),
            )),
        }
    }

    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Desk<'_>) -> Result<T, Trouble> + Send + 'static,
    {
        self.0.readers.read(work).await
    }

    /// Sets what says whether attempts may begin; the first one stays.
    pub(crate) fn set_turnstile(&self, turnstile: Arc<dyn Turnstile>) {
        if self.0.turnstile.set(turnstile).is_err() {
            tracing::error!("the store has its turnstile already; the first one stays");
        }
    }

    pub(crate) async fn woken(&self) {
        self.0.changed.notified().await;
    }
}
