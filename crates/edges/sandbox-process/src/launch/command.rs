//! Runs a command and reaps what it leaves.

use std::io;
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::terminal::{self, Terminal};
use super::{Stop, gateway, report};
use crate::plan::Report;

/// What every command has; the owner's settings come on top.
const ENVIRONMENT: [(&str, &str); 5] = [
    (
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ),
    ("HOME", "/root"),
    ("USER", "root"),
    ("SHELL", "/bin/sh"),
    ("LANG", "C.UTF-8"),
];
/// What terminals like ours are called.
const TERMINAL: (&str, &str) = ("TERM", "xterm-256color");
/// Where programs look for a proxy.
const PROXY: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];
/// What they reach without one.
const NO_PROXY: [(&str, &str); 2] = [
    ("NO_PROXY", "localhost,127.0.0.1"),
    ("no_proxy", "localhost,127.0.0.1"),
];

/// The kernel's longest single argument (MAX_ARG_STRLEN), with its end mark.
const LONGEST: usize = 128 << 10;

/// What is to be run.
pub(super) struct Wanted {
    pub(super) command: String,
    pub(super) directory: String,
    pub(super) env: Vec<(String, String)>,
    /// The port of the egress proxy.
    pub(super) proxy: Option<u16>,
    /// Rows and columns.
    pub(super) terminal: Option<(u16, u16)>,
}

pub(super) fn run(wanted: Wanted, window: &gateway::Window) -> Result<i32, Stop> {
    if wanted.command.len() >= LONGEST {
        return Err(Stop::File(
            "the command is longer than 128 KB; write it to a file and run that".to_owned(),
        ));
    }
    if !std::fs::metadata(&wanted.directory).is_ok_and(|kind| kind.is_dir()) {
        return Err(Stop::File(format!(
            "no such folder in the sandbox ({})",
            wanted.directory
        )));
    }
    let failed =
        |source: io::Error| Stop::Failed(format!("the command could not be started: {source}"));
    let terminal = wanted.terminal.map(terminal::open).transpose()?;
    let child = command(&wanted, terminal.as_ref())
        .map_err(failed)?
        .spawn()
        .map_err(failed)?;
    let main = i32::try_from(child.id())
        .map(Pid::from_raw)
        .map_err(|_too_large| Stop::Failed("no such process".to_owned()))?;
    let said = match terminal {
        Some(terminal) => {
            let (outer, said) = terminal.carry().map_err(failed)?;
            // There is no other one.
            window.set(outer).unwrap_or_default();
            Some(said)
        }
        None => None,
    };
    report(&Report::Started);
    let code = reap(main)?;
    let left_running = matches!(
        waitpid(None, Some(WaitPidFlag::WNOHANG)),
        Ok(WaitStatus::StillAlive)
    );
    if let Some(said) = said {
        clear(said);
    }
    report(&Report::Ended { code, left_running });
    Ok(0)
}

fn command(wanted: &Wanted, terminal: Option<&Terminal>) -> io::Result<Command> {
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(&wanted.command)
        .current_dir(&wanted.directory)
        .env_clear()
        .envs(ENVIRONMENT);
    if let Some(port) = wanted.proxy {
        let proxy = format!("http://127.0.0.1:{port}");
        command
            .envs(PROXY.map(|name| (name, proxy.as_str())))
            .envs(NO_PROXY);
    }
    match terminal {
        Some(terminal) => command
            .envs([TERMINAL])
            .stdin(terminal.stream()?)
            .stdout(terminal.stream()?)
            .stderr(terminal.stream()?),
        None => {
            let output =
                || -> io::Result<Stdio> { Ok(io::stdout().as_fd().try_clone_to_owned()?.into()) };
            command
                .stdin(Stdio::inherit())
                .stdout(output()?)
                .stderr(output()?)
        }
    };
    command.envs(wanted.env.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// Waits for the command, and buries every orphan meanwhile: this is process 1.
fn reap(main: Pid) -> Result<i32, Stop> {
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == main => return Ok(code),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == main => {
                return Ok(128 + signal as i32);
            }
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(Stop::Failed(format!("the command got lost: {error}"))),
        }
    }
}

/// Ends all who still sit at the terminal, and lets what was said last be told.
fn clear(said: JoinHandle<()>) {
    // To all but itself; there may be nobody.
    kill(Pid::from_raw(-1), Signal::SIGKILL).unwrap_or_default();
    while !matches!(waitpid(None, None), Err(nix::Error::ECHILD)) {}
    said.join().unwrap_or_default();
}
