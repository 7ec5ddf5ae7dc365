//! Copies a file out, if it is one that may be sent. What counts is the opened file, never its name.

use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sandbox::{SandboxPath, forbidden_place};

use super::Stop;
use super::files::find;
use crate::plan::{Bind, Refused, Report};
use crate::view::of_the_machine;

/// Names beside a missing one that are looked at, and that are told.
const LOOKED_AT: usize = 10_000;
const TOLD: usize = 5;

pub(super) fn run(
    path: &str,
    limit: u64,
    secret: &[SandboxPath],
    binds: &[Bind],
) -> Result<Report, Stop> {
    match copy(path, limit, secret, binds) {
        Ok(size) => Ok(Report::Captured { size }),
        Err(Refusal::Refused(refused)) => Ok(Report::Refused(refused)),
        Err(Refusal::Broken(error)) => Err(Stop::Failed(format!(
            "the file could not be handed over: {error}"
        ))),
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

fn copy(path: &str, limit: u64, secret: &[SandboxPath], binds: &[Bind]) -> Result<u64, Refusal> {
    let found = find(path).map_err(|error| refused(&error, path))?;
    let place = found.place().map_err(|error| refused(&error, path))?;
    let secret: Vec<&SandboxPath> = secret.iter().collect();
    let text = place.to_string_lossy();
    if let Some(place) = forbidden_place(&text, &secret) {
        return Err(Refused::Forbidden { place }.into());
    }
    if let Some(kind) = found.special() {
        return Err(Refused::NotAFile { kind }.into());
    }
    if let Some(place) = of_the_machine(&place, binds) {
        return Err(Refused::Forbidden { place }.into());
    }
    match found.stat.st_nlink {
        0 => return Err(Refused::Unstable.into()),
        1 => {}
        _ => return Err(Refused::HardLink.into()),
    }
    let mut file = found.open().map_err(|error| refused(&error, path))?;
    let before = file.metadata().map_err(|error| refused(&error, path))?;
    if before.len() > limit {
        return Err(Refused::TooLarge.into());
    }
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
        if copied > limit {
            return Err(Refused::TooLarge.into());
        }
        let (piece, _) = piece.split_at(length);
        out.write_all(piece).map_err(Refusal::Broken)?;
    }
    out.flush().map_err(Refusal::Broken)?;
    let after = file.metadata().map_err(|error| refused(&error, path))?;
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
fn refused(error: &io::Error, path: &str) -> Refusal {
    Refusal::Refused(match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Refused::Missing { near: near(path) },
        ErrorKind::PermissionDenied => Refused::Unreadable,
        _ => Refused::Unstable,
    })
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
