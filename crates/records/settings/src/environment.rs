//! The process environment, as a value.

use std::collections::BTreeMap;

/// Where variables are looked up.
pub trait Environment {
    /// The value of a variable; `None` if it is not set or is not UTF-8.
    fn get(&self, name: &str) -> Option<String>;
}

/// The environment that this process was started with.
#[derive(Debug, Clone, Copy)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment; all others are told"
    )]
    fn get(&self, name: &str) -> Option<String> {
        // The standard library panics on a name that no system could hold.
        if name.is_empty() || name.contains(['=', '\0']) {
            return None;
        }
        std::env::var(name).ok()
    }
}

/// An environment that somebody wrote down, for tests.
#[derive(Clone, Default)]
pub struct FixedEnvironment(BTreeMap<String, String>);

impl FixedEnvironment {
    /// An environment of these variables and no others.
    #[must_use]
    pub fn new<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(
            variables
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        )
    }
}

impl Environment for FixedEnvironment {
    fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }
}
