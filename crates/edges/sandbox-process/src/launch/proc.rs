//! What of `/proc` is set for the sandbox, and what is closed: a sandbox's user may be root's number outside, and then the
//! kernel's own switches would ask nobody.

use std::fs;
use std::path::Path;

use super::Stop;
use super::mounts::{bind, memory, read_only};

/// Folders of switches: readable, closed against writing.
const SWITCHES: [&str; 4] = ["/proc/sys", "/proc/bus", "/proc/fs", "/proc/irq"];
/// Files that tell about the machine, or make it do something.
const HIDDEN_FILES: [&str; 9] = [
    "/proc/kcore",
    "/proc/keys",
    "/proc/key-users",
    "/proc/kmsg",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/vmallocinfo",
];
/// Folders likewise.
const HIDDEN_FOLDERS: [&str; 3] = ["/proc/acpi", "/proc/scsi", "/proc/driver"];

/// The kernel from which on the highest process number belongs to the namespace. Before, it was the machine's.
const OWN_PROCESS_NUMBERS: (u32, u32) = (6, 14);
/// Numbers below are given once only (the kernel's `RESERVED_PIDS`).
const RESERVED: u32 = 300;

/// Says whether the kernel will refuse namespaces inside this one. The setting belongs to the namespace.
pub(super) fn forbid_nested_namespaces() -> bool {
    fs::write("/proc/sys/user/max_user_namespaces", "0").is_ok()
}

/// Bounds the processes by bounding their numbers; says whether it could.
pub(super) fn limit_processes(most: u32) -> bool {
    kernel() >= Some(OWN_PROCESS_NUMBERS)
        && fs::write(
            "/proc/sys/kernel/pid_max",
            (RESERVED + most.max(1)).to_string(),
        )
        .is_ok()
}

/// The kernel's version.
pub(super) fn kernel() -> Option<(u32, u32)> {
    let system = rustix::system::uname();
    let mut numbers = system.release().to_str().ok()?.split(['.', '-', '+']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

pub(super) fn close() -> Result<(), Stop> {
    let floor = Stop::floor::<nix::Error>;
    for folder in SWITCHES {
        if Path::new(folder).exists() {
            bind(folder, folder).map_err(floor("closed /proc"))?;
            still_quiet(folder)?;
        }
    }
    for file in HIDDEN_FILES {
        if Path::new(file).exists() {
            // As closed as the one that it shows.
            bind("/dev/null", file).map_err(floor("closed /proc"))?;
        }
    }
    for folder in HIDDEN_FOLDERS {
        if Path::new(folder).exists() {
            memory(folder, "mode=0555,size=4k")?;
            read_only(folder)?;
        }
    }
    Ok(())
}

fn still_quiet(at: &str) -> Result<(), Stop> {
    use nix::mount::{MsFlags, mount};
    let flags = MsFlags::MS_BIND
        | MsFlags::MS_REMOUNT
        | MsFlags::MS_RDONLY
        | MsFlags::MS_NOSUID
        | MsFlags::MS_NODEV
        | MsFlags::MS_NOEXEC;
    mount(None::<&str>, at, None::<&str>, flags, None::<&str>).map_err(Stop::floor("closed /proc"))
}
