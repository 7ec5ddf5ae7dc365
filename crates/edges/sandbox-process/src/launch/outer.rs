//! The first stage: enters the namespaces, starts the second, and ends it when the gateway is gone.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{INNER, Stop, Unbuffered};
use crate::plan::{Outer, unframe};

pub(super) fn run(arguments: &[String]) -> Result<i32, Stop> {
    close_strangers();
    let plan: Outer = unframe(&mut Unbuffered)
        .map_err(|source| Stop::Failed(format!("no plan for the sandbox: {source}")))?;
    // An ordinary user may not drop its groups; they give nothing inside, where only shown folders exist.
    nix::unistd::setgroups(&[]).unwrap_or_default();
    enter(plan.host_network)?;
    let child = Command::new("/proc/self/exe")
        .args(arguments)
        .arg(INNER)
        .env_clear()
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(Stop::floor("process namespace"))?;
    wait(child)
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

/// Waits for process 1; standard error tells by its broken other end that the gateway is gone. This process's own end is the
/// end of process 1.
fn wait(mut child: Child) -> Result<i32, Stop> {
    let failed = |source: io::Error| Stop::Failed(format!("the sandbox got lost: {source}"));
    let handle = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    if let Some(handle) = handle {
        let gateway = io::stderr();
        loop {
            let mut watched = [
                PollFd::new(&handle, PollFlags::IN),
                PollFd::from_borrowed_fd(gateway.as_fd(), PollFlags::empty()),
            ];
            match poll(&mut watched, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed(error.into())),
            }
            let [done, gone] = watched;
            if !done.revents().is_empty() {
                break;
            }
            if !gone.revents().is_empty() {
                child.kill().map_err(failed)?;
                break;
            }
        }
    }
    let status = child.wait().map_err(failed)?;
    Ok(status.code().unwrap_or(125))
}
