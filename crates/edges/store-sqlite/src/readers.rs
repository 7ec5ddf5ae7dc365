//! Read-only connections: each read sees one moment of the database and never waits for the writer.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use outbox::StoreError;
use rusqlite::{Connection, InterruptHandle, OpenFlags};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::desk::Desk;
use crate::error::Trouble;

/// Connections at once. Reads are short; more would cost memory and no time.
const MOST: usize = 4;
/// How long the end waits before it asks a long look again to end.
const AGAIN: Duration = Duration::from_millis(50);

/// The pool. A connection is opened when one is first needed.
#[derive(Clone)]
pub(crate) struct Readers(Arc<Pool>);

struct Pool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    places: Arc<Semaphore>,
    /// Ends the long look, if one is under way.
    long: Mutex<Option<InterruptHandle>>,
}

impl Readers {
    pub(crate) fn new(path: &Path) -> Self {
        Self(Arc::new(Pool {
            path: path.to_owned(),
            idle: Mutex::new(Vec::new()),
            places: Arc::new(Semaphore::new(MOST)),
            long: Mutex::new(None),
        }))
    }

    /// Runs a read on a connection of the pool.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Desk<'_>) -> Result<T, Trouble> + Send + 'static,
    {
        let place = Arc::clone(&self.0.places)
            .acquire_owned()
            .await
            .map_err(|_closed| StoreError::Closed)?;
        let pool = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || {
            let result = pool.run(work);
            drop(place);
            result
        })
        .await
        .map_err(|error| StoreError::Failed(Box::new(error)))?
        .map_err(StoreError::from)
    }

    /// A connection of its own for a look that may take long, and its place in the pool: to be dropped after the connection.
    pub(crate) async fn long(&self) -> Result<(Connection, OwnedSemaphorePermit), StoreError> {
        let place = Arc::clone(&self.0.places)
            .acquire_owned()
            .await
            .map_err(|_closed| StoreError::Closed)?;
        let path = self.0.path.clone();
        let opened = tokio::task::spawn_blocking(move || connect(&path)).await;
        let db = opened
            .map_err(|error| StoreError::Failed(Box::new(error)))?
            .map_err(|error| StoreError::from(Trouble::from(error)))?;
        *self.0.interrupter() = Some(db.get_interrupt_handle());
        Ok((db, place))
    }

    /// Ends the long look that is under way.
    pub(crate) fn interrupt(&self) {
        if let Some(handle) = self.0.interrupter().as_ref() {
            handle.interrupt();
        }
    }

    /// Waits for reads under way, ends a long one, and closes the connections.
    pub(crate) async fn close(&self) {
        let places = u32::try_from(MOST).unwrap_or(u32::MAX);
        loop {
            // Again and again: it does nothing to a look that is just about to begin.
            self.interrupt();
            let all = tokio::time::timeout(AGAIN, self.0.places.acquire_many(places)).await;
            match all {
                Ok(Ok(all)) => {
                    self.0.places.close();
                    drop(all);
                    break;
                }
                // Somebody else closed the pool already.
                Ok(Err(_closed)) => break,
                Err(_late) => {}
            }
        }
        self.0.idle().clear();
    }
}

impl Pool {
    fn run<T>(&self, work: impl FnOnce(&Desk<'_>) -> Result<T, Trouble>) -> Result<T, Trouble> {
        let idle = self.idle().pop();
        let mut db = match idle {
            Some(db) => db,
            None => connect(&self.path)?,
        };
        let moment = db.transaction()?;
        let result = work(&Desk::new(&moment));
        moment.finish()?;
        self.idle().push(db);
        result
    }

    fn interrupter(&self) -> std::sync::MutexGuard<'_, Option<InterruptHandle>> {
        self.long.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a connection that can't write.
pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(crate::open::BUSY)?;
    db.execute_batch("PRAGMA query_only = ON")?;
    crate::open::keep_plans(&db)?;
    Ok(db)
}
