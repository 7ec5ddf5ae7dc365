//! A running gateway under measurement.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tempfile::TempDir;
use testkit::http::Ask;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new(config: &str) -> anyhow::Result<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        let home = Self(tempfile::tempdir()?);
        std::fs::create_dir(home.path())?;
        std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o700))?;
        std::fs::write(home.path().join("tidings.toml"), config)?;
        Ok(home)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("home")
    }
}

pub(crate) struct Gateway {
    child: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// From the start of the process to its first answer.
    pub(crate) took: Duration,
}

impl Gateway {
    pub(crate) async fn start(
        binary: &Path,
        home: &Home,
        environment: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let began = Instant::now();
        let mut child = Command::new(binary)
            .args(["up", "--json", "--listen", "127.0.0.1:0", "--home"])
            .arg(home.path())
            .env("TIDINGS_LOG", "warn")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("the binary can't be started")?;
        let out = child.stdout.take().context("no standard output")?;
        let line =
            tokio::time::timeout(PATIENCE, BufReader::new(out).lines().next_line()).await??;
        let summary: serde_json::Value = serde_json::from_str(&line.context("it ended at once")?)?;
        let address: SocketAddr = summary["address"].as_str().context("no address")?.parse()?;
        let answer = Ask::get("/health").send(address).await?;
        anyhow::ensure!(answer.status == 200, "it is not healthy");
        Ok(Self {
            child,
            address,
            took: began.elapsed(),
        })
    }

    /// Memory that is really there, in bytes.
    pub(crate) fn memory(&self) -> anyhow::Result<u64> {
        self.status("VmRSS:")
    }

    /// The most that it was since [`Self::forget_peak`], in bytes.
    pub(crate) fn peak(&self) -> anyhow::Result<u64> {
        self.status("VmHWM:")
    }

    /// Begins to look for the peak anew (`proc(5)`, `clear_refs` 5).
    pub(crate) fn forget_peak(&self) -> anyhow::Result<()> {
        let pid = self.child.id().context("it has ended")?;
        std::fs::write(format!("/proc/{pid}/clear_refs"), "5")
            .context("the peak of memory can't be forgotten")
    }

    fn status(&self, what: &str) -> anyhow::Result<u64> {
        let pid = self.child.id().context("it has ended")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(what))
            .with_context(|| format!("no {what}"))?;
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kilobytes * 1024)
    }

    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("it can't be stopped")
    }
}
