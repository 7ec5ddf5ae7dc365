//! How a command ends: 0 done, 1 failed, 2 wrong usage (clap's), 78 configuration error (sysexits' `EX_CONFIG`).

use std::process::ExitCode;

use crate::printable::printable;

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
    /// A configuration with these problems.
    pub(crate) fn of_problems(problems: &[settings::Problem]) -> Self {
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Self::Configuration(told.join("\n"))
    }

    /// Tells the person, and gives the exit code.
    pub(crate) fn tell(self) -> ExitCode {
        match self {
            Self::Configuration(text) => {
                say(&text);
                ExitCode::from(CONFIGURATION)
            }
            Self::Failed(text) => {
                say(&text);
                ExitCode::FAILURE
            }
        }
    }
}

/// Line by line: some of it may be the words of an engine or of another machine.
fn say(text: &str) {
    let lines: Vec<String> = text.lines().map(printable).collect();
    eprintln!("tidings: {}", lines.join("\n"));
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
