//! What can go wrong on the way to another machine, as sentences that say what to do.

use sandbox::SandboxError;

/// Most characters of what another machine says in a sentence of ours.
const SAID: usize = 200;

/// What another machine said, as it may stand in a sentence of ours: on one line, not long, and nothing that a terminal obeys.
pub(crate) fn printable(said: &str) -> String {
    let invisible = |sign: char| matches!(sign, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}');
    said.trim()
        .chars()
        .map(|sign| if sign.is_whitespace() { ' ' } else { sign })
        .filter(|sign| !sign.is_control() && !invisible(*sign))
        .take(SAID)
        .collect()
}

/// Why another machine could not be used. `machine` is `USER@HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Nobody answered, or not in SSH's words.
    #[error(
        "{machine} can't be reached ({reason}); check that it is up, that host and port are right, and that no firewall stands between"
    )]
    Unreachable {
        /// Which.
        machine: String,
        /// What the system said.
        reason: String,
    },
    /// It is not the machine that was pinned. Nothing was sent to it.
    #[error(
        "{machine} shows the host key {seen}, but {pinned} is pinned, so nothing was sent to it; if its key was changed on purpose, write the new one into host_key, and if not, somebody may stand between"
    )]
    HostKey {
        /// Which.
        machine: String,
        /// The fingerprint that it showed.
        seen: String,
        /// The fingerprint that was expected.
        pinned: String,
    },
    /// It did not let the account in.
    #[error(
        "{machine} refused the login; add this line to that account's ~/.ssh/authorized_keys: {public}"
    )]
    Login {
        /// Which.
        machine: String,
        /// The public key, as one line.
        public: String,
    },
    /// What is written down about it can't be used.
    #[error("{machine} can't be used: {reason}")]
    Setting {
        /// Which.
        machine: String,
        /// What is wrong, and what to write instead.
        reason: String,
    },
    /// It answers, but can't hold sandboxes.
    #[error("{machine} can't hold sandboxes: {reason}")]
    Unfit {
        /// Which.
        machine: String,
        /// What it lacks, and what to do.
        reason: String,
    },
    /// It takes no more channels.
    #[error(
        "{machine} takes no more commands at once; end some of those that run, or raise MaxSessions in its sshd_config"
    )]
    Full {
        /// Which.
        machine: String,
    },
    /// The connection broke under something that ran.
    #[error(
        "the connection to {machine} was lost under the command, which is ended there; whether it had done its work is not known, so look before you run it again"
    )]
    Lost {
        /// Which.
        machine: String,
    },
}

impl From<Failure> for SandboxError {
    fn from(failure: Failure) -> Self {
        let text = failure.to_string();
        match failure {
            Failure::Lost { .. } | Failure::Full { .. } => Self::Failed(text),
            Failure::Unreachable { .. }
            | Failure::HostKey { .. }
            | Failure::Login { .. }
            | Failure::Setting { .. }
            | Failure::Unfit { .. } => Self::Unavailable(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::printable;

    #[test]
    fn what_a_machine_says_can_not_write_over_the_owners_terminal() {
        assert_eq!(
            printable("\u{1b}[2Jno\r\nsuch\u{202e} file\n"),
            "[2Jno  such file"
        );
        assert_eq!(printable(&"x".repeat(5000)).len(), 200);
    }

    proptest! {
        #[test]
        fn whatever_is_said_stays_on_its_line(said in "(?s).{0,400}") {
            let told = printable(&said);
            prop_assert!(!told.chars().any(char::is_control));
            prop_assert!(told.chars().count() <= 200);
        }
    }
}
