//! Reads, writes and lists inside the sandbox, with the sandbox's own view and rights.

use std::fs;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat};

use super::{Stop, Unbuffered, hand, report};
use crate::plan::{Handed, Kind, Listed, Report, Special};

/// How many entries are held beyond those that are told.
const SURPLUS: usize = 10_000;

/// Something found, not yet opened for reading: finding has no side effects, opening a device has.
pub(super) struct Found {
    handle: OwnedFd,
    pub(super) stat: Stat,
}

pub(super) fn find(path: &str) -> io::Result<Found> {
    let handle = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let stat = fstat(&handle)?;
    Ok(Found { handle, stat })
}

impl Found {
    fn name(&self) -> String {
        format!("/proc/self/fd/{}", self.handle.as_raw_fd())
    }

    /// What is found, by the kernel's own word for where it is.
    pub(super) fn place(&self) -> io::Result<std::path::PathBuf> {
        fs::read_link(self.name())
    }

    /// What it is, if it is no regular file.
    pub(super) fn special(&self) -> Option<Special> {
        match FileType::from_raw_mode(self.stat.st_mode) {
            FileType::RegularFile => None,
            FileType::Directory => Some(Special::Directory),
            FileType::Fifo => Some(Special::Fifo),
            FileType::Socket => Some(Special::Socket),
            FileType::BlockDevice
            | FileType::CharacterDevice
            | FileType::Symlink
            | FileType::Unknown => Some(Special::Device),
        }
    }

    /// Opens the very thing that was found.
    pub(super) fn open(&self) -> io::Result<fs::File> {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        fs::OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(self.name())
    }
}

pub(super) fn word(special: Special) -> &'static str {
    match special {
        Special::Directory => "directory",
        Special::Fifo => "fifo",
        Special::Socket => "socket",
        Special::Device => "device",
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the system's list of errors is open; the rest is told in its own words"
)]
fn stop(path: &str) -> impl Fn(io::Error) -> Stop + '_ {
    move |error| {
        Stop::File(match error.kind() {
            ErrorKind::NotFound => format!("no such file in the sandbox ({path})"),
            ErrorKind::NotADirectory => format!("a part of the path is not a folder ({path})"),
            ErrorKind::IsADirectory => format!("not a regular file but a directory ({path})"),
            ErrorKind::PermissionDenied => format!("permission denied in the sandbox ({path})"),
            ErrorKind::ReadOnlyFilesystem => {
                format!("this place is read-only in the sandbox ({path})")
            }
            ErrorKind::AlreadyExists => format!("there is a file already ({path})"),
            ErrorKind::StorageFull => format!("the disk is full ({path})"),
            ErrorKind::FileTooLarge => format!("the file is too large ({path})"),
            _ => format!("{path}: {error}"),
        })
    }
}

/// Hands the file over if it lies on this device, and else gives its bytes out.
pub(super) fn read(
    path: &str,
    offset: u64,
    most: usize,
    device: u64,
) -> Result<Option<Report>, Stop> {
    let wrong = stop(path);
    let found = find(path).map_err(&wrong)?;
    if let Some(special) = found.special() {
        return Err(Stop::File(format!(
            "not a regular file but a {} ({path})",
            word(special)
        )));
    }
    let mut file = found.open().map_err(&wrong)?;
    if found.stat.st_dev == device {
        let handed = Handed {
            device: found.stat.st_dev,
            inode: found.stat.st_ino,
        };
        hand::over(file.as_fd(), &Report::Opened(handed)).map_err(&wrong)?;
        return Ok(None);
    }
    file.seek(SeekFrom::Start(offset)).map_err(&wrong)?;
    let mut piece = file.take(most as u64);
    io::copy(&mut piece, &mut io::stdout()).map_err(&wrong)?;
    io::stdout().flush().map_err(&wrong)?;
    Ok(Some(Report::Read {
        size: u64::try_from(found.stat.st_size).unwrap_or(0),
    }))
}

pub(super) fn write(path: &str, length: usize, create_new: bool) -> Result<Report, Stop> {
    let wrong = stop(path);
    // All of it first: a gateway that goes away must not leave half a file.
    let mut bytes = vec![0; length];
    Unbuffered.read_exact(&mut bytes).map_err(&wrong)?;
    if let Some(parent) = Path::new(path).parent() {
        fs::create_dir_all(parent).map_err(&wrong)?;
    }
    if let Ok(found) = find(path)
        && !create_new
        && let Some(special) = found.special()
    {
        return Err(Stop::File(format!(
            "not a regular file but a {} ({path})",
            word(special)
        )));
    }
    let mut options = fs::OpenOptions::new();
    options
        .write(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    if create_new {
        options.create_new(true);
    } else {
        options.create(true).truncate(true);
    }
    let mut file = options.open(path).map_err(&wrong)?;
    file.write_all(&bytes).map_err(&wrong)?;
    Ok(Report::Written)
}

pub(super) fn list(path: &str, most: usize) -> Result<Report, Stop> {
    let wrong = stop(path);
    let mut entries = Vec::new();
    let mut left_out = 0;
    for entry in fs::read_dir(path).map_err(&wrong)? {
        let entry = entry.map_err(&wrong)?;
        // It may have gone meanwhile.
        let Ok(stat) = entry.metadata() else {
            continue;
        };
        let kind = if stat.is_dir() {
            Kind::Folder
        } else if stat.is_file() {
            Kind::File
        } else {
            Kind::Other
        };
        entries.push(Listed {
            name: entry.file_name().to_string_lossy().into_owned(),
            kind,
            size: if kind == Kind::File { stat.len() } else { 0 },
        });
        // A folder may hold millions.
        if entries.len() > most + SURPLUS {
            left_out += first(&mut entries, most);
        }
    }
    left_out += first(&mut entries, most);
    Ok(Report::Listed { entries, left_out })
}

/// Keeps the first ones in order; says how many that leaves out.
fn first(entries: &mut Vec<Listed>, most: usize) -> usize {
    entries.sort_by(|left, right| (left.kind, &left.name).cmp(&(right.kind, &right.name)));
    let left_out = entries.len().saturating_sub(most);
    entries.truncate(most);
    left_out
}

/// Empties a folder, as far as it can be emptied.
pub(super) fn clear(folder: &str) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let removed = match entry.file_type() {
            Ok(kind) if kind.is_dir() => fs::remove_dir_all(&path),
            Ok(_) | Err(_) => fs::remove_file(&path),
        };
        if let Err(error) = removed {
            report(&Report::File(format!(
                "{} could not be removed: {error}",
                path.display()
            )));
        }
    }
}
