//! The real binary, as a process.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Longest wait for a start or an end.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a failpoint that acts says (the product's `failpoint::REACHED`; this crate shares no code with it).
const REACHED: &str = "failpoint reached: ";

/// Where a binary runs: its home, its secrets, its log.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) binary: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) environment: Vec<(String, String)>,
}

impl Place {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "TMPDIR"))
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("TIDINGS_LOG", "info")
            .kill_on_drop(true)
            .stdin(Stdio::null());
        command
    }

    /// Starts the gateway and waits until it serves, or has died on the way.
    pub(crate) async fn start(&self, failpoints: Option<&str>) -> anyhow::Result<Gateway> {
        let log = File::options().append(true).create(true).open(&self.log)?;
        let mut command = self.command();
        command
            .args(["up", "--json", "--listen", "127.0.0.1:0", "--home"])
            .arg(&self.home)
            .stdout(Stdio::piped())
            .stderr(log);
        if let Some(failpoints) = failpoints {
            command.env("TIDINGS_FAILPOINT", failpoints);
        }
        let mut child = command.spawn().context("the binary can't be started")?;
        let out = child.stdout.take().context("no standard output")?;
        let mut lines = BufReader::new(out).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line())
            .await
            .context("the gateway did not start in time")??;
        let mut gateway = Gateway {
            child,
            log: self.log.clone(),
            ended: None,
        };
        if line.is_none() {
            let ended = gateway.end(PATIENCE).await?;
            if failpoints.is_none() {
                bail!("the gateway did not start: {ended}\n{}", self.told());
            }
        }
        Ok(gateway)
    }

    /// The objects that a command prints.
    pub(crate) async fn objects(&self, arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
        let output = self
            .command()
            .args(arguments)
            .arg("--json")
            .arg("--home")
            .arg(&self.home)
            .output()
            .await?;
        if !output.status.success() {
            bail!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let text = String::from_utf8(output.stdout)?;
        text.lines()
            .map(|line| serde_json::from_str(line).with_context(|| format!("no JSON: {line}")))
            .collect()
    }

    /// The end of the log.
    pub(crate) fn told(&self) -> String {
        last_lines(&self.log, 60)
    }

    /// How often a failpoint acted.
    pub(crate) fn reached(&self, name: &str) -> usize {
        let wanted = format!("{REACHED}{name}");
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().filter(|line| *line == wanted).count()
    }
}

fn last_lines(path: &Path, most: usize) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let skip = lines.len().saturating_sub(most);
    lines.into_iter().skip(skip).collect::<Vec<_>>().join("\n")
}

/// A running gateway. Dropped, it is killed.
pub(crate) struct Gateway {
    child: Child,
    log: PathBuf,
    ended: Option<ExitStatus>,
}

impl Gateway {
    /// Waits for its end.
    pub(crate) async fn end(&mut self, patience: Duration) -> anyhow::Result<ExitStatus> {
        if let Some(ended) = self.ended {
            return Ok(ended);
        }
        let ended = tokio::time::timeout(patience, self.child.wait())
            .await
            .context("the gateway did not end in time")??;
        self.ended = Some(ended);
        Ok(ended)
    }

    /// Whether it ended before it served.
    pub(crate) fn is_gone(&self) -> bool {
        self.ended.is_some()
    }

    /// `kill -9`.
    pub(crate) async fn kill(mut self) -> anyhow::Result<()> {
        self.signal(Signal::KILL)?;
        self.end(PATIENCE).await?;
        Ok(())
    }

    pub(crate) fn terminate(&self) -> anyhow::Result<()> {
        self.signal(Signal::TERM)
    }

    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let id = self.child.id().context("the gateway is gone already")?;
        let pid = Pid::from_raw(i32::try_from(id)?).context("no process id")?;
        kill_process(pid, signal).context("the gateway can't be signalled")
    }

    /// SIGTERM, and the end in good order that follows.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        self.terminate()?;
        let ended = self.end(PATIENCE).await?;
        if !ended.success() {
            bail!("the gateway ended with {ended} when asked to stop");
        }
        Ok(())
    }

    /// Waits until the log says something that it had said less often before.
    pub(crate) async fn says(&self, what: &str, before: usize) -> anyhow::Result<()> {
        let said = async {
            let mut beat = tokio::time::interval(Duration::from_millis(20));
            while count(&self.log, what) <= before {
                beat.tick().await;
            }
        };
        tokio::time::timeout(PATIENCE, said)
            .await
            .with_context(|| format!("the gateway never said '{what}'"))
    }

    pub(crate) fn said(&self, what: &str) -> usize {
        count(&self.log, what)
    }
}

fn count(log: &Path, what: &str) -> usize {
    let text = std::fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(&text).matches(what).count()
}

/// Whether a process died as by `kill -9`.
pub(crate) fn was_killed(ended: ExitStatus) -> bool {
    ended.signal() == Some(9)
}
