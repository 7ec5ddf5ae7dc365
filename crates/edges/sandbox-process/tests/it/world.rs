//! A gateway's home in a temporary folder, and a driver over it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use conformance::sandbox::SandboxWorld;
use conformance::sandbox::bench::{PATIENCE, path};
use sandbox::{Driver, Limits, Network, Running, SandboxPath, SandboxPort, SandboxSpec, Start};
use sandbox_folders::{Folders, HostPath};
use tempfile::TempDir;
use tidings_sandbox_process::{Egress, Options, ProcessSandbox};

/// The launcher of this crate.
pub(crate) const LAUNCHER: &str = env!("CARGO_BIN_EXE_tidings-sandbox-launcher");

pub(crate) struct World {
    home: TempDir,
    driver: Arc<ProcessSandbox>,
}

/// A driver over a home, started by a command line.
pub(crate) fn driver(home: &Path, launcher: &[&str]) -> ProcessSandbox {
    driver_with(home, launcher, None)
}

/// The same with a way out.
pub(crate) fn driver_with(
    home: &Path,
    launcher: &[&str],
    egress: Option<Arc<dyn Egress>>,
) -> ProcessSandbox {
    ProcessSandbox::new(Options {
        launcher: launcher.iter().map(|&part| part.to_owned()).collect(),
        folders: Folders::new(HostPath::new(home.join("profiles"))),
        egress,
        beside: false,
    })
}

/// A command in `/workspace` to stay with.
pub(crate) fn start(command: &str) -> Start {
    Start {
        command: command.to_owned(),
        directory: path(SandboxPath::WORKSPACE),
        env: BTreeMap::new(),
        terminal: None,
    }
}

/// All that a command says until it ends, or until it has said something.
pub(crate) async fn heard(running: &mut dyn Running, until: Option<&str>) -> String {
    let mut said = Vec::new();
    let hearing = async {
        while let Some(piece) = running.output().await.unwrap() {
            said.extend_from_slice(&piece);
            let text = String::from_utf8_lossy(&said);
            if until.is_some_and(|until| text.contains(until)) {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, hearing)
        .await
        .unwrap_or_else(|_late| panic!("waited for {until:?}"));
    String::from_utf8_lossy(&said).into_owned()
}

/// Command lines on this machine that hold a mark.
pub(crate) fn marked(mark: &str) -> usize {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(mark))
        .count()
}

/// What sandboxes are made of in these tests.
pub(crate) fn spec() -> SandboxSpec {
    SandboxSpec {
        driver: Driver::Process,
        image: String::new(),
        mounts: Vec::new(),
        env: BTreeMap::new(),
        secret_env: BTreeMap::new(),
        network: Network::None,
        allow: Vec::new(),
        remote: None,
        limits: Limits::default(),
    }
}

#[async_trait]
impl SandboxWorld for World {
    async fn build() -> Self {
        let home = tempfile::tempdir().unwrap();
        let driver = Arc::new(driver(home.path(), &[LAUNCHER]));
        Self { home, driver }
    }

    fn port(&self) -> Arc<dyn SandboxPort> {
        Arc::clone(&self.driver) as Arc<dyn SandboxPort>
    }

    fn restarted(&self) -> Arc<dyn SandboxPort> {
        Arc::new(driver(self.home.path(), &[LAUNCHER]))
    }

    fn spec(&self) -> SandboxSpec {
        spec()
    }

    fn home(&self) -> &Path {
        self.home.path()
    }
}

/// Whether the machine has the interpreter that some attacks are written for; says so if not.
pub(crate) fn has_python() -> bool {
    let there = Path::new("/usr/bin/python3").exists();
    if !there {
        println!("skipped: this machine has no /usr/bin/python3");
    }
    there
}
