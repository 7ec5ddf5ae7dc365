//! `tidings doctor`: whether all that a gateway needs works, tried and not believed.
//!
//! Each check is tried by itself; what does not work is told in a sentence, with what to do.

mod ground;
mod network;
mod sandbox;

use std::time::Duration;

use serde::Serialize;
use settings::{Home, Profile};
use waybill::{Clock, ProfileId};

use crate::{Sandboxes, knowledge};

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It works.
    Good,
    /// It works, and the owner should know something.
    Warning,
    /// It does not work.
    Bad,
    /// It could not be tried, because something before it did not work.
    Skipped,
}

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What, in a word.
    pub name: &'static str,
    /// How it ended.
    pub verdict: Verdict,
    /// What was found; if it does not work, what to do.
    pub text: String,
}

impl Check {
    pub(crate) fn good(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, Verdict::Good, text)
    }

    pub(crate) fn bad(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, Verdict::Bad, text)
    }

    pub(crate) fn new(name: &'static str, verdict: Verdict, text: impl Into<String>) -> Self {
        Self {
            name,
            verdict,
            text: text.into(),
        }
    }
}

/// Longest that a profile's sandbox is tried; an image may have to be fetched.
const PATIENCE: Duration = Duration::from_secs(600);

/// Tries what all profiles stand on: the home, the disk, the clock, the database. Changes nothing.
pub async fn examine_ground(home: &Home, clock: &dyn Clock) -> Vec<Check> {
    ground::examine(home, clock).await
}

impl Sandboxes {
    /// Tries each profile's sandbox: makes it if it is not there, writes, runs, reads, captures and kills in it, and looks at its
    /// network. A folder in `/workspace` is made for it and removed again.
    pub async fn examine(&self) -> Vec<(ProfileId, Vec<Check>)> {
        let mut all = Vec::new();
        for (id, profile) in self.profiles() {
            let mut checks = self.examine_one(id, profile).await;
            checks.extend(knowledge::examine(self.home(), id).await);
            all.push((id.clone(), checks));
        }
        all
    }

    async fn examine_one(&self, id: &ProfileId, profile: &Profile) -> Vec<Check> {
        let ready = self.ready(id, profile);
        let tried = Box::pin(sandbox::examine(&ready));
        match tokio::time::timeout(PATIENCE, tried).await {
            Ok(checks) => checks,
            Err(_late) => vec![Check::bad(
                "sandbox",
                format!(
                    "it did not answer within {} minutes; stop it with `tidings sandboxes stop` and try again",
                    PATIENCE.as_secs() / 60
                ),
            )],
        }
    }
}
