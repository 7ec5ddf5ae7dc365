//! Bytes on their way to their place.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use sandbox::{Blob, BlobError, BlobWriter, ContentHash};
use tokio::fs::{self, File, OpenOptions};
use tokio::io::AsyncWriteExt as _;

use super::mime;
use super::{Shelves, UNFINISHED, place, sync_folder, trouble};

/// Names tried for an unfinished file; another is taken only if a second process writes at the same time.
const NAMES: usize = 1_000;

pub(super) struct Writer {
    shelves: Arc<Shelves>,
    shelf: PathBuf,
    /// Removed when this is dropped before its end.
    draft: Draft,
    file: File,
    hasher: blake3::Hasher,
    head: Vec<u8>,
    size: u64,
}

impl Writer {
    pub(super) async fn create(shelf: PathBuf, shelves: Arc<Shelves>) -> Result<Self, BlobError> {
        shelves.make(&shelf).await.map_err(trouble)?;
        for _ in 0..NAMES {
            let number = shelves.count.fetch_add(1, Ordering::Relaxed);
            let path = shelf.join(format!("{UNFINISHED}{}-{number}", std::process::id()));
            let opened = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
                .await;
            match opened {
                Ok(file) => {
                    return Ok(Self {
                        shelves,
                        shelf,
                        draft: Draft(Some(path)),
                        file,
                        hasher: blake3::Hasher::new(),
                        head: Vec::new(),
                        size: 0,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(trouble(error)),
            }
        }
        Err(BlobError::Io(io::Error::from(io::ErrorKind::AlreadyExists)))
    }
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        let wanted = mime::HEAD.saturating_sub(self.head.len());
        self.head.extend(bytes.iter().take(wanted));
        self.file.write_all(bytes).await.map_err(trouble)
    }

    async fn finish(mut self: Box<Self>, name: &str) -> Result<Blob, BlobError> {
        self.file.flush().await.map_err(trouble)?;
        self.file.sync_all().await.map_err(trouble)?;
        let hash = ContentHash::new(*self.hasher.finalize().as_bytes());
        let (folder, path) = place(&self.shelf, &hash);
        self.shelves.make(&folder).await.map_err(trouble)?;
        self.shelves.pins.pin(&path);
        // Also where the bytes are there already: a file that the disk damaged is mended, and one that nobody named is young.
        if let Some(draft) = self.draft.0.take() {
            let moved = fs::rename(&draft, &path).await;
            if moved.is_err() {
                self.draft.0 = Some(draft);
            }
            moved.map_err(trouble)?;
        }
        sync_folder(&folder).await.map_err(trouble)?;
        failpoint::point("C3b");
        Ok(Blob {
            hash,
            size: self.size,
            mime: mime::sniff(&self.head, self.size, name),
        })
    }
}

struct Draft(Option<PathBuf>);

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(path) = self.0.take()
            && let Err(error) = std::fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "an unfinished artifact stays until the next start");
        }
    }
}
