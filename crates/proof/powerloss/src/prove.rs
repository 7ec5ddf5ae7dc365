//! Cuts the power at many steps of a log, and looks each time what was lost.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Context as _;
use waybill::Timestamp;

use crate::check;
use crate::dice::Dice;
use crate::disk::Disk;
use crate::fact;
use crate::ledger::Ledger;
use crate::log::{Act, Log, Step};
use crate::work::BEGINNING;

/// When the store is opened again: a day later, in milliseconds.
const LATER: i64 = 24 * 3600 * 1000;

/// Threads at most: each keeps the whole disk in memory.
const THREADS: usize = 4;

/// Steps that are shown before a cut that lost something.
const SHOWN: usize = 6;

/// A loss of power: after so many steps, with these dice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Steps of the log that the disk saw.
    pub after: usize,
    /// What of the waiting changes is there.
    pub seed: u64,
}

/// A cut that lost something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The cut.
    pub cut: Cut,
    /// What is missing or wrong.
    pub wrong: Vec<String>,
    /// The last steps before it.
    pub before: Vec<String>,
}

impl fmt::Display for Loss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "power lost after step {} (dice {}):",
            self.cut.after, self.cut.seed
        )?;
        for step in &self.before {
            writeln!(out, "    … {step}")?;
        }
        for wrong in &self.wrong {
            writeln!(out, "  {wrong}")?;
        }
        Ok(())
    }
}

/// When to stop looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// All cuts were made.
    TheEnd,
    /// One of them lost something.
    ALoss,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Cuts that were made.
    pub cuts: usize,
    /// Those that lost something, in the order of the log.
    pub losses: Vec<Loss>,
}

/// Chooses cuts, in the order of the log: half of them anywhere, half where an order is at stake (right before and after a
/// sync, a move, an acknowledgement, and the first bytes of a file written anew).
#[must_use]
pub fn choose(log: &Log, count: usize, seed: u64) -> Vec<Cut> {
    let mut dice = Dice::new(seed);
    let mut edges = Vec::new();
    for (before, step) in log.steps.iter().enumerate() {
        match &step.act {
            Act::Sync { .. }
            | Act::SyncFolder { .. }
            | Act::Move { .. }
            | Act::Remove { .. }
            | Act::Resize { .. } => edges.extend([before, before + 1]),
            Act::Say(_) | Act::Write { at: 0, .. } => edges.push(before + 1),
            Act::Write { .. } | Act::Put { .. } => {}
        }
    }
    edges.sort_unstable();
    edges.dedup();
    let mut cuts: Vec<Cut> = (0..count)
        .map(|number| {
            let anywhere = dice.below(log.steps.len() + 1);
            let edge = dice.pick(&edges).copied().unwrap_or(anywhere);
            Cut {
                after: if number % 2 == 0 { anywhere } else { edge },
                seed: dice.roll(),
            }
        })
        .collect();
    cuts.sort_by_key(|cut| cut.after);
    cuts
}

/// Makes the cuts, which must be in the order of the log, with folders inside `scratch`.
///
/// # Errors
/// If a folder can't be made, or the log holds an acknowledgement that can't be read. A store that fails is a loss.
pub fn prove(log: &Log, cuts: &[Cut], scratch: &Path, until: Until) -> anyhow::Result<Verdict> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(THREADS);
    let stop = AtomicBool::new(false);
    let mut verdict = Verdict::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|number| {
                let folder = scratch.join(format!("left-{number}"));
                let mine = cuts.iter().copied().skip(number).step_by(threads);
                let stop = &stop;
                scope.spawn(move || some(log, mine, &folder, until, stop))
            })
            .collect();
        for worker in workers {
            let made = worker
                .join()
                .map_err(|_panic| anyhow::anyhow!("a thread of the proof panicked"))??;
            verdict.cuts += made.cuts;
            verdict.losses.extend(made.losses);
        }
        anyhow::Ok(())
    })?;
    verdict.losses.sort_by_key(|loss| loss.cut.after);
    Ok(verdict)
}

fn some(
    log: &Log,
    cuts: impl Iterator<Item = Cut>,
    folder: &Path,
    until: Until,
    stop: &AtomicBool,
) -> anyhow::Result<Verdict> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let later = Timestamp::from_millisecond(BEGINNING + LATER)?;
    let mut disk = Disk::empty();
    let mut ledger = Ledger::default();
    let mut verdict = Verdict::default();
    for cut in cuts {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        for line in disk.advance(log, cut.after) {
            for fact in fact::facts(line).context("an acknowledgement can't be read")? {
                ledger.note(fact);
            }
        }
        empty(folder)?;
        disk.lose_power(&mut Dice::new(cut.seed)).write(folder)?;
        let wrong = runtime.block_on(check::look(folder, &ledger, later));
        let wrong = wrong.unwrap_or_else(|error| vec![format!("the store failed: {error:#}")]);
        verdict.cuts += 1;
        if !wrong.is_empty() {
            stop.store(until == Until::ALoss, Ordering::Relaxed);
            let before = before(log, cut.after);
            verdict.losses.push(Loss { cut, wrong, before });
        }
    }
    Ok(verdict)
}

fn empty(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

fn before(log: &Log, end: usize) -> Vec<String> {
    let seen = log.steps.iter().take(end);
    let last = seen.skip(end.saturating_sub(SHOWN));
    last.map(|step: &std::sync::Arc<Step>| log.describe(step))
        .collect()
}
