//! Bounds that the kernel keeps for each process.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::{Stop, proc};
use crate::plan::Inner;

const OPEN_FILES: u64 = 4096;
/// How far commands stand behind in the line for the processor.
const NICE: i32 = 5;
/// The kernel from which on processes are counted by user namespace. Before, those of the gateway's user count too, and the
/// bound would fall on it.
const COUNTED_APART: (u32, u32) = (5, 14);

/// Process 1's own: it watches the gateway, and carries what goes in and out of a terminal.
const THREADS: u64 = 4;

/// Sets them; says whether the number of processes is bounded by them. The machine's root is never bounded that way.
pub(super) fn set(plan: &Inner, runs_as_root: bool) -> Result<bool, Stop> {
    bound(Resource::RLIMIT_CORE, 0)?;
    bound(Resource::RLIMIT_NOFILE, OPEN_FILES)?;
    if let Some(memory) = plan.memory {
        // Not the address space: runtimes reserve many times what they ever touch.
        bound(Resource::RLIMIT_DATA, memory)?;
    }
    let counted = proc::kernel() >= Some(COUNTED_APART);
    if counted {
        // Process 1 and its threads are among them.
        bound(Resource::RLIMIT_NPROC, u64::from(plan.pids) + THREADS)?;
    }
    // Where memory or time grow short, the gateway comes first. A kernel that refuses keeps its own order.
    std::fs::write("/proc/self/oom_score_adj", "1000").unwrap_or_default();
    rustix::process::setpriority_process(None, NICE).unwrap_or_default();
    Ok(counted && !runs_as_root)
}

fn bound(what: Resource, most: u64) -> Result<(), Stop> {
    let failed =
        |error: nix::Error| Stop::Failed(format!("the sandbox's bounds can't be set: {error}"));
    let (_, hard) = getrlimit(what).map_err(failed)?;
    let most = most.min(hard);
    setrlimit(what, most, most).map_err(failed)
}
