//! A private sshd on a loopback port, and the usual client beside us.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use sandbox::Remote;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use waybill::Secret;

/// It insists on being called by its whole name.
const PROGRAM: &str = "/usr/sbin/sshd";
/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ends when it is dropped.
pub(super) struct Sshd {
    folder: tempfile::TempDir,
    port: u16,
    user: String,
    _child: Child,
}

impl Sshd {
    pub(super) async fn start() -> anyhow::Result<Self> {
        anyhow::ensure!(
            Path::new(PROGRAM).exists(),
            "there is no {PROGRAM} (Debian: openssh-server)"
        );
        let folder = tempfile::tempdir()?;
        for name in ["host", "user"] {
            let key = folder.path().join(name);
            said(
                Command::new("ssh-keygen")
                    .args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"])
                    .arg(key),
            )
            .await?;
        }
        // As root it wants a folder to lock its unprivileged half into.
        std::fs::create_dir_all("/run/sshd").unwrap_or_default();
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
             StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin prohibit-password\nUseDNS no\nPrintMotd no\n",
            at("host"),
            at("user.pub")
        );
        std::fs::write(folder.path().join("config"), config)?;
        let child = Command::new(PROGRAM)
            .args(["-D", "-E", &at("log"), "-f", &at("config")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .is_err()
        {
            anyhow::ensure!(began.elapsed() < PATIENCE, "sshd does not answer");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(Self {
            port,
            user: said(Command::new("id").arg("-un")).await?,
            folder,
            _child: child,
        })
    }

    /// The way to it, with its sandboxes in a folder of its own.
    pub(super) fn remote(&self) -> anyhow::Result<Remote> {
        let read = |name: &str| std::fs::read_to_string(self.folder.path().join(name));
        Ok(Remote {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: self.port,
            user: self.user.clone(),
            key: Secret::new(read("user")?),
            host_key: read("host.pub")?,
            folder: self.boxes().display().to_string(),
        })
    }

    fn boxes(&self) -> PathBuf {
        self.folder.path().join("boxes")
    }

    /// A shell's line there by the usual client, over a connection that stands, its output thrown away. `/workspace` is that
    /// of the profile `work`.
    pub(super) async fn run(&self, line: &str) -> anyhow::Result<Duration> {
        let workspace = self.boxes().join("work/profile.work/workspace");
        let line = line.replace("/workspace", &workspace.display().to_string());
        let folder = self.folder.path().display();
        let began = Instant::now();
        let status = Command::new("ssh")
            .args([
                "-F",
                "none",
                "-q",
                "-o",
                "StrictHostKeyChecking=no",
                "-o",
                "UserKnownHostsFile=/dev/null",
            ])
            .args(["-o", "ControlMaster=auto", "-o", "ControlPersist=60"])
            .args([
                "-o",
                &format!("ControlPath={folder}/shared"),
                "-i",
                &format!("{folder}/user"),
            ])
            .args([
                "-p",
                &self.port.to_string(),
                &format!("{}@127.0.0.1", self.user),
                &line,
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .await
            .context("the ssh command can't be run")?;
        anyhow::ensure!(status.success(), "ssh failed: '{line}'");
        Ok(began.elapsed())
    }
}

async fn said(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().await?;
    anyhow::ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
