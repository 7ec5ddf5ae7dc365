//! What is wrong with the file.

use std::fmt;

use crate::load::FILE_NAME;

/// Which part of the file a problem belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// The file as a whole: its syntax, its top-level keys.
    File,
    /// `[gateway]`
    Gateway,
    /// `[retention]`
    Retention,
    /// `[defaults]`
    Defaults,
    /// `[providers.NAME]`
    Provider(String),
    /// `[profiles.NAME]`
    Profile(String),
    /// `[channels.NAME]`
    Channel(String),
    /// The nth `[[routes]]`, counted from 1.
    Route(usize),
}

impl fmt::Display for Section {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => out.write_str("the file"),
            Self::Gateway => out.write_str("[gateway]"),
            Self::Retention => out.write_str("[retention]"),
            Self::Defaults => out.write_str("[defaults]"),
            Self::Provider(name) => write!(out, "[providers.{name}]"),
            Self::Profile(name) => write!(out, "[profiles.{name}]"),
            Self::Channel(name) => write!(out, "[channels.{name}]"),
            Self::Route(number) => write!(out, "route {number}"),
        }
    }
}

/// How much a problem stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Nothing; the owner should know.
    Warning,
    /// Its own section, which is left out; the rest works.
    Disables,
    /// The start of the gateway.
    Fatal,
}

/// One thing that is wrong with the file. Prints as `tidings.toml:LINE:COLUMN: message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it belongs.
    pub section: Section,
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong and what to do; never holds a secret.
    pub message: String,
    /// What it stops.
    pub weight: Weight,
}

impl Problem {
    /// Whether the gateway must not start with it.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.weight == Weight::Fatal
    }

    /// Whether it stops nothing.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        self.weight == Weight::Warning
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_warning() { "warning: " } else { "" };
        write!(
            out,
            "{FILE_NAME}:{}:{}: {mark}{}",
            self.line, self.column, self.message
        )
    }
}
