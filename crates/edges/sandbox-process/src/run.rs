//! Starts the launcher, feeds it, hears it, and ends it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use sandbox::SandboxError;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, Command};
use tokio::time::{sleep, timeout};

use crate::disk;
use crate::launch::OUTER;
use crate::output::Sink;
use crate::plan::{Inner, Outer, Report, frame};
use crate::protections::advice;

/// Longest report in bytes: a listing of very many long names.
const LONGEST_REPORT: usize = 8 << 20;
const PIECE: usize = 64 << 10;
/// How long the kernel may take to bury what was killed.
const BURIAL: Duration = Duration::from_secs(5);

/// How a run of the launcher ended.
pub(crate) enum Ending {
    Reported(Report),
    TimedOut,
    /// It had nearly filled the disk.
    DiskFilled,
    /// Process 1 was killed from outside.
    Lost,
}

/// Runs the launcher once; `folder` is on the disk that its work writes to. Dropping the future kills it, and with it all that it started.
pub(crate) async fn run(
    launcher: &[String],
    plan: &Inner,
    input: &[u8],
    within: Duration,
    folder: &Path,
    sink: &mut dyn Sink,
) -> Result<Ending, SandboxError> {
    let failed = |what: &str, source: &dyn std::fmt::Display| {
        SandboxError::Failed(format!("{what}: {source}"))
    };
    let outer = Outer {
        host_network: plan.host_network,
    };
    let mut plans =
        frame(&outer).map_err(|source| failed("the sandbox's plan can't be written", &source))?;
    plans.extend(
        frame(plan).map_err(|source| failed("the sandbox's plan can't be written", &source))?,
    );
    let Some((program, arguments)) = launcher.split_first() else {
        return Err(SandboxError::Unavailable(
            "the process sandbox has no launcher".to_owned(),
        ));
    };
    let mut child = Command::new(program)
        .args(arguments)
        .arg(OUTER)
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| failed("the sandbox can't be started", &source))?;
    let (Some(stdin), Some(mut stdout), Some(mut stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(SandboxError::Failed(
            "the sandbox was started without pipes".to_owned(),
        ));
    };

    let mut said = Vec::new();
    let works = async {
        futures_util::join!(
            feed(stdin, &plans, input),
            drain(&mut stdout, sink),
            listen(&mut stderr, &mut said)
        )
    };
    let cut_short = tokio::select! {
        _ = works => None,
        () = sleep(within) => Some(Ending::TimedOut),
        () = disk::filled(folder) => Some(Ending::DiskFilled),
    };
    if cut_short.is_some() {
        child
            .start_kill()
            .map_err(|source| failed("the command can't be ended", &source))?;
        // The end of its output is the end of its last process.
        if timeout(BURIAL, drain(&mut stdout, sink)).await.is_err() {
            tracing::warn!("a command outlived its own end; the kernel still holds it");
        }
    }
    // A process that the kernel holds fast must not hold the gateway.
    let _status = timeout(BURIAL, child.wait()).await;
    match cut_short {
        Some(ending) => Ok(ending),
        None => ending(&said),
    }
}

/// What the stages reported; the last word counts.
fn ending(said: &[u8]) -> Result<Ending, SandboxError> {
    let mut last = Ending::Lost;
    for line in said
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        match serde_json::from_slice::<Report>(line) {
            Ok(Report::NoFloor { step, error }) => {
                return Err(SandboxError::Unavailable(advice(&step, &error)));
            }
            Ok(Report::Failed(text)) => return Err(SandboxError::Failed(text)),
            Ok(report) => last = Ending::Reported(report),
            Err(_not_a_report) => {
                tracing::warn!(line = %String::from_utf8_lossy(line), "the sandbox's launcher said")
            }
        }
    }
    Ok(last)
}

/// A command need not read its input to the end.
async fn feed(mut stdin: ChildStdin, plans: &[u8], input: &[u8]) {
    for bytes in [plans, input] {
        if stdin.write_all(bytes).await.is_err() {
            return;
        }
    }
    stdin.shutdown().await.unwrap_or_default();
}

async fn drain(stdout: &mut tokio::process::ChildStdout, sink: &mut dyn Sink) {
    let mut piece = vec![0; PIECE];
    while let Ok(length) = stdout.read(&mut piece).await
        && length > 0
    {
        let (bytes, _) = piece.split_at(length);
        sink.take(bytes).await;
    }
}

async fn listen(stderr: &mut tokio::process::ChildStderr, said: &mut Vec<u8>) {
    let mut piece = vec![0; 8 << 10];
    while let Ok(length) = stderr.read(&mut piece).await
        && length > 0
    {
        let room = LONGEST_REPORT.saturating_sub(said.len());
        let (bytes, _) = piece.split_at(length.min(room));
        said.extend_from_slice(bytes);
    }
}
