//! Why a sandbox said no. Each text is written for the model and for the person, not for a log.

use crate::{PathError, SandboxPath};

/// Why a file was not captured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The text is no path of a sandbox.
    #[error("{0}")]
    Path(#[from] PathError),
    /// Nothing there. `near` names files beside it.
    #[error("no such file in the sandbox ({path})")]
    Missing {
        /// What was asked for.
        path: SandboxPath,
        /// Names of files in the same folder, the likeliest first; at most five.
        near: Vec<String>,
    },
    /// A folder, FIFO, socket or device.
    #[error("not a regular file but a {kind} ({path})")]
    NotAFile {
        /// What was asked for.
        path: SandboxPath,
        /// "directory", "fifo", "socket", "device".
        kind: &'static str,
    },
    /// The file leads into a place from which nothing is ever sent: `/proc`, `/sys`, `/dev`, a secret mount.
    #[error("files from {place} are never sent ({path})")]
    Forbidden {
        /// What was asked for.
        path: SandboxPath,
        /// The place.
        place: String,
    },
    /// The opened file has other names; it may not be what it seems.
    #[error("the file has other hard links; copy it first and send the copy ({path})")]
    HardLink {
        /// What was asked for.
        path: SandboxPath,
    },
    /// Over the limit.
    #[error("the file is larger than {} ({path})", size_text(*.limit))]
    TooLarge {
        /// What was asked for.
        path: SandboxPath,
        /// The limit in bytes.
        limit: u64,
    },
    /// It exists, but the sandbox's user may not read it.
    #[error("permission denied in the sandbox ({path})")]
    Unreadable {
        /// What was asked for.
        path: SandboxPath,
    },
    /// It changed, or could not be opened, while it was copied.
    #[error("the file changed or could not be read while it was copied ({path})")]
    Unstable {
        /// What was asked for.
        path: SandboxPath,
    },
    /// Copying took too long.
    #[error("copying the file took too long ({path})")]
    TimedOut {
        /// What was asked for.
        path: SandboxPath,
    },
    /// The sandbox itself could not be asked.
    #[error("the sandbox could not be reached: {reason}")]
    Sandbox {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The gateway could not keep the bytes.
    #[error("the gateway could not store the file: {reason}")]
    Store {
        /// What is wrong.
        reason: String,
    },
}

impl Refusal {
    /// What helps the model to correct itself, beyond the sentence that the person reads.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { near, .. } if near.is_empty() => None,
            Self::Missing { path, near } => {
                Some(format!("{} has {}", path.parent(), near.join(", ")))
            }
            Self::Path(_)
            | Self::NotAFile { .. }
            | Self::Forbidden { .. }
            | Self::HardLink { .. }
            | Self::TooLarge { .. }
            | Self::Unreadable { .. }
            | Self::Unstable { .. }
            | Self::TimedOut { .. }
            | Self::Sandbox { .. }
            | Self::Store { .. } => None,
        }
    }
}

/// A size as people write it: `50 MB` for 52,428,800.
#[must_use]
pub fn size_text(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KB", bytes / 1_024),
        1_048_576..1_073_741_824 => format!("{} MB", bytes / 1_048_576),
        _ => format!("{:.1} GB", bytes as f64 / 1_073_741_824.0),
    }
}

/// Why a sandbox did not do what was asked. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The driver is not to be had on this machine, or its daemon is away.
    #[error("{0}")]
    Unavailable(String),
    /// The image can't be had.
    #[error("{0}")]
    Image(String),
    /// A path was wrong.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A file could not be read or written.
    #[error("{0}")]
    File(String),
    /// Something else failed in the driver.
    #[error("{0}")]
    Failed(String),
}
