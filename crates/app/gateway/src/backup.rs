//! A whole copy of a home, made while its gateway runs or rests.
//!
//! The copy is made in a hidden folder inside its place and moved up when it is whole and durable, so that what looks like a
//! backup is one. A copy that failed takes itself away; one that was killed leaves the hidden folder, which the next one
//! clears.

mod tree;

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use settings::{FILE_NAME, Home};
use store_sqlite::Copied;
use waybill::Ids;

use self::tree::{Links, Taken};

/// Where the copy is made, inside its place.
const MAKING: &str = ".making";
/// The agents' computers: as large as they like, and no part of what people said.
const SANDBOXES: &str = "sandboxes";
/// What `state/` holds and a copy must not: the database and the blobs are copied by the store, a copy has a
/// generation of its own, ballast is nothing, and logs of the database are in its copy already.
const NOT_STATE: [&str; 13] = [
    "tidings.db",
    "tidings.db-wal",
    "tidings.db-shm",
    "tidings.db-journal",
    "tidings.db.making",
    // Made anew from the database.
    "search.db",
    "search.db-wal",
    "search.db-shm",
    "search.db-journal",
    "blobs",
    "generation",
    "generation.new",
    "ballast",
];

/// Whether secrets go along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    /// They stay.
    Left,
    /// They go along: whoever has the copy has them.
    Taken,
}

/// Why there is no copy. Each text says what to do; nothing is left of what was begun.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The home can't be used.
    #[error(transparent)]
    Home(#[from] settings::HomeError),
    /// The place holds something.
    #[error("{} is not empty: name a new or an empty folder; an older backup is never overwritten", .0.display())]
    NotEmpty(PathBuf),
    /// The place is no folder.
    #[error("{} is not a folder: name a new or an empty folder", .0.display())]
    NotAFolder(PathBuf),
    /// The place is in the home.
    #[error("{} lies inside the home that is to be copied: name a folder outside of it, best on another disk", .0.display())]
    Inside(PathBuf),
    /// Another copy is being made there.
    #[error("another backup to {} is being made; wait for it, or name another folder", .0.display())]
    Taken(PathBuf),
    /// Database or blobs.
    #[error(transparent)]
    Store(#[from] store_sqlite::BackupError),
    /// A file or a folder.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// Where.
    pub place: PathBuf,
    /// Database and blobs.
    pub store: Copied,
    /// Other files: configuration, what profiles are made of, and secrets if they were asked for.
    pub files: u64,
    /// Links that were copied as links, without what they lead to: paths in the home.
    pub links: Vec<PathBuf>,
}

/// Makes a copy of a home. `say` is told what is being done. Blocks for as long as the disk takes.
///
/// # Errors
/// [`BackupError`]; then nothing is left of it.
pub fn back_up(
    home: &Home,
    place: &Path,
    secrets: Secrets,
    ids: &dyn Ids,
    say: &dyn Fn(&str),
) -> Result<Backup, BackupError> {
    home.check()?;
    let place = std::path::absolute(place).map_err(at(place))?;
    let draft = Draft::begin(home, &place)?;
    say("copying the configuration and the profiles");
    let mut taken = Taken::default();
    let config = draft.making.join(FILE_NAME);
    taken.files += tree::copy_if_there(&home.config(), &config)?;
    // A link in a profile must not bring a secret along, nor a piece of the database as it was in some moment.
    let shut: Vec<PathBuf> = [home.path(), &home.secrets(), &home.state(), &home.run()]
        .into_iter()
        .filter_map(|folder| folder.canonicalize().ok())
        .collect();
    let read = Links::Read { but: &shut };
    tree::copy(
        &home.profiles(),
        &draft.making.join("profiles"),
        read,
        &|depth, name| depth == 1 && name == SANDBOXES,
        &mut taken,
    )?;
    if secrets == Secrets::Taken {
        let to = draft.making.join("secrets");
        tree::copy(&home.secrets(), &to, read, &|_, _| false, &mut taken)?;
    }
    let state = draft.making.join("state");
    tree::copy(
        &home.state(),
        &state,
        Links::Kept,
        &|depth, name| depth == 0 && NOT_STATE.contains(&name),
        &mut taken,
    )?;
    say("copying the database and the files that people and agents sent, and checking the copy");
    let store = Copied::make(
        &store_sqlite::Options {
            database: home.database(),
            blobs: home.blobs(),
        },
        &store_sqlite::Options {
            database: state.join("tidings.db"),
            blobs: state.join("blobs"),
        },
        &ids.uuid().simple().to_string(),
    )?;
    // A database of before generations can't say that it is a copy; this file, which fits nothing, says it for both.
    tree::write(&state.join("generation"), &ids.uuid().simple().to_string())?;
    tree::sync(&state)?;
    draft.finish()?;
    let Taken { files, mut links } = taken;
    links.sort();
    let links = links
        .iter()
        .map(|link| link.strip_prefix(home.path()).unwrap_or(link).to_owned())
        .collect();
    Ok(Backup {
        place,
        store,
        files,
        links,
    })
}

pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::File {
        path: path.clone(),
        source,
    }
}

