//! A file that the launcher found, judged and opened, read by the gateway itself.
//!
//! Nothing is believed of it: what came must be a regular file on the file system of the sandboxes' own folders, and the very file
//! that the launcher named. So a pipe, a device, a file of `/proc` or of a folder that a program serves can't hold the gateway,
//! whoever hands it over. It is read to the size that it had and not a byte further; of one that is sent, there may be no second
//! name, and what became of it meanwhile is asked at the end.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::{FileType, Stat, fstat};
use rustix::io::{Errno, pread};
use sandbox::SandboxError;
use tokio::sync::mpsc;

use crate::output::Sink;
use crate::plan::{Handed, Refused, Special};

/// How much is read in one go: far more than a change between two threads costs, and little beside what a gateway has.
const PIECE: usize = 1 << 20;
/// How many pieces wait for whoever stores them.
const AHEAD: usize = 2;

/// The file system that a folder lies on.
pub(crate) async fn device(folder: &Path) -> Result<u64, SandboxError> {
    use std::os::unix::fs::MetadataExt as _;
    tokio::fs::metadata(folder)
        .await
        .map(|found| found.dev())
        .map_err(|source| {
            SandboxError::Failed(format!("{} can't be looked at: {source}", folder.display()))
        })
}

/// Reads a file from its first byte to its last into a sink; says how many there were. Dropped, it stops within a piece.
pub(crate) async fn take(
    file: OwnedFd,
    which: Handed,
    device: u64,
    limit: u64,
    sink: &mut dyn Sink,
) -> Result<u64, Refused> {
    let (pieces, mut read) = mpsc::channel(AHEAD);
    // A thread of its own: a disk may keep one waiting.
    let reading = tokio::task::spawn_blocking(move || {
        let before = judge(&file, which, device, limit)?;
        let size = size(&before);
        send(&file, size, &pieces)?;
        let after = fstat(&file).map_err(|_unreadable| Refused::Unstable)?;
        let changed = |stat: &Stat| (stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
        if changed(&before) == changed(&after) {
            Ok(size)
        } else {
            Err(Refused::Unstable)
        }
    });
    while let Some(piece) = read.recv().await {
        sink.take(&piece).await;
    }
    reading.await.unwrap_or(Err(Refused::Unstable))
}

/// Reads up to `most` bytes from a place on; says how many the file has.
pub(crate) async fn window(
    file: OwnedFd,
    which: Handed,
    device: u64,
    offset: u64,
    most: usize,
) -> Result<(Vec<u8>, u64), Refused> {
    let reading = tokio::task::spawn_blocking(move || {
        let size = size(&verify(&file, which, device)?);
        let there = usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = most.min(there);
        let mut bytes = Vec::with_capacity(wanted);
        while bytes.len() < wanted {
            let place = offset.saturating_add(bytes.len() as u64);
            match pread(&file, spare_capacity(&mut bytes), place) {
                // It became shorter.
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_unreadable) => return Err(Refused::Unstable),
            }
        }
        bytes.truncate(wanted);
        Ok((bytes, size))
    });
    reading.await.unwrap_or(Err(Refused::Unstable))
}

/// Is it something that may be sent?
fn judge(file: &OwnedFd, which: Handed, device: u64, limit: u64) -> Result<Stat, Refused> {
    let found = verify(file, which, device)?;
    match found.st_nlink {
        0 => Err(Refused::Unstable),
        1 if size(&found) > limit => Err(Refused::TooLarge),
        1 => Ok(found),
        _ => Err(Refused::HardLink),
    }
}

/// Is it what it is said to be, and something that may be read here?
fn verify(file: &OwnedFd, which: Handed, device: u64) -> Result<Stat, Refused> {
    let found = fstat(file).map_err(|_unreadable| Refused::Unstable)?;
    let kind = match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some(Special::Directory),
        FileType::Fifo => Some(Special::Fifo),
        FileType::Socket => Some(Special::Socket),
        FileType::BlockDevice
        | FileType::CharacterDevice
        | FileType::Symlink
        | FileType::Unknown => Some(Special::Device),
    };
    if let Some(kind) = kind {
        return Err(Refused::NotAFile { kind });
    }
    let is_the_one = found.st_dev == which.device && found.st_ino == which.inode;
    if is_the_one && found.st_dev == device {
        Ok(found)
    } else {
        Err(Refused::Unstable)
    }
}

