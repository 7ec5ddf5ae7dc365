//! Ballast: bytes that are there only to be let go. When the disk is full, the notice that says so must still be stored.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

use crate::store::Store;

/// Bytes written at once.
const PIECE: usize = 64 << 10;

/// A file of bytes that mean nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ballast {
    path: PathBuf,
    bytes: u64,
}

/// What there is of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stock {
    /// It is there.
    Kept,
    /// There is no room for it.
    NoRoom,
}

impl Ballast {
    /// Twice the length at which the log is folded into the database (1,000 pages of 4 KiB): what is left is room for rows.
    pub const BYTES: u64 = 8 << 20;

    /// A ballast of so many bytes; nothing is done yet.
    #[must_use]
    pub fn new(path: &Path, bytes: u64) -> Self {
        Self {
            path: path.to_owned(),
            bytes,
        }
    }

    /// Room that a start needs: the shared memory beside the log, the log's first pages, some small files.
    pub const START: u64 = 1 << 20;

    /// Lets it go at once if less than `least` bytes are free; `true`: it was let go. For who holds the home's lock, before
    /// anything is written.
    ///
    /// # Errors
    /// If the disk can't be asked, or the file can't be removed.
    pub fn make_way(&self, least: u64) -> io::Result<bool> {
        if self.free()? >= least {
            return Ok(false);
        }
        self.let_go()
    }

    /// Bytes that are free on its disk.
    fn free(&self) -> io::Result<u64> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let found = rustix::fs::statvfs(folder)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// Makes it if it is not there, and as much room again would be left: otherwise it would be what fills the disk. Blocks
    /// for as long as the disk takes.
    ///
    /// # Errors
    /// If the disk fails otherwise than by being full.
    pub fn stock(&self) -> io::Result<Stock> {
        if fs::metadata(&self.path).is_ok_and(|file| file.len() >= self.bytes) {
            return Ok(Stock::Kept);
        }
        if self.free()? < self.bytes.saturating_mul(2) {
            return Ok(Stock::NoRoom);
        }
        match self.write() {
            Ok(()) => Ok(Stock::Kept),
            Err(error) => {
                self.drop_it()?;
                if is_full(&error) {
                    Ok(Stock::NoRoom)
                } else {
                    Err(error)
                }
            }
        }
    }

    /// Written and not only reserved: file systems that compress or copy on write keep no promise made beforehand.
    fn write(&self) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&self.path)?;
        let mut noise = blake3::Hasher::new().update(b"ballast").finalize_xof();
        let mut piece = vec![0_u8; PIECE];
        let mut left = self.bytes;
        while left > 0 {
            noise.fill(&mut piece);
            let now = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            file.write_all(piece.get(..now).unwrap_or(&piece))?;
            left = left.saturating_sub(now as u64);
        }
        file.sync_all()?;
        match self.path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }

    /// Lets it go; `false`: there was none.
    fn let_go(&self) -> io::Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn drop_it(&self) -> io::Result<()> {
        self.let_go().map(|_was_there| ())
    }
}

pub(super) fn is_full(error: &io::Error) -> bool {
    [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded].contains(&error.kind())
}

/// The ballast as the writer holds it, and whether the disk was found full.
#[derive(Debug, Default)]
pub(crate) struct Reserve {
    ballast: OnceLock<Ballast>,
    full: AtomicBool,
    bell: Notify,
}

impl Reserve {
    /// A commit found the disk full. Rings only when that is news: who tries to store something because it rang, and fails
    /// again, must not be called again for that.
    pub(crate) fn disk_is_full(&self) {
        let already = self.full.swap(true, Ordering::SeqCst);
        let news = match self.ballast.get().map(Ballast::let_go) {
            Some(Ok(true)) => {
                tracing::error!("the disk is full; the ballast was let go for what must be stored");
                true
            }
            _ if already => false,
            Some(Ok(false)) | None => {
                tracing::error!("the disk is full, and there is no ballast to let go");
                true
            }
            Some(Err(error)) => {
                tracing::error!(%error, "the disk is full, and the ballast can't be let go");
                true
            }
        };
        if news {
            self.bell.notify_one();
        }
    }
}

impl Store {
    /// Gives the writer a ballast that it may let go when a commit finds the disk full. Only the first one counts.
    pub fn keep_ballast(&self, ballast: Ballast) {
        if self.reserve().ballast.set(ballast).is_err() {
            tracing::debug!("there is a ballast already");
        }
    }

    /// Makes the ballast if it is gone and there is room; after that the disk counts as not full. Blocks on the disk.
    ///
    /// # Errors
    /// If the disk fails otherwise than by being full.
    pub async fn restock(&self) -> io::Result<Stock> {
        let reserve: Arc<Reserve> = Arc::clone(self.reserve());
        let stock = tokio::task::spawn_blocking(move || {
            let stock = match reserve.ballast.get() {
                Some(ballast) => ballast.stock()?,
                None => Stock::Kept,
            };
            if stock == Stock::Kept {
                reserve.full.store(false, Ordering::SeqCst);
            }
            Ok(stock)
        });
        stock.await.map_err(io::Error::other)?
    }

    /// Whether a commit found the disk full since the ballast was last made.
    #[must_use]
    pub fn disk_was_full(&self) -> bool {
        self.reserve().full.load(Ordering::SeqCst)
    }

    /// Returns when a commit has found the disk full, once for each time that it fills: not again before [`Self::restock`]
    /// found room.
    pub async fn disk_full(&self) {
        self.reserve().bell.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn the_bytes_are_really_there_and_gone_when_they_are_let_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ballast");
        let ballast = Ballast::new(&path, 300_000);
        assert_eq!(ballast.stock().unwrap(), Stock::Kept);
        let file = fs::metadata(&path).unwrap();
        assert_eq!(file.len(), 300_000);
        assert!(
            file.blocks() * 512 >= 300_000,
            "a sparse file frees nothing"
        );
        assert_eq!(ballast.stock().unwrap(), Stock::Kept);
        assert!(ballast.let_go().unwrap());
        assert!(!ballast.let_go().unwrap());
        assert!(!path.exists());
    }

    #[tokio::test(start_paused = true)]
    async fn a_disk_that_stays_full_rings_once() {
        let folder = tempfile::tempdir().unwrap();
        let ballast = Ballast::new(&folder.path().join("ballast"), 1_000);
        ballast.stock().unwrap();
        let reserve = Reserve::default();
        reserve.ballast.set(ballast.clone()).unwrap();
        let rings = async || {
            let waited =
                tokio::time::timeout(std::time::Duration::from_secs(1), reserve.bell.notified());
            waited.await.is_ok()
        };
        reserve.disk_is_full();
        assert!(rings().await);
        for _ in 0..3 {
            reserve.disk_is_full();
            assert!(!rings().await, "it was known");
        }
        // Made again, and full again before anybody said that there was room.
        ballast.stock().unwrap();
        reserve.disk_is_full();
        assert!(rings().await);
    }

    #[test]
    fn it_is_not_what_fills_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let ballast = Ballast::new(&folder.path().join("ballast"), u64::MAX / 4);
        assert_eq!(ballast.stock().unwrap(), Stock::NoRoom);
        assert!(!folder.path().join("ballast").exists());
    }
}
