//! What the tests need from the machine: a Docker engine that answers, Chromium and its driver, strace, an SSH server, bubblewrap.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// Programs, and the Debian package that has each.
const PROGRAMS: [(&str, &str); 7] = [
    ("dockerd", "docker.io"),
    ("chromium", "chromium"),
    ("curl", "curl"),
    ("chromedriver", "chromium-driver"),
    ("strace", "strace"),
    ("sshd", "openssh-server"),
    ("bwrap", "bubblewrap"),
];

/// Longest that an engine may take to answer after it was started.
const ENGINE: Duration = Duration::from_secs(60);

/// An engine that was started here and ends with the tests.
pub(crate) struct Engine(Option<Child>);

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // SIGTERM, so that it takes its containers along.
            let told = Command::new("kill").arg(child.id().to_string()).status();
            if told.is_ok_and(|status| status.success())
                && let Err(error) = child.wait()
            {
                eprintln!("xtask: the Docker engine's end could not be waited for: {error}");
            }
        }
    }
}

/// Installs what is missing where that is possible, and starts an engine if none answers.
pub(crate) fn machine() -> anyhow::Result<Engine> {
    install()?;
    engine()
}

pub(crate) fn found(program: &str) -> bool {
    [
        "/usr/bin",
        "/usr/sbin",
        "/usr/local/bin",
        "/usr/local/sbin",
        "/bin",
        "/sbin",
    ]
    .iter()
    .any(|folder| Path::new(folder).join(program).exists())
}

fn is_root() -> bool {
    Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn install() -> anyhow::Result<()> {
    let missing: Vec<&str> = PROGRAMS
        .iter()
        .filter(|(program, _)| !found(program))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let by_hand = format!(
        "apt-get install -y --no-install-recommends {}",
        missing.join(" ")
    );
    if !is_root() {
        bail!("the tests need {}; as root: {by_hand}", missing.join(", "));
    }
    if !found("apt-get") {
        bail!(
            "the tests need {}; this machine has no apt-get to install them with",
            missing.join(", ")
        );
    }
    println!("── installing {}", missing.join(", "));
    let apt = |arguments: &[&str]| -> anyhow::Result<()> {
        let status = Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .context("apt-get can't be run")?;
        if status.success() {
            Ok(())
        } else {
            bail!("apt-get {} failed", arguments.join(" "))
        }
    };
    apt(&["update"])?;
    let mut arguments = vec!["install", "-y", "--no-install-recommends"];
    arguments.extend(&missing);
    apt(&arguments)
}

fn answers() -> bool {
    Command::new("docker")
        .arg("version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn engine() -> anyhow::Result<Engine> {
    if answers() {
        return Ok(Engine(None));
    }
    if !is_root() {
        bail!(
            "no Docker engine answers; as root: systemctl start docker (or dockerd &), and add yourself to the group docker"
        );
    }
    println!("── starting a Docker engine");
    let log = std::env::temp_dir().join("tidings-test-dockerd.log");
    let file = std::fs::File::create(&log)
        .with_context(|| format!("{} can't be written", log.display()))?;
    let child = Command::new("dockerd")
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .spawn()
        .context("dockerd can't be started")?;
    let mut engine = Engine(Some(child));
    let deadline = Instant::now() + ENGINE;
    while Instant::now() < deadline {
        if answers() {
            return Ok(engine);
        }
        if let Some(child) = &mut engine.0
            && let Some(status) = child.try_wait()?
        {
            bail!("dockerd ended with {status}; its log is {}", log.display());
        }
        pause();
    }
    bail!(
        "dockerd did not answer within {} s; its log is {}",
        ENGINE.as_secs(),
        log.display()
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "a chore that polls a foreign program has no event to wait for"
)]
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(200));
}
