//! Free pages go back to the disk, and the log is cut.

use std::fs;
use std::path::Path;
use std::time::Duration;

use outbox::StoreError;
use rusqlite::{Connection, OpenFlags};
use session::Shrunk;

use crate::desk::Desk;
use crate::error::Trouble;
use crate::open::beside;
use crate::store::Store;

/// Free pages that stay for what comes next: 4 MB.
const SPARE: i64 = 1_024;
/// Pages that one step gives back: each may be moved, and the writer waits for them.
const AT_ONCE: i64 = 256;
/// A log longer than this is cut: twice of what SQLite's own checkpoints (1,000 pages) leave.
const LONG_LOG: u64 = 8 << 20;
/// How long the cut waits for readers and the writer, and the writer for it. Who is busier is left alone until the next time.
const PATIENCE: Duration = Duration::from_millis(50);

pub(super) async fn shrink(store: &Store) -> Result<Shrunk, StoreError> {
    let shrunk = store.write(give_back).await?;
    if !shrunk.more {
        let path = store.path().to_owned();
        tokio::task::spawn_blocking(move || take_over(&path))
            .await
            .map_err(|error| StoreError::Failed(Box::new(error)))?
            .map_err(|error| StoreError::from(Trouble::from(error)))?;
    }
    Ok(shrunk)
}

fn give_back(desk: &Desk<'_>) -> Result<Shrunk, Trouble> {
    let free = |desk: &Desk<'_>| -> Result<i64, Trouble> {
        let pages = desk.first("PRAGMA freelist_count", [], |row| row.get(0))?;
        Ok(pages.unwrap_or(0))
    };
    let before = free(desk)?;
    let surplus = before - SPARE;
    if surplus <= 0 {
        return Ok(Shrunk::default());
    }
    desk.all(
        &format!("PRAGMA incremental_vacuum({})", surplus.min(AT_ONCE)),
        [],
        |_row| Ok(()),
    )?;
    let after = free(desk)?;
    let pages = u64::try_from(before - after).unwrap_or(0);
    Ok(Shrunk {
        pages,
        more: pages > 0 && after > SPARE,
    })
}

/// Takes over what the log holds, so that the file is as short as it should be, and cuts a long log; on a connection of its
/// own, for a checkpoint can't be made inside the writer's transaction. The first one waits for nobody and does the work, so
/// that the second one, which holds up the writer, has nothing left to do but to cut.
fn take_over(path: &Path) -> rusqlite::Result<()> {
    let long = fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > LONG_LOG);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(PATIENCE)?;
    let checkpoint = |how: &str| -> rusqlite::Result<bool> {
        db.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |row| {
            row.get(0)
        })
    };
    let busy = checkpoint("PASSIVE")? || (long && checkpoint("TRUNCATE")?);
    if busy {
        tracing::debug!("the log is in use; it is taken over another time");
    }
    Ok(())
}