fn size(of: &Stat) -> u64 {
    u64::try_from(of.st_size).unwrap_or(0)
}

/// Sends exactly as many bytes as there were. From a place of its own: whoever else has this file open may wind it.
fn send(file: &OwnedFd, size: u64, pieces: &mpsc::Sender<Vec<u8>>) -> Result<(), Refused> {
    let mut sent = 0;
    while sent < size {
        let wanted = usize::try_from(size - sent).unwrap_or(PIECE).min(PIECE);
        let mut piece = Vec::with_capacity(wanted);
        match pread(file, spare_capacity(&mut piece), sent) {
            // It became shorter.
            Ok(0) => return Err(Refused::Unstable),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_unreadable) => return Err(Refused::Unstable),
        }
        // The allocator may have given more room than was asked for.
        piece.truncate(wanted);
        sent += piece.len() as u64;
        if pieces.blocking_send(piece).is_err() {
            // Nobody wants it any more.
            return Err(Refused::Unstable);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::{Seek as _, SeekFrom, Write as _};
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};

    use async_trait::async_trait;
    use rustix::fs::{CWD, Mode, OFlags};

    use super::{PIECE, take, window};
    use crate::output::{Collected, Sink};
    use crate::plan::{Handed, Refused, Special};

    const MOST: u64 = 64 << 20;

    struct Desk(tempfile::TempDir);

    impl Desk {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn device(&self) -> u64 {
            fs::metadata(self.0.path()).unwrap().dev()
        }

        fn file(&self, bytes: &[u8]) -> PathBuf {
            let path = self.0.path().join("file");
            fs::write(&path, bytes).unwrap();
            path
        }

        async fn taken(&self, file: OwnedFd, limit: u64) -> Result<Vec<u8>, Refused> {
            let which = which(&file);
            let mut sink = Collected {
                bytes: Vec::new(),
                most: usize::MAX,
            };
            let size = take(file, which, self.device(), limit, &mut sink).await?;
            assert_eq!(size, sink.bytes.len() as u64);
            Ok(sink.bytes)
        }
    }

    fn which(file: &OwnedFd) -> Handed {
        let found = rustix::fs::fstat(file).unwrap();
        Handed {
            device: found.st_dev,
            inode: found.st_ino,
        }
    }

    fn open(path: &Path) -> OwnedFd {
        File::open(path).unwrap().into()
    }

    fn noise(length: usize) -> Vec<u8> {
        (0..length)
            .map(|n| u8::try_from(n % 251).unwrap())
            .collect()
    }

    #[tokio::test]
    async fn the_whole_file_comes_wherever_somebody_wound_it_to() {
        let desk = Desk::new();
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 7] {
            let bytes = noise(length);
            let mut file = File::open(desk.file(&bytes)).unwrap();
            file.seek(SeekFrom::Start(5)).unwrap();
            let taken = desk.taken(file.into(), MOST).await;
            assert!(taken.is_ok_and(|taken| taken == bytes), "{length}");
        }
    }

    #[tokio::test]
    async fn what_is_no_file_is_refused_and_nobody_waits_for_it() {
        let desk = Desk::new();
        let fifo = desk.0.path().join("fifo");
        rustix::fs::mknodat(CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let fifo = rustix::fs::open(&fifo, flags, Mode::empty()).unwrap();
        let (socket, _other) = UnixStream::pair().unwrap();
        let (pipe, _write) = rustix::pipe::pipe().unwrap();
        for (handed, what) in [
            (fifo, Special::Fifo),
            (pipe, Special::Fifo),
            (socket.into(), Special::Socket),
            (open(Path::new("/dev/zero")), Special::Device),
            (open(desk.0.path()), Special::Directory),
        ] {
            let refused = desk.taken(handed, MOST).await.unwrap_err();
            let Refused::NotAFile { kind } = refused else {
                panic!("it was refused for something else")
            };
            assert_eq!(std::mem::discriminant(&kind), std::mem::discriminant(&what));
        }
    }

    #[tokio::test]
    async fn a_file_of_the_kernel_or_of_another_disk_is_refused_though_it_says_it_is_a_file() {
        let desk = Desk::new();
        for place in ["/proc/self/environ", "/sys/kernel/notes", "/proc/version"] {
            if let Ok(file) = File::open(place) {
                let refused = desk.taken(file.into(), MOST).await;
                assert!(matches!(refused, Err(Refused::Unstable)), "{place}");
            }
        }
    }

    #[tokio::test]
    async fn another_file_than_the_one_that_was_judged_is_refused() {
        let desk = Desk::new();
        let judged = which(&open(&desk.file(b"judged")));
        let other = desk.0.path().join("other");
        fs::write(&other, b"other").unwrap();
        let mut nothing = Collected::nothing();
        let taken = take(open(&other), judged, desk.device(), MOST, &mut nothing).await;
        assert!(matches!(taken, Err(Refused::Unstable)));
        let read = window(open(&other), judged, desk.device(), 0, 9).await;
        assert!(matches!(read, Err(Refused::Unstable)));
    }

    #[tokio::test]
    async fn names_and_sizes_are_looked_at_once_more() {
        let desk = Desk::new();
        let path = desk.file(b"12345");
        assert!(matches!(
            desk.taken(open(&path), 4).await,
            Err(Refused::TooLarge)
        ));
        assert!(desk.taken(open(&path), 5).await.is_ok());
        let second = desk.0.path().join("second");
        fs::hard_link(&path, &second).unwrap();
        assert!(matches!(
            desk.taken(open(&path), MOST).await,
            Err(Refused::HardLink)
        ));
        fs::remove_file(&second).unwrap();
        let gone = open(&path);
        fs::remove_file(&path).unwrap();
        assert!(matches!(
            desk.taken(gone, MOST).await,
            Err(Refused::Unstable)
        ));
    }

    /// Does something to the file when its first piece came; counts what comes.
    struct Meddling<'a> {
        act: Option<Box<dyn FnOnce() + Send + 'a>>,
        taken: u64,
    }

    #[async_trait]
    impl Sink for Meddling<'_> {
        async fn take(&mut self, bytes: &[u8]) {
            self.taken += bytes.len() as u64;
            if let Some(act) = self.act.take() {
                act();
            }
        }
    }

    #[tokio::test]
    async fn a_file_that_changes_while_it_is_read_is_refused_and_read_no_further_than_it_was() {
        let desk = Desk::new();
        let size = 8 * PIECE as u64;
        for what in ["cut", "grown", "overwritten"] {
            let path = desk.file(&noise(8 * PIECE));
            // Its time must be another one, however coarse the file system's clock is.
            let past = fs::FileTimes::new().set_modified(std::time::SystemTime::UNIX_EPOCH);
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_times(past)
                .unwrap();
            let file = open(&path);
            let named = which(&file);
            let mut sink = Meddling {
                act: Some(Box::new(|| {
                    let mut other = File::options()
                        .append(what == "grown")
                        .write(true)
                        .open(&path)
                        .unwrap();
                    match what {
                        "cut" => other.set_len(10).unwrap(),
                        "grown" => other.write_all(&noise(PIECE)).unwrap(),
                        _ => other.write_all_at(b"x", size - 1).unwrap(),
                    }
                })),
                taken: 0,
            };
            let taken = take(file, named, desk.device(), MOST, &mut sink).await;
            assert!(matches!(taken, Err(Refused::Unstable)), "{what}");
            assert!(sink.taken <= size, "{what}: {}", sink.taken);
        }
    }

    #[tokio::test]
    async fn a_window_is_what_stands_there_and_no_more() {
        let desk = Desk::new();
        let bytes = noise(1_000);
        let path = desk.file(&bytes);
        for (offset, most, from, to) in [
            (0, 10, 0, 10),
            (990, 100, 990, 1_000),
            (1_000, 5, 1_000, 1_000),
            (u64::MAX, usize::MAX, 1_000, 1_000),
            (0, usize::MAX, 0, 1_000),
            (7, 0, 7, 7),
        ] {
            let file = open(&path);
            let named = which(&file);
            let Ok((read, size)) = window(file, named, desk.device(), offset, most).await else {
                panic!("{offset}")
            };
            assert_eq!(size, 1_000);
            assert_eq!(read, bytes.get(from..to).unwrap(), "{offset} {most}");
        }
    }
}
