//! What a table of keys is made of.

use crate::Home;
use crate::rule::{IdRule, Rule};
use crate::tree::Value;

/// One key that the file may hold.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) preset: Preset,
    pub(crate) required: bool,
    /// What a value other than the preset would do, while this version does not do it yet.
    pub(crate) dormant: Option<&'static str>,
    pub(crate) about: &'static str,
}

impl Key {
    pub(crate) const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            name,
            kind,
            preset: Preset::Nothing,
            required: false,
            dormant: None,
            about,
        }
    }

    pub(crate) const fn or(mut self, preset: Preset) -> Self {
        self.preset = preset;
        self
    }

    pub(crate) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Marks a key of later work. `instead` says what happens today.
    pub(crate) const fn not_yet(mut self, instead: &'static str) -> Self {
        self.dormant = Some(instead);
        self
    }
}

/// The value when nobody says anything.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Preset {
    Nothing,
    Text(&'static str),
    Integer(i64),
    Number(f64),
    Flag(bool),
    EmptyList,
}

impl Preset {
    pub(crate) fn value(self) -> Option<Value> {
        match self {
            Self::Nothing => None,
            Self::Text(text) => Some(Value::Text(text.to_owned())),
            Self::Integer(number) => Some(Value::Integer(number)),
            Self::Number(number) => Some(Value::Number(number)),
            Self::Flag(flag) => Some(Value::Flag(flag)),
            Self::EmptyList => Some(Value::List(Vec::new())),
        }
    }
}

/// Where numbers begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Floor {
    /// At 0.
    Zero,
    /// At whatever is more.
    AboveZero,
}

impl Floor {
    pub(crate) fn admits(self, number: f64) -> bool {
        match self {
            Self::Zero => number >= 0.0,
            Self::AboveZero => number > 0.0,
        }
    }

    /// `more than 0 and at most 5`, `from 0 to 5`.
    pub(crate) fn range(self, most: f64) -> String {
        match self {
            Self::Zero => format!("from 0 to {most}"),
            Self::AboveZero => format!("more than 0 and at most {most}"),
        }
    }
}

/// What a value must be.
pub(crate) enum Kind {
    Text(Rule),
    Choice(&'static [&'static str]),
    Flag,
    Integer {
        least: i64,
        most: i64,
    },
    Number {
        floor: Floor,
        most: f64,
    },
    /// Bytes: a whole number, or a text such as `512m`.
    Size {
        least: i64,
        most: i64,
    },
    /// A platform's id, as a number or a text; kept as text.
    Id(IdRule),
    /// `env:NAME` or `file:NAME`.
    Reference,
    List(&'static Self),
    Table(&'static [Key]),
    /// A table whose keys the owner chooses.
    Map {
        of: &'static Self,
        name: Rule,
        word: &'static str,
    },
}

/// What a [`Rule`] may look at beside the text.
pub(crate) type Context = Home;
