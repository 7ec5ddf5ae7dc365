//! Opening: what is there is looked at before SQLite may touch it, and nothing is made where something may have been lost.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::{OpenError, is_full};
use crate::schema;

/// The first SQLite without the WAL-reset bug.
const LEAST_LIBRARY: i32 = 3_051_003;

/// How long a connection waits for another process's transaction.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// Where things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The database file.
    pub database: PathBuf,
    /// The folder of captured bytes.
    pub blobs: PathBuf,
}

/// Opens the database to write, and makes it if there never was one.
pub(crate) fn writable(options: &Options) -> Result<Connection, OpenError> {
    library()?;
    let path = options.database.as_path();
    crate::care::look_at_ground(path)?;
    if look(path)? == Found::Nothing {
        nothing_was_lost(options)?;
        make(path)?;
    }
    private(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags).map_err(|source| sqlite(path, source))?;
    let readable = readable(&db, path)?;
    if db
        .is_readonly("main")
        .map_err(|source| sqlite(path, source))?
    {
        return Err(OpenError::ReadOnly {
            path: path.to_owned(),
        });
    }
    prepare(&db, path)?;
    if readable < schema::known() {
        schema::migrate(&mut db, path)?;
    }
    Ok(db)
}

/// Looks whether the database can be read; changes nothing.
pub(crate) fn read_only(path: &Path) -> Result<(), OpenError> {
    let found = copyable(path)?;
    let known = schema::known();
    if found < known {
        return Err(OpenError::Older {
            path: path.to_owned(),
            found,
            known,
        });
    }
    Ok(())
}

/// Looks whether the database can be read, also one of an older version; changes nothing and returns its schema.
pub(crate) fn copyable(path: &Path) -> Result<i64, OpenError> {
    library()?;
    crate::care::look_at_ground(path)?;
    if look(path)? == Found::Nothing {
        return Err(OpenError::NotThere {
            path: path.to_owned(),
        });
    }
    let db = crate::readers::connect(path).map_err(|source| sqlite(path, source))?;
    readable(&db, path)
}

/// Opens a database that is there and of this version, to write; makes none and migrates none.
pub(crate) fn existing(path: &Path) -> Result<Connection, OpenError> {
    read_only(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(|source| sqlite(path, source))?;
    db.busy_timeout(BUSY)
        .map_err(|source| sqlite(path, source))?;
    if db
        .is_readonly("main")
        .map_err(|source| sqlite(path, source))?
    {
        return Err(OpenError::ReadOnly {
            path: path.to_owned(),
        });
    }
    prepare(&db, path)?;
    Ok(db)
}

fn library() -> Result<(), OpenError> {
    let found = rusqlite::version_number();
    if found < LEAST_LIBRARY {
        Err(OpenError::Library { found })
    } else {
        Ok(())
    }
}

#[derive(PartialEq, Eq)]
enum Found {
    Nothing,
    Database,
}

/// Reads the first bytes of the file, as SQLite's file format defines them, without SQLite.
fn look(path: &Path) -> Result<Found, OpenError> {
    let at_file = |source| OpenError::File {
        path: path.to_owned(),
        source,
    };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(at_file(error)),
    };
    let length = file.metadata().map_err(at_file)?.len();
    if length == 0 {
        return Err(OpenError::Empty {
            path: path.to_owned(),
        });
    }
    let mut header = [0_u8; 100];
    match file.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(OpenError::NotADatabase {
                path: path.to_owned(),
            });
        }
        Err(error) => return Err(at_file(error)),
    }
    if !header.starts_with(b"SQLite format 3\0") {
        return Err(OpenError::NotADatabase {
            path: path.to_owned(),
        });
    }
    if field::<4>(&header, 68).map(i32::from_be_bytes) != Some(schema::APPLICATION) {
        return Err(OpenError::Foreign {
            path: path.to_owned(),
        });
    }
    whole(path, &header, length)?;
    Ok(Found::Database)
}

/// A file that is shorter than its header says was cut off, unless the log still holds the rest.
fn whole(path: &Path, header: &[u8; 100], length: u64) -> Result<(), OpenError> {
    let page = match field::<2>(header, 16).map(u16::from_be_bytes) {
        Some(1) => 65_536,
        Some(size) => u64::from(size),
        None => 0,
    };
    let pages = field::<4>(header, 28).map_or(0, u32::from_be_bytes);
    let log = fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
    if !log && length < page.saturating_mul(u64::from(pages)) {
        let reason = format!(
            "its header speaks of {pages} pages of {page} bytes, the file has {length} bytes"
        );
        return Err(OpenError::Damaged {
            path: path.to_owned(),
            reason,
        });
    }
    Ok(())
}

fn field<const N: usize>(header: &[u8; 100], at: usize) -> Option<[u8; N]> {
    header.get(at..at + N)?.try_into().ok()
}

