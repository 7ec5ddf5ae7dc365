//! The whole proof: recordings, their cuts, and how to repeat one that lost something.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

use crate::mutant::Mutant;
use crate::prove::{Until, Verdict, choose, prove};
use crate::record::{Recording, record};
use crate::work::{Plan, Synchronous};

/// Cuts of one recording. More recordings show more orders than more cuts of one.
pub const CUTS: usize = 260;

/// The folder of machines that keep files in memory: a database is opened a thousand times.
const MEMORY: &str = "/dev/shm";

/// A folder that goes away with the value, in memory where that can be.
///
/// # Errors
/// If it can't be made.
pub fn scratch() -> anyhow::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("tidings-powerloss-");
    let memory = Path::new(MEMORY);
    let made = if memory.is_dir() {
        builder.tempdir_in(memory)
    } else {
        builder.tempdir()
    };
    made.context("a folder for the proof can't be made")
}

/// The plan of the recording of a number: logs are folded in early, or as SQLite does.
#[must_use]
pub fn plan(seed: u64) -> Plan {
    let checkpoint = match seed % 4 {
        0 => None,
        1 => Some(40),
        2 => Some(150),
        _ => Some(400),
    };
    Plan {
        seed,
        synchronous: Synchronous::Full,
        checkpoint,
    }
}

/// What came of one recording.
#[derive(Debug)]
pub struct Report {
    /// What was recorded.
    pub plan: Plan,
    /// What was made wrong.
    pub mutant: Option<Mutant>,
    /// Steps of the log.
    pub steps: usize,
    /// Cuts and losses.
    pub verdict: Verdict,
    /// Where the trace was kept, if something was lost, and the folder that it speaks of.
    pub kept: Option<(PathBuf, PathBuf)>,
}

impl Report {
    /// What was tried: `healthy`, `synchronous=NORMAL`, or a mutant's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match (self.mutant, self.plan.synchronous) {
            (Some(mutant), _) => mutant.name(),
            (None, Synchronous::Normal) => "synchronous=NORMAL",
            (None, Synchronous::Full) => "healthy",
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{}, seed {}: {} steps, {} cuts, {} lost something",
            self.name(),
            self.plan.seed,
            self.steps,
            self.verdict.cuts,
            self.verdict.losses.len()
        )?;
        for loss in &self.verdict.losses {
            write!(out, "{loss}")?;
            if let Some((trace, folder)) = &self.kept {
                writeln!(
                    out,
                    "  again: cargo run -p tidings-powerloss -- again {} {} {} {}",
                    trace.display(),
                    folder.display(),
                    loss.cut.after,
                    loss.cut.seed
                )?;
            }
        }
        Ok(())
    }
}

/// Records with `program` and cuts so often; keeps the trace if something was lost.
///
/// # Errors
/// As [`record`] and [`prove`].
pub fn healthy(program: &Path, plan: Plan, cuts: usize) -> anyhow::Result<Report> {
    let scratch = scratch()?;
    let recording = record(program, plan, scratch.path())?;
    judge(&recording, plan, None, cuts, Until::TheEnd, scratch.path())
}

/// Looks for what is wrong in wrong programs: in one that syncs its database at checkpoints only, and in each mutant of a
/// right one. Each report must hold a loss.
///
/// # Errors
/// As [`record`] and [`prove`].
pub fn wrong(program: &Path, plan: Plan, cuts: usize, until: Until) -> anyhow::Result<Vec<Report>> {
    let scratch = scratch()?;
    let normal = Plan {
        synchronous: Synchronous::Normal,
        ..plan
    };
    let recording = record(program, normal, &scratch.path().join("normal"))?;
    let mut reports = vec![judge(
        &recording,
        normal,
        None,
        cuts,
        until,
        scratch.path(),
    )?];
    let recording = record(program, plan, scratch.path())?;
    for mutant in Mutant::ALL {
        reports.push(judge(
            &recording,
            plan,
            Some(mutant),
            cuts,
            until,
            scratch.path(),
        )?);
    }
    Ok(reports)
}

/// Cuts what was recorded, or a mutant of it, until `until`.
///
/// # Errors
/// As [`prove`].
pub fn judge(
    recording: &Recording,
    plan: Plan,
    mutant: Option<Mutant>,
    cuts: usize,
    until: Until,
    scratch: &Path,
) -> anyhow::Result<Report> {
    let wrong = mutant.map(|mutant| mutant.of(&recording.log));
    let log = wrong.as_ref().unwrap_or(&recording.log);
    let verdict = prove(log, &choose(log, cuts, plan.seed), scratch, until)?;
    let mut kept = None;
    let is_right = mutant.is_none() && plan.synchronous == Synchronous::Full;
    if !verdict.losses.is_empty() && is_right {
        let path = std::env::temp_dir().join(format!("tidings-powerloss-{}.trace", plan.seed));
        fs::copy(&recording.trace, &path)
            .with_context(|| format!("{} can't be written", path.display()))?;
        kept = Some((path, recording.folder.clone()));
    }
    Ok(Report {
        plan,
        mutant,
        steps: log.steps.len(),
        verdict,
        kept,
    })
}
