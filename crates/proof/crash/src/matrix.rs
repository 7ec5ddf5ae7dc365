//! Which cases make a run.

use crate::case::Case;
use crate::mishap::{Behaviour, ROWS};

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// Each row once, each against another behaviour; for CI.
    Short,
    /// Rows and behaviours until so many messages were written in; with 10,000 each row meets each behaviour.
    Long {
        /// So many.
        messages: usize,
    },
}

/// Messages of a case of the short form.
const FEW: usize = 16;
/// Messages of a case of the long form.
const MANY: usize = 55;

/// The cases of a plan, in an order in which rows and behaviours take turns.
#[must_use]
pub fn matrix(plan: Plan, seed: u64) -> Vec<Case> {
    let pairs: Vec<(usize, usize)> = (0..Behaviour::ALL.len())
        .flat_map(|shift| {
            (0..ROWS.len()).map(move |row| (row, (row + shift) % Behaviour::ALL.len()))
        })
        .collect();
    let (count, messages) = match plan {
        Plan::Short => (ROWS.len(), FEW),
        Plan::Long { messages } => (messages.div_ceil(MANY), MANY),
    };
    pairs
        .iter()
        .cycle()
        .zip(seed..)
        .take(count)
        .filter_map(|(&(row, behaviour), seed)| {
            Some(Case {
                row: *ROWS.get(row)?,
                behaviour: *Behaviour::ALL.get(behaviour)?,
                seed,
                messages,
            })
        })
        .collect()
}
