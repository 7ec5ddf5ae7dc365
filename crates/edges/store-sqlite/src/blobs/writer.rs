//! Bytes on their way to their place.
//!
//! They are gathered to pieces; hashing and writing a piece is the work of a thread of its own, while the next one comes. The disk is
//! asked to begin with what it has early: what is only begun at the end makes the end late.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::num::NonZero;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use rustix::fs::{Advice, fadvise};
use sandbox::{Blob, BlobError, BlobWriter, ContentHash};
use tokio::fs;
use tokio::task::{JoinHandle, spawn_blocking};

use super::mime;
use super::{Shelves, UNFINISHED, place, sync_folder, trouble};

/// Names tried for an unfinished file; another is taken only if a second process writes at the same time.
const NAMES: usize = 1_000;
/// How much is gathered: far more than a change between two threads costs. There are two of them for each writer.
const GATHERED: usize = 1 << 20;
/// How much the disk is given at once; at 1 GB/s, 8 ms of its time.
const BEGUN: u64 = 8 << 20;

pub(super) struct Writer {
    shelves: Arc<Shelves>,
    shelf: PathBuf,
    /// Removed when this is dropped before its end.
    draft: Draft,
    hand: Hand,
    gathered: Vec<u8>,
    head: Vec<u8>,
    size: u64,
}

/// Who has the file.
enum Hand {
    /// The writer, with room for the piece after the next.
    Free(Box<Sheet>, Vec<u8>),
    /// A thread that puts a piece there.
    Busy(JoinHandle<io::Result<(Box<Sheet>, Vec<u8>)>>),
    /// Nobody: a piece could not be put there.
    Lost,
}

/// The file, and what is known of what it holds.
struct Sheet {
    file: File,
    hasher: blake3::Hasher,
    written: u64,
    /// How much of it the disk has begun with.
    begun: u64,
}

impl Sheet {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        let more = self.written - self.begun;
        if more >= BEGUN {
            // "Not needed" begins to write what is not written yet and drops what is: of bytes just put there, nothing. A file
            // system that does not care is as fast as it was.
            fadvise(&self.file, self.begun, NonZero::new(more), Advice::DontNeed)
                .unwrap_or_default();
            self.begun = self.written;
        }
        Ok(())
    }
}

impl Hand {
    /// The file, once nobody else has it.
    async fn take(&mut self) -> Result<(Box<Sheet>, Vec<u8>), BlobError> {
        if let Self::Busy(work) = self {
            let done = work
                .await
                .unwrap_or_else(|error| Err(io::Error::other(error)));
            *self = match done {
                Ok((sheet, room)) => Self::Free(sheet, room),
                Err(error) => {
                    *self = Self::Lost;
                    return Err(trouble(error));
                }
            };
        }
        match std::mem::replace(self, Self::Lost) {
            Self::Free(sheet, room) => Ok((sheet, room)),
            Self::Busy(_) | Self::Lost => Err(BlobError::Io(io::Error::other(
                "an earlier piece could not be written",
            ))),
        }
    }
}

impl Writer {
    pub(super) async fn create(shelf: PathBuf, shelves: Arc<Shelves>) -> Result<Self, BlobError> {
        shelves.make(&shelf).await.map_err(trouble)?;
        for _ in 0..NAMES {
            let number = shelves.count.fetch_add(1, Ordering::Relaxed);
            let path = shelf.join(format!("{UNFINISHED}{}-{number}", std::process::id()));
            let at = path.clone();
            let opened = spawn_blocking(move || open(&at))
                .await
                .unwrap_or_else(|error| Err(io::Error::other(error)));
            match opened {
                Ok(file) => {
                    let sheet = Sheet {
                        file,
                        hasher: blake3::Hasher::new(),
                        written: 0,
                        begun: 0,
                    };
                    return Ok(Self {
                        shelves,
                        shelf,
                        draft: Draft(Some(path)),
                        hand: Hand::Free(Box::new(sheet), Vec::new()),
                        gathered: Vec::new(),
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

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, mut bytes: &[u8]) -> Result<(), BlobError> {
        let wanted = mime::HEAD.saturating_sub(self.head.len());
        self.head.extend(bytes.iter().take(wanted));
        while !bytes.is_empty() {
            let room = GATHERED.saturating_sub(self.gathered.len());
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.gathered.extend_from_slice(now);
            self.size += now.len() as u64;
            bytes = later;
            if self.gathered.len() >= GATHERED {
                let (mut sheet, room) = self.hand.take().await?;
                let mut piece = std::mem::replace(&mut self.gathered, room);
                self.hand = Hand::Busy(spawn_blocking(move || {
                    sheet.put(&piece)?;
                    piece.clear();
                    Ok((sheet, piece))
                }));
            }
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>, name: &str) -> Result<Blob, BlobError> {
        let (mut sheet, _room) = self.hand.take().await?;
        let rest = std::mem::take(&mut self.gathered);
        let synced = spawn_blocking(move || {
            sheet.put(&rest)?;
            sheet.file.sync_all()?;
            Ok(sheet.hasher.finalize())
        });
        let hash = synced
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
            .map_err(trouble)?;
        let hash = ContentHash::new(*hash.as_bytes());
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
