//! Colours, where a person looks.

use std::io::IsTerminal as _;

use outbox::PartState;
use settings::Environment;

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// With colours.
    Colours,
    /// Without.
    Plain,
}

impl Paint {
    /// Colours on a terminal alone, and not where `NO_COLOR` is set (no-color.org) or the terminal knows none.
    pub(crate) fn of(environment: &dyn Environment) -> Self {
        let refused = environment
            .get("NO_COLOR")
            .is_some_and(|value| !value.is_empty())
            || environment.get("TERM").is_some_and(|term| term == "dumb");
        if !refused && std::io::stdout().is_terminal() {
            Self::Colours
        } else {
            Self::Plain
        }
    }

    /// In the colour of a state: green for what arrived, red for what was given up, yellow for what waits.
    pub(crate) fn state(self, state: PartState, text: &str) -> String {
        let colour = match state {
            PartState::Sent => "32",
            PartState::Failed | PartState::Expired => "31",
            PartState::Held | PartState::Unknown | PartState::Retry => "33",
            PartState::Queued | PartState::Sending => "36",
            PartState::Cancelled | PartState::Superseded => "2",
        };
        self.wrap(colour, text)
    }

    /// What matters most.
    pub(crate) fn strong(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// What matters less.
    pub(crate) fn faint(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// Code.
    pub(crate) fn code(self, text: &str) -> String {
        self.wrap("36", text)
    }

    /// What works.
    pub(crate) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// What its owner should know.
    pub(crate) fn care(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// What does not work.
    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::Colours => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Plain => text.to_owned(),
        }
    }
}
