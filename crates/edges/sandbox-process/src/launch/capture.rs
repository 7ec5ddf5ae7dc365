//! Finds a file, judges whether it may be sent, and gives it out. What counts is the opened file, never its name.
//!
//! One that lies on the file system of the sandbox's own folders, where the gateway keeps its own bytes too, is handed over
//! opened: the gateway reads it at the speed of the disk. Any other (of a folder that the owner shows, perhaps over the network, or
//! served by a program) is read here: a read that never comes back must hold nobody who can't be killed.

use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sandbox::{SandboxPath, forbidden_place};

use super::files::find;
use super::{Stop, hand};
use crate::plan::{Bind, Handed, Refused, Report};
use crate::view::of_the_machine;

/// Names beside a missing one that are looked at, and that are told.
const LOOKED_AT: usize = 10_000;
const TOLD: usize = 5;

/// Which file is wanted.
pub(super) struct Wanted {
    pub(super) path: String,
    /// Most bytes.
    pub(super) limit: u64,
    /// The file system whose files are handed over.
    pub(super) device: u64,
    /// Places from which nothing is sent, on top of those that every sandbox has.
    pub(super) secret: Vec<SandboxPath>,
}

/// Says what came of it; nothing if that was said with the file.
pub(super) fn run(wanted: &Wanted, binds: &[Bind]) -> Result<Option<Report>, Stop> {
    let broken =
        |error: io::Error| Stop::Failed(format!("the file could not be handed over: {error}"));
    let opened = match judge(wanted, binds) {
        Ok(opened) => opened,
        Err(refused) => return Ok(Some(Report::Refused(refused))),
    };
    if opened.before.dev() == wanted.device {
        let handed = Handed {
            device: opened.before.dev(),
            inode: opened.before.ino(),
        };
        hand::over(opened.file.as_fd(), &Report::Opened(handed)).map_err(broken)?;
        return Ok(None);
    }
    match copy(opened, wanted) {
        Ok(size) => Ok(Some(Report::Captured { size })),
        Err(Refusal::Refused(refused)) => Ok(Some(Report::Refused(refused))),
        Err(Refusal::Broken(error)) => Err(broken(error)),
    }
}

enum Refusal {
    Refused(Refused),
    Broken(io::Error),
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// A file that may be sent, and what it was like when it was opened.
struct Opened {
    file: fs::File,
    before: fs::Metadata,
}

fn judge(wanted: &Wanted, binds: &[Bind]) -> Result<Opened, Refused> {
    let path = wanted.path.as_str();
    let found = find(path).map_err(|error| refused(&error, path))?;
    let place = found.place().map_err(|error| refused(&error, path))?;
    let secret: Vec<&SandboxPath> = wanted.secret.iter().collect();
    let text = place.to_string_lossy();
    if let Some(place) = forbidden_place(&text, &secret) {
        return Err(Refused::Forbidden { place });
    }
    if let Some(kind) = found.special() {
        return Err(Refused::NotAFile { kind });
    }
    if let Some(place) = of_the_machine(&place, binds) {
        return Err(Refused::Forbidden { place });
    }
    match found.stat.st_nlink {
        0 => return Err(Refused::Unstable),
        1 => {}
        _ => return Err(Refused::HardLink),
    }
    let file = found.open().map_err(|error| refused(&error, path))?;
    let before = file.metadata().map_err(|error| refused(&error, path))?;
    if before.len() > wanted.limit {
        return Err(Refused::TooLarge);
    }
    Ok(Opened { file, before })
}

fn copy(opened: Opened, wanted: &Wanted) -> Result<u64, Refusal> {
    let Opened { mut file, before } = opened;
    let mut out = io::stdout().lock();
    let mut copied = 0;
    let mut piece = vec![0; 256 << 10];
    loop {
        let length = match file.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_unreadable) => return Err(Refused::Unstable.into()),
        };
        copied += length as u64;
        if copied > wanted.limit {
            return Err(Refused::TooLarge.into());
        }
        let (piece, _) = piece.split_at(length);
        out.write_all(piece).map_err(Refusal::Broken)?;
    }
    out.flush().map_err(Refusal::Broken)?;
    let after = file
        .metadata()
        .map_err(|error| refused(&error, &wanted.path))?;
    let same = |stat: &fs::Metadata| (stat.len(), stat.mtime(), stat.mtime_nsec());
    if copied != before.len() || same(&before) != same(&after) {
        return Err(Refused::Unstable.into());
    }
    Ok(copied)
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the system's list of errors is open"
)]
fn refused(error: &io::Error, path: &str) -> Refused {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Refused::Missing { near: near(path) },
        ErrorKind::PermissionDenied => Refused::Unreadable,
        _ => Refused::Unstable,
    }
}

/// What a person or a model may have meant.
fn near(path: &str) -> Vec<String> {
    let path = Path::new(path);
    let (Some(parent), Some(wanted)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let wanted = wanted.to_string_lossy();
    let Ok(entries) = fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut names: Vec<(f64, String)> = entries
        .flatten()
        .take(LOOKED_AT)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .map(|name| (strsim::jaro_winkler(&wanted, &name), name))
        .collect();
    names.sort_by(|left, right| {
        right
            .0
            .total_cmp(&left.0)
            .then_with(|| left.1.cmp(&right.1))
    });
    names.into_iter().take(TOLD).map(|(_, name)| name).collect()
}
