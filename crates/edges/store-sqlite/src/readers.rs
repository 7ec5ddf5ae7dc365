//! Read-only connections: each read sees one moment of the database and never waits for the writer.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use outbox::StoreError;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use crate::desk::Desk;
use crate::error::Trouble;

/// Connections at once. Reads are short; more would cost memory and no time.
const MOST: usize = 4;

/// The pool. A connection is opened when one is first needed.
#[derive(Clone)]
pub(crate) struct Readers(Arc<Pool>);

struct Pool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    places: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn new(path: &Path) -> Self {
        Self(Arc::new(Pool {
            path: path.to_owned(),
            idle: Mutex::new(Vec::new()),
            places: Arc::new(Semaphore::new(MOST)),
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

    /// Waits for reads under way and closes the connections.
    pub(crate) async fn close(&self) {
        // An error here means that somebody else closed the pool already.
        let places = u32::try_from(MOST).unwrap_or(u32::MAX);
        if let Ok(all) = self.0.places.acquire_many(places).await {
            self.0.places.close();
            drop(all);
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
    Ok(db)
}