/// A database that is not there was lost if its log or the bytes that it spoke of are still there.
fn nothing_was_lost(options: &Options) -> Result<(), OpenError> {
    let path = &options.database;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let missing = |clue: String, folder: PathBuf| {
        Err(OpenError::Missing {
            path: path.clone(),
            clue,
            folder,
        })
    };
    for ending in ["-wal", "-shm", "-journal"] {
        let log = beside(path, ending);
        if log.exists() {
            return missing(format!("its log {} is there", log.display()), folder);
        }
    }
    match fs::read_dir(&options.blobs) {
        Ok(mut entries) => match entries.next() {
            Some(_) => missing(
                format!("{} holds artifacts of it", options.blobs.display()),
                options.blobs.clone(),
            ),
            None => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(OpenError::File {
            path: options.blobs.clone(),
            source,
        }),
    }
}

/// Makes the database beside its place and moves it there in one step: a crash leaves all of it or nothing.
fn make(path: &Path) -> Result<(), OpenError> {
    let at_file = |source| OpenError::File {
        path: path.to_owned(),
        source,
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    folder_for_us(folder).map_err(at_file)?;
    sync_above(folder).map_err(at_file)?;
    let draft = beside(path, ".making");
    for left in [draft.clone(), beside(&draft, "-journal")] {
        match fs::remove_file(left) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(at_file(error)),
        }
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .map_err(at_file)?;
    let mut db = Connection::open_with_flags(&draft, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .map_err(|source| sqlite(path, source))?;
    let prepared = db.execute_batch(&format!(
        "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA auto_vacuum = INCREMENTAL;
         PRAGMA application_id = {};",
        schema::APPLICATION
    ));
    prepared.map_err(|source| sqlite(path, source))?;
    schema::migrate(&mut db, path)?;
    db.close().map_err(|(_db, source)| sqlite(path, source))?;
    File::open(&draft)
        .and_then(|file| file.sync_all())
        .map_err(at_file)?;
    put(&draft, path).map_err(at_file)?;
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(at_file)
}

/// Moves the finished draft to its place, never over something that came to stand there.
fn put(draft: &Path, path: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, draft, CWD, path, RenameFlags::NOREPLACE) {
        // Some file systems can't promise that; the gateway's own lock keeps others away.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if !path.exists() => {
            fs::rename(draft, path)
        }
        Err(errno) => Err(errno.into()),
        Ok(()) => Ok(()),
    }
}

/// Makes the names of a folder and of all above it durable: whoever made them may not have, and a database whose folder is
/// gone after a loss of power is gone with it. Before the database gets its name, so that one that is there stands safely.
fn sync_above(folder: &Path) -> io::Result<()> {
    for above in fs::canonicalize(folder)?.ancestors().skip(1) {
        match File::open(above).and_then(|above| above.sync_all()) {
            // Not ours: it was there before us.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied
                        | io::ErrorKind::InvalidInput
                        | io::ErrorKind::ReadOnlyFilesystem
                ) => {}
            synced => synced?,
        }
    }
    Ok(())
}

/// Makes a folder that only we can look into, with those above it.
pub(crate) fn folder_for_us(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// What people wrote is nobody else's to read.
fn private(path: &Path) -> Result<(), OpenError> {
    let at_file = |source| OpenError::File {
        path: path.to_owned(),
        source,
    };
    let mode = fs::metadata(path).map_err(at_file)?.permissions().mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(at_file)?;
    }
    Ok(())
}

/// Reads the schema's version and a row of its table: a damaged file fails here and not under the first message.
fn readable(db: &Connection, path: &Path) -> Result<i64, OpenError> {
    let read = || {
        db.busy_timeout(BUSY)?;
        let tables: i64 =
            db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok((schema::version(db)?, tables))
    };
    let (found, tables) = read().map_err(|source: rusqlite::Error| sqlite(path, source))?;
    let known = schema::known();
    if found > known {
        return Err(OpenError::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    if found < 1 || tables == 0 {
        let reason = "it has no tables".to_owned();
        return Err(OpenError::Damaged {
            path: path.to_owned(),
            reason,
        });
    }
    Ok(found)
}

fn prepare(db: &Connection, path: &Path) -> Result<(), OpenError> {
    let log: String = db
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(|source| sqlite(path, source))?;
    if log != "wal" {
        return Err(OpenError::NoLog {
            path: path.to_owned(),
        });
    }
    db.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = 67108864; PRAGMA secure_delete = ON;",
    )
    .and_then(|()| keep_plans(db))
    .map_err(|source| sqlite(path, source))
}

/// Plans don't depend on what is bound: otherwise SQLite, looking whether a partial index fits the new values, prepares such
/// statements anew each time that they run, which was a quarter of the writer's time.
pub(crate) fn keep_plans(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map(|_on| ())
}

fn sqlite(path: &Path, source: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => OpenError::Damaged {
            path,
            reason: source.to_string(),
        },
        Some(rusqlite::ErrorCode::NotADatabase) => OpenError::NotADatabase { path },
        Some(rusqlite::ErrorCode::ReadOnly) => OpenError::ReadOnly { path },
        Some(_) if is_full(&source) => OpenError::Full { path },
        Some(_) | None => OpenError::Sqlite { path, source },
    }
}

pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}
