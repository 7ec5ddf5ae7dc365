//! The first stage: enters the namespaces and starts the second.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{INNER, Stop, Unbuffered};
use crate::plan::{Outer, unframe};

pub(super) fn run(arguments: &[String]) -> Result<i32, Stop> {
    close_strangers();
    let plan: Outer = unframe(&mut Unbuffered)
        .map_err(|source| Stop::Failed(format!("no plan for the sandbox: {source}")))?;
    // An ordinary user may not drop its groups; they give nothing inside, where only shown folders exist.
    nix::unistd::setgroups(&[]).unwrap_or_default();
    enter(plan.host_network)?;
    let mut inner = Command::new("/proc/self/exe")
        .args(arguments)
        .arg(INNER)
        .env_clear()
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(Stop::floor("process namespace"))?;
    watch(&inner)?;
    // The kernel tells of process 1's end only when all in its namespace have ended: whoever sees this stage end knows it too.
    let status = inner.wait().map_err(Stop::floor("process namespace"))?;
    Ok(status.code().unwrap_or(125))
}

/// Returns when process 1 has ended, and kills it if the gateway goes, or wants that, first.
fn watch(inner: &Child) -> Result<(), Stop> {
    let failed = |error: rustix::io::Errno| {
        Stop::Failed(format!(
            "the sandbox's first process can't be watched: {error}"
        ))
    };
    let process = pidfd_open(Pid::from_child(inner), PidfdFlags::empty()).map_err(failed)?;
    let gateway = io::stderr();
    loop {
        let mut watched = [
            PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(gateway.as_fd(), PollFlags::empty()),
        ];
        match poll(&mut watched, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(failed(error)),
        }
        let [process_tells, gateway_tells] = &watched;
        if !process_tells.revents().is_empty() {
            return Ok(());
        }
        if !gateway_tells.revents().is_empty() {
            return pidfd_send_signal(&process, Signal::KILL).map_err(failed);
        }
    }
}

/// Whatever the gateway was started with and forgot to close must not reach a command.
fn close_strangers() {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else {
        return;
    };
    let open: Vec<i32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    for number in open {
        // The folder's own descriptor is among them and closed by now.
        nix::unistd::close(number).unwrap_or_default();
    }
}

fn enter(host_network: bool) -> Result<(), Stop> {
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP;
    if !host_network {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags).map_err(Stop::floor("user namespace"))?;
    let map = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).map_err(Stop::floor("user namespace"))
    };
    map("setgroups", "deny".to_owned())?;
    map("uid_map", format!("0 {user} 1"))?;
    map("gid_map", format!("0 {group} 1"))
}
