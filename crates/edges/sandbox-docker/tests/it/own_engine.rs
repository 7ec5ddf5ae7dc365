//! An engine of a test's own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// What an engine sees of this machine's files.
pub(crate) enum Sight {
    /// All of them; it listens on a socket.
    Whole,
    /// All but what lies in this folder, as an engine on another machine, or around the gateway's container; it listens on a port.
    Without(PathBuf),
}

/// An engine of this test's own, which may be killed.
pub(crate) struct OwnEngine {
    folder: TempDir,
    daemon: Child,
    sight: Sight,
    host: String,
}

impl OwnEngine {
    /// Where it listens.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    fn launch(folder: &Path, sight: &Sight, host: &str) -> std::io::Result<Child> {
        let place = |name: &str| format!("{}/{name}", folder.display());
        let log = std::fs::File::create(folder.join("log"))?;
        let mut command = match sight {
            Sight::Whole => Command::new("dockerd"),
            Sight::Without(hidden) => {
                let mut command = Command::new("unshare");
                let hide = "mount -t tmpfs tidings-test \"$0\" && exec dockerd \"$@\"";
                command.args(["--mount", "--propagation", "private", "sh", "-c", hide]);
                command.arg(hidden).arg("--tls=false");
                command
            }
        };
        command
            .args([
                "--bridge=none",
                "--iptables=false",
                "--ip-forward=false",
                "--ip-masq=false",
            ])
            .args(["--data-root", &place("data"), "--exec-root", &place("exec")])
            .args(["--pidfile", &place("pid"), "--host", host])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
    }

    /// `None`, and why, where this machine does not let a second engine run.
    pub(crate) async fn start(sight: Sight) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let host = match sight {
            Sight::Whole => format!("unix://{}/docker.sock", folder.path().display()),
            Sight::Without(_) => {
                let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
                format!("tcp://{}", free.local_addr().unwrap())
            }
        };
        let daemon = match Self::launch(folder.path(), &sight, &host) {
            Ok(daemon) => daemon,
            Err(error) => {
                println!("skipped: no engine of its own ({error})");
                return None;
            }
        };
        let mut engine = Self {
            folder,
            daemon,
            sight,
            host,
        };
        if !engine.answers().await {
            let log = engine.log();
            println!("skipped: an engine of its own does not start here:\n{log}");
            return None;
        }
        let load = format!(
            "docker save tidings-test:1 | docker --host {0} load && \
             {{ docker --host {0} tag localhost/tidings-test:1 tidings-test:1 2>/dev/null || true; }}",
            engine.host()
        );
        assert!(
            Command::new("sh")
                .args(["-c", &load])
                .stdout(Stdio::null())
                .status()
                .unwrap()
                .success()
        );
        Some(engine)
    }

    pub(crate) async fn answers(&mut self) -> bool {
        for _ in 0..300 {
            if self.daemon.try_wait().unwrap().is_some() {
                return false;
            }
            let said = Command::new("docker")
                .args(["--host", self.host(), "info"])
                .output()
                .unwrap();
            if said.status.success() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        false
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    pub(crate) fn kill(&mut self) {
        self.daemon.kill().unwrap();
        self.daemon.wait().unwrap();
    }

    pub(crate) fn again(&mut self) {
        // What it had started died with it; where nobody buries the dead, the next one would wait for it for ever.
        let pid = self.folder.path().join("exec/containerd/containerd.pid");
        std::fs::remove_file(pid).unwrap_or_default();
        self.daemon = Self::launch(self.folder.path(), &self.sight, &self.host).unwrap();
    }

    fn end(pid: &str) {
        Command::new("kill")
            .args(["-TERM", pid])
            .stderr(Stdio::null())
            .status()
            .unwrap();
    }
}

impl Drop for OwnEngine {
    fn drop(&mut self) {
        let all = format!(
            "docker --host {0} ps -aq | xargs -r docker --host {0} rm -f",
            self.host()
        );
        Command::new("sh")
            .args(["-c", &all])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        Self::end(&self.daemon.id().to_string());
        self.daemon.wait().unwrap();
        // If it was killed once, what it had started may have outlived it.
        let pid = self.folder.path().join("exec/containerd/containerd.pid");
        if let Ok(pid) = std::fs::read_to_string(pid) {
            Self::end(pid.trim());
        }
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let inside = self.folder.path().to_str().unwrap();
        for place in mounts.lines().filter_map(|line| line.split(' ').nth(1)) {
            if place.starts_with(inside) {
                Command::new("umount")
                    .args(["--lazy", place])
                    .status()
                    .unwrap();
            }
        }
    }
}
