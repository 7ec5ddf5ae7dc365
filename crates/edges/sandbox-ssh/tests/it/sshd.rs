//! A private sshd on a loopback port, run by the current user, with keys of its own.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sandbox::Remote;
use tempfile::TempDir;
use waybill::Secret;

const PROGRAM: &str = "/usr/sbin/sshd";

pub(crate) struct Sshd {
    folder: TempDir,
    more: String,
    port: u16,
    child: Child,
}

/// Ends the test if this machine has no sshd; says so.
fn require() {
    if !Path::new(PROGRAM).exists() {
        println!("skipped: this machine has no {PROGRAM} (Debian: openssh-server)");
        std::process::exit(0);
    }
}

pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let said = Command::new(program).args(arguments).output().unwrap();
    assert!(
        said.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&said.stderr)
    );
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

impl Sshd {
    /// Starts one; `more` are lines for its configuration.
    pub(crate) fn start(more: &str) -> Self {
        require();
        let folder = tempfile::tempdir().unwrap();
        for name in ["host", "user"] {
            make_key(&folder.path().join(name), "ed25519");
        }
        fs::copy(
            folder.path().join("user.pub"),
            folder.path().join("authorized"),
        )
        .unwrap();
        // As root it insists on a folder to lock its unprivileged half into.
        fs::create_dir_all("/run/sshd").unwrap_or_default();
        let port = free_port();
        let child = serve(folder.path(), port, more);
        let sshd = Self {
            folder,
            more: more.to_owned(),
            port,
            child,
        };
        sshd.until_it_answers();
        sshd
    }

    fn until_it_answers(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(
                Instant::now() < deadline,
                "sshd does not answer: {}",
                fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
            );
            std::thread::yield_now();
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The way to it, with its sandboxes in a folder of its own.
    pub(crate) fn remote(&self) -> Remote {
        Remote {
            host: "127.0.0.1".to_owned(),
            port: self.port,
            user: run("id", &["-un"]),
            key: Secret::new(self.read("user")),
            host_key: self.read("host.pub"),
            folder: self.path("boxes").to_str().unwrap().to_owned(),
        }
    }

    /// Kills the processes that serve connections, as a restart of the machine or a broken line would.
    pub(crate) fn cut(&self) {
        let mut cut = 0;
        for pid in children(self.child.id()) {
            run("kill", &["-KILL", &pid]);
            cut += 1;
        }
        assert!(cut > 0, "there was no connection to cut");
    }

    /// How many connections it serves.
    pub(crate) fn connections(&self) -> usize {
        children(self.child.id()).len()
    }

    /// Another host key, as after the machine was set up anew; or another machine.
    pub(crate) fn change_host_key(&mut self) {
        self.stop();
        for name in ["host", "host.pub"] {
            fs::remove_file(self.path(name)).unwrap();
        }
        make_key(&self.path("host"), "ed25519");
        self.child = serve(self.folder.path(), self.port, &self.more);
        self.until_it_answers();
    }

    pub(crate) fn stop(&mut self) {
        for pid in children(self.child.id()) {
            // It may end by itself meanwhile.
            drop(
                Command::new("kill")
                    .args(["-KILL", &pid])
                    .stderr(Stdio::null())
                    .status(),
            );
        }
        self.child.kill().unwrap_or_default();
        self.child.wait().unwrap();
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(crate) fn make_key(at: &Path, kind: &str) {
    run(
        "ssh-keygen",
        &[
            "-q",
            "-t",
            kind,
            "-N",
            "",
            "-C",
            "",
            "-f",
            at.to_str().unwrap(),
        ],
    );
}

fn children(pid: u32) -> Vec<String> {
    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

fn serve(folder: &Path, port: u16, more: &str) -> Child {
    let at = |name: &str| folder.join(name).display().to_string();
    fs::set_permissions(folder.join("host"), fs::Permissions::from_mode(0o600)).unwrap();
    let text = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nMaxStartups 200\n\
         UseDNS no\nPrintMotd no\n{more}\n",
        at("host"),
        at("authorized")
    );
    fs::write(folder.join("config"), text).unwrap();
    Command::new(PROGRAM)
        .args(["-D", "-E", &at("log"), "-f", &at("config")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}
