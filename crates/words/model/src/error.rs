//! Why a model did not answer. Each text is written for the person: provider, cause, what to do.

use std::time::Duration;

/// Why a model did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// It could not be reached.
    #[error("{provider} could not be reached: {cause}")]
    Unreachable {
        /// Who.
        provider: String,
        /// Why.
        cause: String,
    },
    /// The key was refused.
    #[error("{provider} refused the key: {cause}")]
    Key {
        /// Who.
        provider: String,
        /// Its words.
        cause: String,
    },
    /// Too much at once, or no money left.
    #[error("{provider} says wait: {cause}")]
    Throttled {
        /// Who.
        provider: String,
        /// Its words.
        cause: String,
        /// How long, if it said.
        after: Option<Duration>,
    },
    /// The conversation is too long for the model.
    #[error("the conversation is too long for {provider}: {cause}")]
    TooLong {
        /// Who.
        provider: String,
        /// Its words.
        cause: String,
    },
    /// The request was refused for good.
    #[error("{provider} refused the request: {cause}")]
    Refused {
        /// Who.
        provider: String,
        /// Its words.
        cause: String,
    },
    /// The provider failed.
    #[error("{provider} failed: {cause}")]
    Failed {
        /// Who.
        provider: String,
        /// Its words.
        cause: String,
    },
    /// The answer broke off: the connection was cut, or the end marker never came.
    #[error("the answer of {provider} broke off: {cause}")]
    BrokeOff {
        /// Who.
        provider: String,
        /// How.
        cause: String,
    },
    /// Silence for too long.
    #[error("{provider} said nothing for {} seconds", .silence.as_secs())]
    Silent {
        /// Who.
        provider: String,
        /// How long.
        silence: Duration,
    },
}

impl ModelError {
    /// Whether the same request may work in a moment. An answer that broke off may be asked for again: it is a read.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Throttled { .. }
            | Self::Failed { .. }
            | Self::BrokeOff { .. }
            | Self::Silent { .. } => true,
            Self::Key { .. } | Self::TooLong { .. } | Self::Refused { .. } => false,
        }
    }
}
