//! The folder of captured bytes as its collector sees it. Everything here blocks for as long as the disk takes, and names in
//! the log what the disk would not do.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use sandbox::ContentHash;
use waybill::{ProfileId, Timestamp};

use super::{DiskBlobs, UNFINISHED, place};

/// A file that is old enough to go.
#[derive(Debug, Clone)]
pub(crate) struct Aged {
    pub(crate) hash: ContentHash,
    pub(crate) size: u64,
}

/// The files of a folder.
#[derive(Debug, Default)]
pub(crate) struct Ages {
    pub(crate) old: Vec<Aged>,
    /// How many are too young, and their bytes.
    pub(crate) young: u64,
    pub(crate) young_bytes: u64,
}

/// Whether a file was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removed {
    Yes,
    Kept,
}

impl DiskBlobs {
    /// Forgets who had bytes in hand long ago.
    pub(crate) fn let_go(&self) {
        self.0.pins.tidy();
    }

    /// The profiles that have bytes here. Folders with other names are nobody's, and are left alone.
    pub(crate) fn shelves(&self) -> io::Result<Vec<ProfileId>> {
        let names = folders(&self.0.folder)?;
        Ok(names
            .iter()
            .filter_map(|name| ProfileId::parse(name).ok())
            .collect())
    }

    /// The folders of a profile's shelf.
    pub(crate) fn folders(&self, shelf: &ProfileId) -> io::Result<Vec<String>> {
        folders(&self.0.folder.join(shelf.as_str()))
    }

    /// The files of such a folder, by whether they were written before a moment.
    pub(crate) fn aged(
        &self,
        shelf: &ProfileId,
        folder: &str,
        before: Timestamp,
    ) -> io::Result<Ages> {
        let path = self.0.folder.join(shelf.as_str()).join(folder);
        let read = || {
            let mut ages = Ages::default();
            for entry in fs::read_dir(&path)? {
                let entry = entry?;
                let Some(hash) = named(&entry, folder) else {
                    continue;
                };
                let metadata = match entry.metadata() {
                    Ok(metadata) if metadata.is_file() => metadata,
                    Ok(_no_file) => continue,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                };
                // A time that can't be told is young.
                let written = Timestamp::try_from(metadata.modified()?).unwrap_or(Timestamp::MAX);
                let size = metadata.len();
                if written < before {
                    ages.old.push(Aged { hash, size });
                } else {
                    ages.young += 1;
                    ages.young_bytes += size;
                }
            }
            Ok(ages)
        };
        told(&path, read())
    }

    /// Removes bytes that no row names, unless somebody has them in hand.
    pub(crate) fn remove(&self, shelf: &ProfileId, hash: &ContentHash) -> io::Result<Removed> {
        let shelf = self.0.folder.join(shelf.as_str());
        let (_, path) = place(&shelf, hash);
        let number = self.0.count.fetch_add(1, Ordering::Relaxed);
        // A crash before the file is gone leaves it to the sweep of the next start.
        let away = shelf.join(format!("{UNFINISHED}{}-{number}", std::process::id()));
        let remove = || {
            if !self.0.pins.take_away(&path, &away)? {
                return Ok(Removed::Kept);
            }
            fs::remove_file(&away)?;
            Ok(Removed::Yes)
        };
        told(&path, remove())
    }
}

/// The hash that a file of a folder is named by; `None` for what is not ours.
fn named(entry: &DirEntry, folder: &str) -> Option<ContentHash> {
    let name = entry.file_name().into_string().ok()?;
    name.starts_with(folder).then(|| name.parse().ok())?
}

/// The names of the folders in a folder.
fn folders(folder: &Path) -> io::Result<Vec<String>> {
    let read = || {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.extend(entry.file_name().into_string().ok());
            }
        }
        Ok(names)
    };
    told(folder, read())
}

fn told<T>(path: &Path, result: io::Result<T>) -> io::Result<T> {
    if let Err(error) = &result {
        tracing::warn!(path = %path.display(), %error, "captured bytes could not be looked after");
    }
    result
}
