//! The second stage, process 1 of its namespaces: builds the walls from the inside, gives up every right, does the work.

use rustix::process::{DumpableBehavior, Signal};

use super::{
    Stop, Unbuffered, capture, command, files, limits, loopback, mounts, proc, report, walls,
};
use crate::Protections;
use crate::plan::{Inner, Report, Work, unframe};

/// What the folders are called that commands may write to.
pub(super) const TEMPORARY: &str = "/tmp";

pub(super) fn run() -> Result<i32, Stop> {
    let failed = |what: &str, error: rustix::io::Errno| Stop::Failed(format!("{what}: {error}"));
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| failed("the sandbox can't be tied to the gateway", error))?;
    watch_gateway()?;
    // Commands run as the same user; they must not look into this process, which knows the plan and speaks to the driver.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| failed("the sandbox's first process can't be hidden", error))?;
    rustix::process::setsid().map_err(|error| failed("no session of its own", error))?;

    let plan: Inner = unframe(&mut Unbuffered)
        .map_err(|source| Stop::Failed(format!("no plan for the sandbox: {source}")))?;
    let mut standing = Protections {
        user_namespace: true,
        process_namespace: true,
        ipc_namespace: true,
        cgroup_namespace: true,
        network_namespace: !plan.host_network,
        runs_as_root: outside_user() == Some(0),
        ..Protections::default()
    };
    standing.host_name_namespace = nix::unistd::sethostname("sandbox").is_ok();
    mounts::build(&plan, |proc_standing| {
        standing.no_nested_namespaces = proc::forbid_nested_namespaces();
        standing.process_limit = proc::limit_processes(plan.pids);
        proc_standing()
    })?;
    standing.mount_namespace = true;
    if !plan.host_network {
        // Without it, programs that talk to themselves over 127.0.0.1 fail; nothing else depends on it.
        loopback::up().unwrap_or_default();
    }
    if matches!(plan.work, Work::ClearTemporary) {
        // Before the rights go: what a command made unreadable must go too.
        files::clear(TEMPORARY);
    }
    standing.process_limit |= limits::set(&plan, standing.runs_as_root)?;
    walls::raise(&plan, &mut standing)?;
    work(plan, standing)
}

fn work(plan: Inner, standing: Protections) -> Result<i32, Stop> {
    let done = match plan.work {
        Work::Probe => Report::Standing(standing),
        Work::ClearTemporary => Report::Cleared,
        Work::Exec {
            command,
            directory,
            env,
        } => return command::run(&command, &directory, env),
        Work::Read { path, offset, most } => files::read(&path, offset, most)?,
        Work::Write {
            path,
            length,
            create_new,
        } => files::write(&path, length, create_new)?,
        Work::List { path, most } => files::list(&path, most)?,
        Work::Capture {
            path,
            limit,
            secret,
        } => capture::run(&path, limit, &secret, &plan.binds)?,
    };
    report(&done);
    Ok(0)
}

/// Ends all if the gateway goes: then nobody holds the other end of standard error.
fn watch_gateway() -> Result<(), Stop> {
    use std::os::fd::AsFd as _;

    use rustix::event::{PollFd, PollFlags, poll};

    std::thread::Builder::new()
        .stack_size(64 << 10)
        .spawn(|| {
            let gateway = std::io::stderr();
            loop {
                let mut watched = [PollFd::from_borrowed_fd(
                    gateway.as_fd(),
                    PollFlags::empty(),
                )];
                if poll(&mut watched, None) != Err(rustix::io::Errno::INTR) {
                    std::process::exit(125);
                }
            }
        })
        .map(drop)
        .map_err(|source| Stop::Failed(format!("the gateway can't be watched: {source}")))
}

/// Who the sandbox's user 0 is on the machine.
fn outside_user() -> Option<u32> {
    let map = std::fs::read_to_string("/proc/self/uid_map").ok()?;
    map.split_whitespace().nth(1)?.parse().ok()
}