/// A copy that is being made; dropped before its end, it takes itself away.
struct Draft {
    place: PathBuf,
    making: PathBuf,
    /// Whether the place was there before.
    was_there: bool,
    done: bool,
    /// Held, so that no other copy is made here at the same time.
    _lock: File,
}

impl Draft {
    fn begin(home: &Home, place: &Path) -> Result<Self, BackupError> {
        if is_inside(place, home.path()) {
            return Err(BackupError::Inside(place.to_owned()));
        }
        let was_there = match fs::metadata(place) {
            Ok(found) if found.is_dir() => true,
            Ok(_) => return Err(BackupError::NotAFolder(place.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(at(place)(error)),
        };
        if was_there {
            for entry in fs::read_dir(place).map_err(at(place))? {
                if entry.map_err(at(place))?.file_name() != MAKING {
                    return Err(BackupError::NotEmpty(place.to_owned()));
                }
            }
        } else {
            let make = DirBuilder::new().recursive(true).mode(0o700).create(place);
            make.map_err(at(place))?;
        }
        let making = place.join(MAKING);
        let made = match DirBuilder::new().mode(0o700).create(&making) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        made.map_err(at(&making))?;
        let lock = File::open(&making).map_err(at(&making))?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(BackupError::Taken(place.to_owned()));
        }
        let draft = Self {
            place: place.to_owned(),
            making,
            was_there,
            done: false,
            _lock: lock,
        };
        // What one that was killed left.
        tree::clear(&draft.making)?;
        Ok(draft)
    }

    /// Moves everything up, durably.
    fn finish(mut self) -> Result<(), BackupError> {
        let closed = fs::Permissions::from_mode(0o700);
        fs::set_permissions(&self.place, closed).map_err(at(&self.place))?;
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.making).map_err(at(&self.making))? {
            names.push(entry.map_err(at(&self.making))?.file_name());
        }
        // The database comes last: without it nothing takes the folder for a home.
        names.sort_by_key(|name| name == "state");
        tree::sync(&self.making)?;
        for name in names {
            let place = self.place.join(&name);
            fs::rename(self.making.join(&name), &place).map_err(at(&place))?;
        }
        fs::remove_dir(&self.making).map_err(at(&self.making))?;
        tree::sync(&self.place)?;
        if let Some(above) = self.place.parent() {
            tree::sync(above)?;
        }
        self.done = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let removed = if self.was_there {
            tree::clear(&self.place)
        } else {
            fs::remove_dir_all(&self.place).map_err(at(&self.place))
        };
        if let Err(error) = removed {
            tracing::warn!(%error, "what was begun of a backup could not be taken away");
        }
    }
}

/// Whether a place that may not be there yet lies in a folder, links resolved.
fn is_inside(place: &Path, folder: &Path) -> bool {
    let resolve = |path: &Path| {
        path.ancestors().find_map(|above| {
            let rest = path.strip_prefix(above).ok()?;
            Some(above.canonicalize().ok()?.join(rest))
        })
    };
    match (resolve(place), resolve(folder)) {
        (Some(place), Some(folder)) => place.starts_with(folder),
        _ => place.starts_with(folder),
    }
}

#[cfg(test)]
mod tests;
