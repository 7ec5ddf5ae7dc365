//! Folders with what is in them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::{BackupError, at};

/// What came.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Files, and links in whose place is now what they led to.
    pub(super) files: u64,
    /// Links that are links in the copy too: what they lead to is not in it, or is there by itself.
    pub(super) links: Vec<PathBuf>,
}

/// What to do with links to files.
#[derive(Clone, Copy)]
pub(super) enum Links<'a> {
    /// They stay links.
    Kept,
    /// A file comes in place of its link, unless it lies in one of these folders and not in the one that is copied. Resolved.
    Read { but: &'a [PathBuf] },
}

impl Links<'_> {
    /// The file that comes in place of a link. `folder`: what is copied.
    fn file(self, link: &Path, folder: &Path) -> Option<PathBuf> {
        let Self::Read { but } = self else {
            return None;
        };
        let file = link.canonicalize().ok()?;
        let shut = but.iter().any(|shut| file.starts_with(shut));
        let open = !shut || file.starts_with(folder.canonicalize().ok()?);
        (open && file.is_file()).then_some(file)
    }
}

/// Copies a folder durably, but what `left_out` says of a depth (0: directly in the folder) and a name. What is neither file,
/// folder nor link is no part of a home and stays.
pub(super) fn copy(
    from: &Path,
    to: &Path,
    links: Links<'_>,
    left_out: &dyn Fn(usize, &str) -> bool,
    taken: &mut Taken,
) -> Result<(), BackupError> {
    let copying = Copying {
        folder: from,
        links,
        left_out,
    };
    copying.deep(from, to, 0, taken)
}

struct Copying<'a> {
    folder: &'a Path,
    links: Links<'a>,
    left_out: &'a dyn Fn(usize, &str) -> bool,
}

impl Copying<'_> {
    fn deep(
        &self,
        from: &Path,
        to: &Path,
        depth: usize,
        taken: &mut Taken,
    ) -> Result<(), BackupError> {
        let entries = match fs::read_dir(from) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(at(from)(error)),
        };
        let make = DirBuilder::new().mode(0o700).create(to);
        make.map_err(at(to))?;
        for entry in entries {
            let entry = entry.map_err(at(from))?;
            let name = entry.file_name();
            if (self.left_out)(depth, &name.to_string_lossy()) {
                continue;
            }
            let (from, to) = (entry.path(), to.join(&name));
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(at(&from)(error)),
            };
            if kind.is_dir() {
                self.deep(&from, &to, depth + 1, taken)?;
            } else if kind.is_file() {
                taken.files += copy_if_there(&from, &to)?;
            } else if kind.is_symlink() {
                self.link(&from, &to, taken)?;
            }
        }
        sync(to)
    }

    fn link(&self, from: &Path, to: &Path, taken: &mut Taken) -> Result<(), BackupError> {
        if let Some(file) = self.links.file(from, self.folder) {
            taken.files += copy_if_there(&file, to)?;
            return Ok(());
        }
        let target = fs::read_link(from).map_err(at(from))?;
        std::os::unix::fs::symlink(target, to).map_err(at(to))?;
        taken.links.push(from.to_owned());
        Ok(())
    }
}

/// Copies a file durably; returns how many: a file that has just gone is none.
pub(super) fn copy_if_there(from: &Path, to: &Path) -> Result<u64, BackupError> {
    let mut source = match File::open(from) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(at(from)(error)),
    };
    let mode = source.metadata().map_err(at(from))?.permissions().mode();
    let mut copy = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode & 0o700)
        .open(to)
        .map_err(at(to))?;
    io::copy(&mut source, &mut copy).map_err(at(to))?;
    copy.sync_all().map_err(at(to))?;
    Ok(1)
}

/// Writes a file durably; its name becomes durable with its folder.
pub(super) fn write(path: &Path, text: &str) -> Result<(), BackupError> {
    let write = || {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        writeln!(file, "{text}")?;
        file.sync_all()
    };
    write().map_err(at(path))
}

/// Takes away what is in a folder.
pub(super) fn clear(folder: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let entry = entry.map_err(at(folder))?;
        let path = entry.path();
        let is_folder = entry.file_type().map_err(at(&path))?.is_dir();
        let removed = if is_folder {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.map_err(at(&path))?;
    }
    Ok(())
}

/// Makes the names in a folder durable.
pub(super) fn sync(folder: &Path) -> Result<(), BackupError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(at(folder))
}
