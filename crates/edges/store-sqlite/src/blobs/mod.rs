//! Captured bytes on disk: `PROFILE/ab/HASH`, each once.
//!
//! Bytes are written to a hidden file beside their place, hashed on the way, synced, and moved there in one step.

mod aged;
mod mime;
mod pins;
mod writer;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use sandbox::{BlobError, BlobReader, BlobStore, BlobWriter, ContentHash};
use tokio::io::AsyncReadExt as _;
use waybill::ProfileId;

use crate::error::OpenError;
use crate::open::folder_for_us;
pub(crate) use aged::{Aged, Removed};
use pins::Pins;
use writer::Writer;

/// What unfinished files begin with.
pub(crate) const UNFINISHED: &str = ".tmp-";

/// Bytes handed out at once.
const PIECE: usize = 64 << 10;

/// The folder of captured bytes, one shelf per profile. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DiskBlobs(Arc<Shelves>);

#[derive(Debug)]
struct Shelves {
    folder: PathBuf,
    count: AtomicU64,
    /// Folders whose names are known to be durable: at most 257 a profile.
    durable: Mutex<HashSet<PathBuf>>,
    pins: Pins,
}

impl Shelves {
    /// Makes a folder if it is not there, with its name durable in the folder above. Whoever finds a folder that another
    /// one just made can't know whether that one has synced it yet, and does so too.
    async fn make(&self, folder: &Path) -> io::Result<()> {
        let known = self.known().contains(folder);
        if known && tokio::fs::try_exists(folder).await? {
            return Ok(());
        }
        let made = folder.to_owned();
        tokio::task::spawn_blocking(move || folder_for_us(&made)).await??;
        if let Some(above) = folder.parent() {
            sync_folder(above).await?;
        }
        self.known().insert(folder.to_owned());
        Ok(())
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashSet<PathBuf>> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn sync_folder(folder: &Path) -> io::Result<()> {
    tokio::fs::File::open(folder).await?.sync_all().await
}

impl DiskBlobs {
    /// Opens the folder, and makes it if it is not there. Nothing in it is touched: another process may be writing there.
    ///
    /// # Errors
    /// If the folder can't be made.
    pub fn open(folder: &Path) -> io::Result<Self> {
        folder_for_us(folder)?;
        // Their name lasts as long as what is put into them.
        fs::File::open(fs::canonicalize(folder)?.parent().unwrap_or(folder))?.sync_all()?;
        Ok(Self(Arc::new(Shelves {
            folder: folder.to_owned(),
            count: AtomicU64::new(0),
            durable: Mutex::new(HashSet::new()),
            pins: Pins::default(),
        })))
    }

    /// Removes what a crash left unfinished. Only for who holds the home's lock and has not begun to write: whatever is
    /// unfinished in the folder is lost, no matter whose it is. Blocks for as long as the disk takes.
    ///
    /// # Errors
    /// [`OpenError`] names the folder, if it can't be read or a file in it can't be removed.
    pub fn sweep(&self) -> Result<(), OpenError> {
        let folder = &self.0.folder;
        sweep_all(folder).map_err(|source| OpenError::File {
            path: folder.clone(),
            source,
        })
    }
}

fn sweep_all(folder: &Path) -> io::Result<()> {
    for profile in fs::read_dir(folder)? {
        let profile = profile?;
        if profile.file_type()?.is_dir() {
            sweep(&profile.path())?;
        }
    }
    Ok(())
}

fn sweep(shelf: &Path) -> io::Result<()> {
    for entry in fs::read_dir(shelf)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Where bytes stand in a profile's shelf: the folder, and the file in it.
fn place(shelf: &Path, hash: &ContentHash) -> (PathBuf, PathBuf) {
    let name = hash.to_string();
    let folder = shelf.join(name.chars().take(2).collect::<String>());
    let file = folder.join(name);
    (folder, file)
}

/// What an error of the disk means.
fn trouble(error: io::Error) -> BlobError {
    let full = [
        io::ErrorKind::StorageFull,
        io::ErrorKind::QuotaExceeded,
        io::ErrorKind::FileTooLarge,
    ];
    if full.contains(&error.kind()) {
        BlobError::Full(error)
    } else {
        BlobError::Io(error)
    }
}

#[async_trait]
impl BlobStore for DiskBlobs {
    async fn create(&self, profile: &ProfileId) -> Result<Box<dyn BlobWriter>, BlobError> {
        let shelf = self.0.folder.join(profile.as_str());
        Ok(Box::new(Writer::create(shelf, Arc::clone(&self.0)).await?))
    }

    async fn open(
        &self,
        profile: &ProfileId,
        hash: &ContentHash,
    ) -> Result<(u64, Box<dyn BlobReader>), BlobError> {
        let (_, path) = place(&self.0.folder.join(profile.as_str()), hash);
        let shelves = Arc::clone(&self.0);
        let opened = tokio::task::spawn_blocking(move || shelves.pins.open(&path))
            .await
            .map_err(|error| BlobError::Io(io::Error::other(error)))?;
        let file = opened.map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                BlobError::Missing
            } else {
                trouble(error)
            }
        })?;
        let file = tokio::fs::File::from_std(file);
        let size = file.metadata().await.map_err(trouble)?.len();
        Ok((
            size,
            Box::new(Reader {
                file,
                room: BytesMut::new(),
            }),
        ))
    }
}

struct Reader {
    file: tokio::fs::File,
    room: BytesMut,
}

#[async_trait]
impl BlobReader for Reader {
    async fn next(&mut self) -> Result<Option<Bytes>, BlobError> {
        self.room.reserve(PIECE);
        let mut piece = (&mut self.file).take(PIECE as u64);
        let read = piece.read_buf(&mut self.room).await.map_err(trouble)?;
        Ok((read > 0).then(|| self.room.split().freeze()))
    }
}
