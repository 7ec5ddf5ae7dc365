//! One case, and what came of it.

use std::time::Duration;

use checker::{Finding, Report};

use crate::mishap::{Behaviour, Row};

/// One run of the binary against one platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// Where it dies.
    pub row: Row,
    /// What the platform does.
    pub behaviour: Behaviour,
    /// What everything else follows from.
    pub seed: u64,
    /// Messages that people write.
    pub messages: usize,
}

impl Case {
    /// The command that does it again.
    #[must_use]
    pub fn command(&self) -> String {
        format!(
            "cargo run -p tidings-crash -- --row {} --behaviour {} --seed {} --messages {}",
            self.row.name,
            self.behaviour.name(),
            self.seed,
            self.messages
        )
    }
}

/// What came of a case.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// How often it died or was stopped on the way.
    pub ends: usize,
    /// What the judge says.
    pub report: Report,
    /// Calls that the platform got.
    pub calls: usize,
    /// How long it took.
    pub took: Duration,
    /// The end of the log, if something was found.
    pub log: String,
}

impl Outcome {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.report.findings.is_empty()
    }

    /// What was found.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.report.findings
    }
}

/// SplitMix64: a seed becomes choices.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `below`, without it.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        self.next() % below.max(1)
    }
}
