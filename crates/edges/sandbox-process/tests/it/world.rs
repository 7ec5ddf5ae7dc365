//! A gateway's home in a temporary folder, and a driver over it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use conformance::sandbox::SandboxWorld;
use sandbox::{Driver, Limits, Network, SandboxPort, SandboxSpec};
use sandbox_folders::{Folders, HostPath};
use tempfile::TempDir;
use tidings_sandbox_process::{Options, ProcessSandbox};

/// The launcher of this crate.
pub(crate) const LAUNCHER: &str = env!("CARGO_BIN_EXE_tidings-sandbox-launcher");

pub(crate) struct World {
    home: TempDir,
    driver: Arc<ProcessSandbox>,
}

/// A driver over a home, started by a command line.
pub(crate) fn driver(home: &Path, launcher: &[&str]) -> ProcessSandbox {
    ProcessSandbox::new(Options {
        launcher: launcher.iter().map(|&part| part.to_owned()).collect(),
        folders: Folders::new(HostPath::new(home.join("profiles"))),
    })
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
