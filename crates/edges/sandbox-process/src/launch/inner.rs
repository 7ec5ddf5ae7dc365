//! The second stage, process 1 of its namespaces: builds the walls from the inside, gives up every right, does the work.

use rustix::process::{DumpableBehavior, Signal};

use super::{
    Stop, Unbuffered, capture, command, egress, files, gateway, limits, loopback, mounts, proc,
    report, walls,
};
use crate::Protections;
use crate::plan::{Inner, Report, Work, unframe};

/// What the folders are called that commands may write to.
pub(super) const TEMPORARY: &str = "/tmp";

pub(super) fn run() -> Result<i32, Stop> {
    let failed = |what: &str, error: rustix::io::Errno| Stop::Failed(format!("{what}: {error}"));
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| failed("the sandbox can't be tied to the gateway", error))?;
    let window = gateway::watch()?;
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
    let proxy = network(&plan)?;
    if matches!(plan.work, Work::ClearTemporary) {
        // Before the rights go: what a command made unreadable must go too.
        files::clear(TEMPORARY);
    }
    standing.process_limit |= limits::set(&plan, standing.runs_as_root)?;
    walls::raise(&plan, &mut standing)?;
    work(plan, standing, proxy, &window)
}

/// Turns the loopback on, and hands a listener over if one is wanted; says on which port it listens.
fn network(plan: &Inner) -> Result<Option<u16>, Stop> {
    let is_up = plan.host_network || loopback::up().is_ok();
    let wanted = matches!(plan.work, Work::Exec { egress: true, .. });
    if wanted && is_up {
        return egress::hand_over().map(Some);
    }
    if wanted {
        return Err(Stop::Failed(
            "the sandbox has no loopback on this machine, so its egress proxy can't be reached"
                .to_owned(),
        ));
    }
    // Without it, programs that talk to themselves over 127.0.0.1 fail; nothing else depends on it.
    Ok(None)
}

fn work(
    plan: Inner,
    standing: Protections,
    proxy: Option<u16>,
    window: &gateway::Window,
) -> Result<i32, Stop> {
    let done = match plan.work {
        Work::Probe => Report::Standing(standing),
        Work::ClearTemporary => Report::Cleared,
        Work::Exec {
            command,
            directory,
            env,
            terminal,
            egress: _,
        } => {
            let wanted = command::Wanted {
                command,
                directory,
                env,
                proxy,
                terminal,
            };
            return command::run(wanted, window);
        }
        Work::Read {
            path,
            offset,
            most,
            device,
        } => match files::read(&path, offset, most, device)? {
            Some(done) => done,
            // It went with the file.
            None => return Ok(0),
        },
        Work::Write {
            path,
            length,
            create_new,
        } => files::write(&path, length, create_new)?,
        Work::List { path, most } => files::list(&path, most)?,
        Work::Capture {
            path,
            limit,
            device,
            secret,
        } => {
            let wanted = capture::Wanted {
                path,
                limit,
                device,
                secret,
            };
            match capture::run(&wanted, &plan.binds)? {
                Some(done) => done,
                // It went with the file.
                None => return Ok(0),
            }
        }
    };
    report(&done);
    Ok(0)
}

/// Who the sandbox's user 0 is on the machine.
fn outside_user() -> Option<u32> {
    let map = std::fs::read_to_string("/proc/self/uid_map").ok()?;
    map.split_whitespace().nth(1)?.parse().ok()
}
