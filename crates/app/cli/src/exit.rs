//! How a command ends: 0 done, 1 failed, 2 wrong usage (clap's), 78 configuration error (sysexits' `EX_CONFIG`).

use std::process::ExitCode;

/// A configuration error.
pub(crate) const CONFIGURATION: u8 = 78;

/// Why a command did not do it.
pub(crate) enum Failure {
    /// The configuration or the home is wrong.
    Configuration(String),
    /// Something else.
    Failed(String),
}

impl Failure {
    /// Tells the person, and gives the exit code.
    pub(crate) fn tell(self) -> ExitCode {
        match self {
            Self::Configuration(text) => {
                eprintln!("tidings: {text}");
                ExitCode::from(CONFIGURATION)
            }
            Self::Failed(text) => {
                eprintln!("tidings: {text}");
                ExitCode::FAILURE
            }
        }
    }
}

impl From<settings::HomeError> for Failure {
    fn from(error: settings::HomeError) -> Self {
        Self::Configuration(error.to_string())
    }
}

impl From<gateway::StartError> for Failure {
    fn from(error: gateway::StartError) -> Self {
        if let gateway::StartError::Home(error) = error {
            return error.into();
        }
        Self::Failed(error.to_string())
    }
}

impl From<gateway::BackupError> for Failure {
    fn from(error: gateway::BackupError) -> Self {
        if let gateway::BackupError::Home(error) = error {
            return error.into();
        }
        Self::Failed(error.to_string())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(format!("{error:#}"))
    }
}
