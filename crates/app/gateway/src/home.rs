//! One gateway per home.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};

use rustix::fs::{FlockOperation, flock};
use settings::Home;

/// Why the home could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another gateway holds it.
    #[error(
        "a gateway already runs on this home (process {pid}); stop it first, or use another --home"
    )]
    Taken {
        /// Its process, as it wrote it down.
        pid: String,
    },
    /// The lock file can't be used.
    #[error("the lock of the home can't be taken: {0}")]
    File(#[source] std::io::Error),
}

/// The lock of a home, held until it is dropped or its process ends, however that happens.
#[derive(Debug)]
pub struct HomeLock(#[expect(dead_code, reason = "the lock lives as long as the open file")] File);

impl HomeLock {
    /// Takes the lock, or says who has it.
    ///
    /// # Errors
    /// [`LockError`].
    pub fn take(home: &Home) -> Result<Self, LockError> {
        let open = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(home.lock());
        let mut file = open.map_err(LockError::File)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut pid = String::new();
                file.read_to_string(&mut pid).map_err(LockError::File)?;
                return Err(LockError::Taken {
                    pid: pid.trim().to_owned(),
                });
            }
            Err(errno) => return Err(LockError::File(errno.into())),
        }
        file.set_len(0).map_err(LockError::File)?;
        file.rewind().map_err(LockError::File)?;
        writeln!(file, "{}", std::process::id()).map_err(LockError::File)?;
        Ok(Self(file))
    }
}
