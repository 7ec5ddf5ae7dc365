//! Paths as the sandbox sees them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest path in bytes (Linux `PATH_MAX`, with its end mark).
const LONGEST: usize = 4095;

/// Why a text is not a path in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// No characters.
    #[error("the path is empty")]
    Empty,
    /// A NUL or a line break.
    #[error("the path holds a control character")]
    Control,
    /// Over 4,095 bytes.
    #[error("the path is longer than 4,095 bytes")]
    TooLong,
    /// A URL, a drive letter or a share: not a path of this sandbox.
    #[error("not a path in the sandbox (use one like /workspace/chart.png)")]
    Foreign,
}

/// An absolute path inside a sandbox. Not resolved, not normalised: links and `..` mean what the sandbox's own kernel
/// says they mean. There is no conversion to a path of the host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SandboxPath(String);

impl SandboxPath {
    /// Where relative paths begin.
    pub const WORKSPACE: &'static str = "/workspace";
    /// What `~` means.
    pub const HOME: &'static str = "/root";
    /// Where a person's attachments lie, read-only.
    pub const INBOX: &'static str = "/inbox";

    /// Reads a path as a model writes it: absolute, relative to [`Self::WORKSPACE`], with `~` for [`Self::HOME`], or as a
    /// `file://` URL of an absolute path.
    ///
    /// # Errors
    /// [`PathError`] says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let text = text.strip_prefix("file://").unwrap_or(text);
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(PathError::Control);
        }
        if foreign(text) {
            return Err(PathError::Foreign);
        }
        let absolute = if text.starts_with('/') {
            text.to_owned()
        } else if text == "~" {
            Self::HOME.to_owned()
        } else if let Some(rest) = text.strip_prefix("~/") {
            format!("{}/{rest}", Self::HOME)
        } else if let Some(rest) = text.strip_prefix("./") {
            format!("{}/{rest}", Self::WORKSPACE)
        } else {
            format!("{}/{text}", Self::WORKSPACE)
        };
        if absolute.len() > LONGEST {
            return Err(PathError::TooLong);
        }
        Ok(Self(absolute))
    }

    /// The path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last component, for showing; the whole path if there is none.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0
            .rsplit('/')
            .find(|part| !part.is_empty())
            .unwrap_or(&self.0)
    }

    /// The path of the folder that holds it.
    #[must_use]
    pub fn parent(&self) -> Self {
        let trimmed = self.0.trim_end_matches('/');
        match trimmed.rsplit_once('/') {
            Some((parent, _)) if !parent.is_empty() => Self(parent.to_owned()),
            _ => Self("/".to_owned()),
        }
    }
}

fn foreign(text: &str) -> bool {
    let mut signs = text.chars();
    let drive = signs.next().is_some_and(|sign| sign.is_ascii_alphabetic())
        && signs.next() == Some(':')
        && matches!(signs.next(), Some('\\' | '/'));
    drive || text.starts_with("\\\\") || text.contains("://")
}

impl fmt::Display for SandboxPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl TryFrom<String> for SandboxPath {
    type Error = PathError;
    fn try_from(text: String) -> Result<Self, PathError> {
        Self::parse(&text)
    }
}

impl From<SandboxPath> for String {
    fn from(path: SandboxPath) -> Self {
        path.0
    }
}
