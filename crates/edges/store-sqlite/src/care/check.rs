//! A look through the whole database beside everything else.

use outbox::StoreError;
use tokio::sync::oneshot;

use crate::error::Trouble;
use crate::readers::Readers;
use crate::store::Store;

/// The niceness of the thread that looks: whatever else wants the machine goes first (19 is the most, setpriority(2)).
const NICENESS: i32 = 19;
/// Findings that are told; more say nothing more.
const MOST: usize = 20;

/// Ends the look when nobody waits for it any more.
struct Interrupted(Readers);

impl Drop for Interrupted {
    fn drop(&mut self) {
        self.0.interrupt();
    }
}

impl Store {
    /// Looks through every page with `PRAGMA quick_check`, in a thread of its own at the lowest priority; returns what is
    /// wrong, empty when all is well. Changes nothing. Dropped, it ends early.
    ///
    /// # Errors
    /// [`StoreError`] if the database can't be read at all.
    pub async fn quick_check(&self) -> Result<Vec<String>, StoreError> {
        let (db, place) = self.readers().long().await?;
        let waiting = Interrupted(self.readers().clone());
        let (answer, result) = oneshot::channel();
        std::thread::Builder::new()
            .name("store-check".to_owned())
            .spawn(move || {
                // On Linux this is the thread's own, not the process's.
                if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
                    tracing::debug!(%error, "the check runs at ordinary priority");
                }
                let found = quick_check(&db);
                // The end of the store waits for the place, so that the writer is the last to leave the file.
                drop(db);
                drop(place);
                if answer.send(found).is_err() {
                    tracing::debug!("nobody waits for the check any more");
                }
            })
            .map_err(|error| StoreError::Failed(Box::new(error)))?;
        let found = result.await.unwrap_or(Ok(Vec::new()));
        drop(waiting);
        found.map_err(|error| StoreError::from(Trouble::from(error)))
    }
}

/// What is wrong with a database.
pub(super) fn quick_check(db: &rusqlite::Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = db.prepare(&format!("PRAGMA quick_check({MOST})"))?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
    let found = rows.collect::<rusqlite::Result<Vec<String>>>();
    match found {
        Ok(mut wrong) => {
            wrong.retain(|line| line != "ok");
            Ok(wrong)
        }
        // A page that can't even be walked over is a finding, and not a failure to look.
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt) => {
            Ok(vec![error.to_string()])
        }
        Err(error) => Err(error),
    }
}
