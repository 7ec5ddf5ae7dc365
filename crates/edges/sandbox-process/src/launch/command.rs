//! Runs a command and reaps what it leaves.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Command, Stdio};

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::{Stop, report};
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

/// The kernel's longest single argument (MAX_ARG_STRLEN), with its end mark.
const LONGEST: usize = 128 << 10;

pub(super) fn run(command: &str, directory: &str, env: Vec<(String, String)>) -> Result<i32, Stop> {
    if command.len() >= LONGEST {
        return Err(Stop::File(
            "the command is longer than 128 KB; write it to a file and run that".to_owned(),
        ));
    }
    if !std::fs::metadata(directory).is_ok_and(|kind| kind.is_dir()) {
        return Err(Stop::File(format!(
            "no such folder in the sandbox ({directory})"
        )));
    }
    let failed =
        |source: io::Error| Stop::Failed(format!("the command could not be started: {source}"));
    let output = || -> io::Result<OwnedFd> { io::stdout().as_fd().try_clone_to_owned() };
    let child = Command::new("/bin/sh")
        .arg("-c")
        .arg(command)
        .current_dir(directory)
        .env_clear()
        .envs(ENVIRONMENT)
        .envs(env)
        .stdin(Stdio::inherit())
        .stdout(Stdio::from(output().map_err(failed)?))
        .stderr(Stdio::from(output().map_err(failed)?))
        .spawn()
        .map_err(failed)?;
    let main = i32::try_from(child.id())
        .map(Pid::from_raw)
        .map_err(|_too_large| Stop::Failed("no such process".to_owned()))?;
    let code = reap(main)?;
    let left_running = matches!(
        waitpid(None, Some(WaitPidFlag::WNOHANG)),
        Ok(WaitStatus::StillAlive)
    );
    report(&Report::Ended { code, left_running });
    Ok(0)
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
