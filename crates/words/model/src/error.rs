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
    /// No credit is left there.
    #[error(
        "no credit is left at {provider}, so waiting won't help; add some, or choose another model ({cause})"
    )]
    NoMoney {
        /// Who.
        provider: String,
        /// Its words.
        cause: String,
    },
    /// Too much at once.
    #[error("{provider} says wait{}: {cause}", in_a_while(*.after))]
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
    /// The provider does not want to talk about this.
    #[error("{provider} refused to answer this: {cause}")]
    Moderated {
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

/// ` 20 minutes`, for people; nothing where nobody said how long.
fn in_a_while(after: Option<Duration>) -> String {
    let Some(after) = after else {
        return String::new();
    };
    let seconds = after.as_secs().max(1);
    let (count, unit) = match seconds {
        ..120 => (seconds, "second"),
        120..7_200 => (seconds.div_ceil(60), "minute"),
        _ => (seconds.div_ceil(3_600), "hour"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!(" {count} {unit}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_how_long_to_wait() {
        let says = |seconds| in_a_while(Some(Duration::from_secs(seconds)));
        assert_eq!(says(0), " 1 second");
        assert_eq!(says(90), " 90 seconds");
        assert_eq!(says(150), " 3 minutes");
        assert_eq!(says(7_200), " 2 hours");
        assert_eq!(in_a_while(None), "");
    }
}
