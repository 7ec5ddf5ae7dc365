//! Why a tool outside the sandbox did not do its work.

use std::time::Duration;

/// Why a tool did not do its work. The text is for the model, and through it for the person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// Its server is away; it is tried again by itself.
    #[error("{server} is not available: {cause}")]
    Away {
        /// Who.
        server: String,
        /// Why.
        cause: String,
    },
    /// It did not answer in time. It may have done its work.
    #[error("{server} did not answer within {} seconds; what was asked may have happened all the same", .after.as_secs())]
    TimedOut {
        /// Who.
        server: String,
        /// How long was waited.
        after: Duration,
    },
    /// It was asked for something that is not allowed, and nothing was asked.
    #[error("{0}")]
    Forbidden(String),
    /// It refused or failed, in its own words.
    #[error("{0}")]
    Failed(String),
}
