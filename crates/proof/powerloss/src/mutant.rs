//! Wrong programs, made of a right one's log. The proof must find each: one that can't fail proves nothing.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::log::{Act, Log, Node, Step};

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// The database's log is never synced.
    LogNotSynced,
    /// Bytes of artifacts are never synced.
    BytesNotSynced,
    /// The folders of artifacts are never synced.
    FoldersNotSynced,
    /// The folder above all that the store made is never synced.
    AboveNotSynced,
    /// A commit is acknowledged first and synced then.
    AcknowledgedTooEarly,
    /// The log is begun anew first, and what was folded into the database is synced then.
    LogBegunTooEarly,
    /// Bytes of artifacts are acknowledged first and synced then.
    BytesSyncedTooLate,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::LogNotSynced,
        Self::BytesNotSynced,
        Self::FoldersNotSynced,
        Self::AboveNotSynced,
        Self::AcknowledgedTooEarly,
        Self::LogBegunTooEarly,
        Self::BytesSyncedTooLate,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LogNotSynced => "log-not-synced",
            Self::BytesNotSynced => "bytes-not-synced",
            Self::FoldersNotSynced => "folders-not-synced",
            Self::AboveNotSynced => "above-not-synced",
            Self::AcknowledgedTooEarly => "acknowledged-too-early",
            Self::LogBegunTooEarly => "log-begun-too-early",
            Self::BytesSyncedTooLate => "bytes-synced-too-late",
        }
    }

    /// The log of the wrong program.
    #[must_use]
    pub fn of(self, right: &Log) -> Log {
        let mut wrong = right.clone();
        let is = Files(right);
        match self {
            Self::LogNotSynced => wrong
                .steps
                .retain(|step| !matches!(step.act, Act::Sync { file } if is.log(file))),
            Self::BytesNotSynced => wrong
                .steps
                .retain(|step| !matches!(step.act, Act::Sync { file } if is.artifact(file))),
            Self::FoldersNotSynced => wrong.steps.retain(
                |step| !matches!(step.act, Act::SyncFolder { folder } if is.artifact(folder)),
            ),
            Self::AboveNotSynced => wrong.steps.retain(|step| {
                !matches!(
                    step.act,
                    Act::SyncFolder { folder } if folder == Node::ROOT
                )
            }),
            Self::AcknowledgedTooEarly => delay(
                &mut wrong,
                |act| matches!(act, Act::Sync { file } if is.log(*file)),
                |act| matches!(act, Act::Say(_)),
                1,
            ),
            Self::LogBegunTooEarly => delay(
                &mut wrong,
                |act| matches!(act, Act::Sync { file } if is.database(*file)),
                |act| matches!(act, Act::Write { file, .. } if is.log(*file)),
                3,
            ),
            Self::BytesSyncedTooLate => delay(
                &mut wrong,
                |act| matches!(act, Act::Sync { file } if is.artifact(*file)),
                |act| matches!(act, Act::Say(_)),
                8,
            ),
        }
        wrong
    }
}

/// Holds steps back until so many others have passed them.
fn delay(
    log: &mut Log,
    is_held: impl Fn(&Act) -> bool,
    passes: impl Fn(&Act) -> bool,
    most: usize,
) {
    let mut steps = Vec::with_capacity(log.steps.len());
    let mut held: VecDeque<(Arc<Step>, usize)> = VecDeque::new();
    for step in log.steps.drain(..) {
        if is_held(&step.act) {
            held.push_back((step, most));
            continue;
        }
        if passes(&step.act) {
            for (_, left) in &mut held {
                *left = left.saturating_sub(1);
            }
        }
        steps.push(step);
        while held.front().is_some_and(|(_, left)| *left == 0) {
            steps.extend(held.pop_front().map(|(step, _)| step));
        }
    }
    steps.extend(held.into_iter().map(|(step, _)| step));
    log.steps = steps;
}

/// What a file is, as its path tells.
struct Files<'a>(&'a Log);

impl Files<'_> {
    fn log(&self, file: Node) -> bool {
        self.0.path(file).ends_with("-wal")
    }

    fn database(&self, file: Node) -> bool {
        // It was made under another name, and moved.
        self.0.path(file).ends_with(".db.making")
    }

    fn artifact(&self, node: Node) -> bool {
        self.0.path(node).contains("/blobs")
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
