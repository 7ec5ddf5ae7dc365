//! Lets a program work while `strace` writes down what it does to its files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::files::{self, CALLS};
use crate::log::Log;
use crate::trace;
use crate::work::{Plan, Synchronous};

/// The longest text that `strace` writes whole: more than any call of the work writes.
const LONGEST: &str = "4194304";

/// What [`record`] left.
#[derive(Debug)]
pub struct Recording {
    /// What was done.
    pub log: Log,
    /// The trace, as `strace` wrote it.
    pub trace: PathBuf,
    /// The folder that it speaks of.
    pub folder: PathBuf,
}

/// The words by which the program of this room works: `work FOLDER SEED full|normal PAGES`.
#[must_use]
pub fn words(folder: &Path, plan: Plan) -> Vec<String> {
    let synchronous = match plan.synchronous {
        Synchronous::Full => "full",
        Synchronous::Normal => "normal",
    };
    vec![
        "work".to_owned(),
        folder.display().to_string(),
        plan.seed.to_string(),
        synchronous.to_owned(),
        plan.checkpoint.unwrap_or(0).to_string(),
    ]
}

/// Runs `program` (of this room) on an empty folder inside `scratch`, and reads what it did.
///
/// # Errors
/// If `strace` is missing or may not trace, if the program failed, or if something that it did can't be followed.
pub fn record(program: &Path, plan: Plan, scratch: &Path) -> anyhow::Result<Recording> {
    let folder = scratch.join("recorded");
    let trace = scratch.join("trace");
    fs::create_dir_all(&folder).context("the folder to work in can't be made")?;
    let ran = Command::new("strace")
        .args(["-f", "--seccomp-bpf", "-qq", "-xx", "-e", "signal=none"])
        .args(["-e", "abbrev=none", "-s", LONGEST, "-e"])
        .arg(format!("trace={CALLS}"))
        .arg("-o")
        .arg(&trace)
        .arg(program)
        .args(words(&folder, plan))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .context("strace can't be run; the proof needs it: apt-get install -y strace")?;
    let said = String::from_utf8_lossy(&ran.stderr);
    anyhow::ensure!(
        ran.status.success(),
        "the recording failed ({}): {said}\nstrace needs the right to trace its own children (ptrace); in a container: \
         --cap-add SYS_PTRACE",
        ran.status
    );
    let log = read(&trace, &folder)?;
    Ok(Recording { log, trace, folder })
}

/// Reads a trace of a program that worked below `folder`.
///
/// # Errors
/// If the trace can't be read or followed.
pub fn read(trace: &Path, folder: &Path) -> anyhow::Result<Log> {
    let text =
        fs::read_to_string(trace).with_context(|| format!("{} can't be read", trace.display()))?;
    let folder = folder.to_str().context("the folder's path is not UTF-8")?;
    let log = files::follow(&trace::read(&text)?, folder)?;
    anyhow::ensure!(
        !log.steps.is_empty(),
        "the trace shows nothing below {folder}"
    );
    Ok(log)
}
