//! Where the files of an installation lie.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use waybill::ProfileId;

use crate::{Environment, FILE_NAME};

/// Longest path of a Unix socket on Linux, without its end mark.
const SOCKET_LONGEST: usize = 107;

/// What is wrong with the home folder. The texts say what to do.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Nothing says where it is.
    #[error("where is the home of Tidings? Say --home DIR, or set TIDINGS_HOME or HOME")]
    Nowhere,
    /// It is not there.
    #[error("there is no {path}; `tidings up` makes it")]
    Missing {
        /// The home.
        path: String,
    },
    /// Something else stands in its place.
    #[error("{path} is not a folder")]
    NotAFolder {
        /// The home.
        path: String,
    },
    /// Others could read the secrets and conversations in it.
    #[error("others can read {path} (mode {mode:03o}); run: chmod 700 {word}")]
    Open {
        /// The home.
        path: String,
        /// Its permissions.
        mode: u32,
        /// The path as a shell takes it.
        word: String,
    },
    /// The control socket could not be made there.
    #[error(
        "the path {path} is too long: that of its control socket may have {SOCKET_LONGEST} bytes; choose a shorter home"
    )]
    TooLong {
        /// The home.
        path: String,
    },
    /// The disk or its permissions.
    #[error("{path} can't be used: {source}")]
    Io {
        /// The folder.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// The home folder: everything that an installation keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// Finds the home: the option `--home DIR`, else `TIDINGS_HOME`, else `~/.tidings`. An empty variable counts as unset;
    /// `~/` at the beginning is the user's home. Looks at no disk.
    ///
    /// # Errors
    /// [`HomeError::Nowhere`] if neither is given and `HOME` is not set; [`HomeError::Io`] if a relative path can't be
    /// made absolute.
    pub fn find(option: Option<&Path>, environment: &dyn Environment) -> Result<Self, HomeError> {
        let variable = |name| environment.get(name).filter(|value| !value.is_empty());
        let chosen = match (option, variable("TIDINGS_HOME")) {
            (Some(path), _) => path.to_owned(),
            (None, Some(path)) => PathBuf::from(path),
            (None, None) => PathBuf::from("~/.tidings"),
        };
        let path = match chosen.strip_prefix("~") {
            Ok(rest) => PathBuf::from(variable("HOME").ok_or(HomeError::Nowhere)?).join(rest),
            Err(_no_tilde) => chosen,
        };
        Self::at(&path)
    }

    /// The home at this path.
    ///
    /// # Errors
    /// [`HomeError::Io`] if a relative path can't be made absolute.
    pub fn at(path: &Path) -> Result<Self, HomeError> {
        match std::path::absolute(path) {
            Ok(path) => Ok(Self {
                path: path.components().collect(),
            }),
            Err(source) => Err(HomeError::Io {
                path: path.display().to_string(),
                source,
            }),
        }
    }

    /// Makes the home and its folders with mode 0700 where they are missing, then [checks](Self::check) it. Folders above the
    /// home are made with ordinary permissions.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn make(&self) -> Result<(), HomeError> {
        use std::os::unix::ffi::OsStrExt;
        if self.socket().as_os_str().as_bytes().len() > SOCKET_LONGEST {
            return Err(HomeError::TooLong { path: self.shown() });
        }
        if let Some(above) = self.path.parent() {
            std::fs::create_dir_all(above).map_err(|source| io_error(above, source))?;
        }
        make_private(&self.path)?;
        // Nothing is put into a home that others can read.
        self.check()?;
        let folders = [
            self.secrets(),
            self.profiles(),
            self.state(),
            self.blobs(),
            self.run(),
        ];
        folders.iter().try_for_each(|folder| make_private(folder))
    }

    /// Refuses a home that is missing, is no folder, or can be read by others.
    ///
    /// # Errors
    /// A [`HomeError`] that says what to do.
    pub fn check(&self) -> Result<(), HomeError> {
        let metadata = match std::fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                return Err(HomeError::Missing { path: self.shown() });
            }
            Err(source) => return Err(io_error(&self.path, source)),
        };
        if !metadata.is_dir() {
            return Err(HomeError::NotAFolder { path: self.shown() });
        }
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(HomeError::Open {
                path: self.shown(),
                mode,
                word: shell_word(&self.path),
            });
        }
        Ok(())
    }

    fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// The folder itself, absolute.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `tidings.toml`
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.path.join(FILE_NAME)
    }

    /// `secrets/`: files of mode 0600, referenced as `file:NAME`.
    #[must_use]
    pub fn secrets(&self) -> PathBuf {
        self.path.join("secrets")
    }

    /// `profiles/`
    #[must_use]
    pub fn profiles(&self) -> PathBuf {
        self.path.join("profiles")
    }

    /// `profiles/NAME/`
    #[must_use]
    pub fn profile(&self, profile: &ProfileId) -> PathBuf {
        self.profiles().join(profile.as_str())
    }

    /// `state/`
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    /// `state/tidings.db`
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.state().join("tidings.db")
    }

    /// `state/blobs/`
    #[must_use]
    pub fn blobs(&self) -> PathBuf {
        self.state().join("blobs")
    }

    /// `run/`
    #[must_use]
    pub fn run(&self) -> PathBuf {
        self.path.join("run")
    }

    /// `run/tidings.sock`: the control socket of the running gateway.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.run().join("tidings.sock")
    }

    /// `run/tidings.lock`: one gateway per home.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.run().join("tidings.lock")
    }
}

fn io_error(path: &Path, source: io::Error) -> HomeError {
    HomeError::Io {
        path: path.display().to_string(),
        source,
    }
}

fn make_private(path: &Path) -> Result<(), HomeError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => Ok(()),
        Err(source) if source.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(io_error(path, source)),
    }
}

/// A path as one word of a shell.
pub(crate) fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "/._-+@%:,".contains(sign);
    if text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
