//! The first stage: enters the namespaces and starts the second.

use std::fs;
use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, unshare};

use super::{INNER, Stop, Unbuffered};
use crate::plan::{Outer, unframe};

pub(super) fn run(arguments: &[String]) -> Result<i32, Stop> {
    close_strangers();
    let plan: Outer = unframe(&mut Unbuffered)
        .map_err(|source| Stop::Failed(format!("no plan for the sandbox: {source}")))?;
    // An ordinary user may not drop its groups; they give nothing inside, where only shown folders exist.
    nix::unistd::setgroups(&[]).unwrap_or_default();
    enter(plan.host_network)?;
    // Process 1 ends with this one, and watches the gateway itself; here is nothing to do but to wait for it.
    let status = Command::new("/proc/self/exe")
        .args(arguments)
        .arg(INNER)
        .env_clear()
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .status()
        .map_err(Stop::floor("process namespace"))?;
    Ok(status.code().unwrap_or(125))
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
