//! Captured bytes that nobody names.
//!
//! The question is asked of what is committed, on a reading connection. Between the answer and the removal no row can come to
//! name the bytes without its writer having captured or opened them in this process, and those are pinned (see `blobs::pins`).

use outbox::StoreError;
use sandbox::ContentHash;
use session::Collected;
use waybill::{ProfileId, Timestamp};

use crate::blobs::{Aged, DiskBlobs, Removed};
use crate::desk::Desk;
use crate::error::Trouble;
use crate::store::Store;

pub(super) const NAMED: &str = "SELECT 1 FROM reference WHERE profile = ?1 AND hash = ?2 LIMIT 1";

/// Files that one question names.
const AT_ONCE: usize = 500;

pub(super) async fn collect(store: &Store, before: Timestamp) -> Result<Collected, StoreError> {
    let blobs = store
        .blobs()
        .cloned()
        .ok_or_else(|| StoreError::Failed("the store was opened without its bytes".into()))?;
    blobs.let_go();
    let mut collected = Collected::default();
    let shelves = blocking(&blobs, DiskBlobs::shelves).await?;
    for shelf in tried(shelves, &mut collected) {
        let of = shelf.clone();
        let folders = blocking(&blobs, move |blobs| blobs.folders(&of)).await?;
        for folder in tried(folders, &mut collected) {
            let of = shelf.clone();
            let aged = blocking(&blobs, move |blobs| blobs.aged(&of, &folder, before)).await?;
            let Some(aged) = aged.inspect_err(|_told| collected.failed += 1).ok() else {
                continue;
            };
            collected.kept += aged.young;
            collected.bytes += aged.young_bytes;
            for some in aged.old.chunks(AT_ONCE) {
                remove(store, &blobs, &shelf, some.to_vec(), &mut collected).await?;
            }
        }
    }
    Ok(collected)
}

fn tried<T>(found: std::io::Result<Vec<T>>, collected: &mut Collected) -> Vec<T> {
    found.unwrap_or_else(|_told| {
        collected.failed += 1;
        Vec::new()
    })
}

async fn remove(
    store: &Store,
    blobs: &DiskBlobs,
    shelf: &ProfileId,
    old: Vec<Aged>,
    collected: &mut Collected,
) -> Result<(), StoreError> {
    let hashes: Vec<ContentHash> = old.iter().map(|file| file.hash).collect();
    let of = shelf.clone();
    let named = store
        .read(move |desk| {
            hashes
                .iter()
                .map(|hash| is_named(desk, &of, hash))
                .collect::<Result<Vec<bool>, Trouble>>()
        })
        .await?;
    for (file, named) in old.into_iter().zip(named) {
        let removed = if named {
            Ok(Removed::Kept)
        } else {
            let of = shelf.clone();
            blocking(blobs, move |blobs| blobs.remove(&of, &file.hash)).await?
        };
        match removed {
            Ok(Removed::Yes) => {
                collected.removed += 1;
                collected.freed += file.size;
            }
            Ok(Removed::Kept) => {
                collected.kept += 1;
                collected.bytes += file.size;
            }
            Err(_told) => collected.failed += 1,
        }
    }
    Ok(())
}

fn is_named(desk: &Desk<'_>, shelf: &ProfileId, hash: &ContentHash) -> Result<bool, Trouble> {
    let named = desk.first(NAMED, [shelf.as_str(), hash.to_string().as_str()], |_row| {
        Ok(())
    })?;
    Ok(named.is_some())
}

async fn blocking<T, F>(blobs: &DiskBlobs, work: F) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: FnOnce(&DiskBlobs) -> T + Send + 'static,
{
    let blobs = blobs.clone();
    tokio::task::spawn_blocking(move || work(&blobs))
        .await
        .map_err(|error| StoreError::Failed(Box::new(error)))
}
