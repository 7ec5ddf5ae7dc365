//! An open folder below which no link is followed.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

/// Flags of everything that is opened.
const FLAGS: OFlags = OFlags::CLOEXEC.union(OFlags::NOCTTY);

/// What stands in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Self::Other,
        }
    }
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// It is not there.
    #[error("it is not there")]
    Absent,
    /// It is a link, or a link stands on the way.
    #[error("it is a link, and links are not followed here")]
    Link,
    /// It is no regular file.
    #[error("it is no regular file")]
    Odd,
    /// It is too large.
    #[error("it is larger than {} KB", .0 >> 10)]
    Large(usize),
    /// The disk.
    #[error("{0}")]
    Disk(io::Error),
}

impl From<Errno> for ReadError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Absent,
            Errno::LOOP => Self::Link,
            Errno::NXIO | Errno::ISDIR => Self::Odd,
            other => Self::Disk(other.into()),
        }
    }
}

/// An open folder.
pub(crate) struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder by its path; links on the way are followed.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let flags = FLAGS | OFlags::RDONLY | OFlags::DIRECTORY;
        Ok(Self(openat(CWD, path, flags, Mode::empty())?))
    }

    /// A folder in it.
    pub(crate) fn enter(&self, name: &str) -> Result<Self, ReadError> {
        let flags = FLAGS | OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        match openat(&self.0, name, flags, Mode::empty()) {
            Ok(folder) => Ok(Self(folder)),
            // What Linux says of a link here.
            Err(Errno::NOTDIR) => match self.kind(name)? {
                Kind::Link => Err(ReadError::Link),
                Kind::File | Kind::Folder | Kind::Other => Err(ReadError::Absent),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// A folder in it, made with mode 0700 if it is not there.
    pub(crate) fn make(&self, name: &str) -> Result<Self, ReadError> {
        match mkdirat(&self.0, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => self.enter(name),
            Err(error) => Err(error.into()),
        }
    }

    /// What stands in it under a name.
    pub(crate) fn kind(&self, name: &str) -> Result<Kind, ReadError> {
        let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(found.st_mode).into())
    }

    /// What stands in it, sorted by name; at most `most` and how many more. Hidden names, and names that are no text, are left
    /// out.
    pub(crate) fn list(&self, most: usize) -> Result<(Vec<(String, Kind)>, usize), ReadError> {
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            // Some file systems don't say it here.
            let kind = if entry.file_type() == FileType::Unknown {
                self.kind(name)?
            } else {
                entry.file_type().into()
            };
            found.push((name.to_owned(), kind));
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        let over = found.len().saturating_sub(most);
        found.truncate(most);
        Ok((found, over))
    }

    /// The whole of a regular file with at most `most` bytes.
    pub(crate) fn read(&self, name: &str, most: usize) -> Result<Vec<u8>, ReadError> {
        self.read_as(name, most).map(|(bytes, _)| bytes)
    }

    /// The same, and whether its owner may run it.
    pub(crate) fn read_as(&self, name: &str, most: usize) -> Result<(Vec<u8>, bool), ReadError> {
        // Whoever opens a pipe would wait for its other end.
        let flags = FLAGS | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = openat(&self.0, name, flags, Mode::empty())?;
        let mode = fstat(&file)?.st_mode;
        if FileType::from_raw_mode(mode) != FileType::RegularFile {
            return Err(ReadError::Odd);
        }
        let runs = Mode::from_raw_mode(mode).contains(Mode::XUSR);
        let mut bytes = Vec::new();
        let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        File::from(file)
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(ReadError::Disk)?;
        if bytes.len() > most {
            return Err(ReadError::Large(most));
        }
        Ok((bytes, runs))
    }

    /// As [`Self::read`]; none if it is not there.
    pub(crate) fn read_if_there(
        &self,
        name: &str,
        most: usize,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        match self.read(name, most) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ReadError::Absent) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces a file whole, durably, with mode 0600. A link in its place is replaced and not followed.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let fresh = format!(".{name}.new");
        match unlinkat(&self.0, &fresh, AtFlags::empty()) {
            // Left by a write that was cut off.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = FLAGS | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = openat(&self.0, &fresh, flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(file);
        file.write_all(bytes)?;
        file.sync_all()?;
        renameat(&self.0, &fresh, &self.0, name)?;
        rustix::fs::fsync(&self.0)?;
        Ok(())
    }
}
