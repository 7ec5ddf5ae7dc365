//! Control groups: bounds for all processes of a sandbox together, and the kernel's word on who ran out of memory.
//!
//! A sandbox that runs something has a group with its bounds; each run has a group below it, where the kernel counts whom it
//! killed. Groups are made only in trees that are the gateway's own: where it is root of all it sees, or where a service manager
//! gave it one (`Delegate=yes`). Everywhere else the bounds for each process stand alone.

mod places;
#[cfg(test)]
mod real;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use sandbox::{Limits, SandboxError, SandboxKey};

/// Names of groups: this, the gateway's process id, a number.
const PREFIX: &str = "tidings-sandbox-";
/// Processes and threads of the launcher's own in each run.
const LAUNCHER: u64 = 8;
/// A tenth of a second, in microseconds: the kernel's own default.
const PERIOD: u64 = 100_000;
/// How many groups one gateway has at once.
const MOST: u32 = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// What can be bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Memory,
    Processes,
    Processor,
}

impl Bound {
    /// The kernel's name of its controller.
    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "pids",
            Self::Processor => "cpu",
        }
    }
}

/// A tree of groups in which the gateway has a place.
#[derive(Debug)]
struct Hierarchy {
    version: Version,
    base: PathBuf,
    bounds: Vec<Bound>,
}

impl Hierarchy {
    /// Lets the groups below one have its bounds; version 1 does so by itself.
    fn hand_down(&self, group: &Path) -> io::Result<()> {
        if self.version == Version::One {
            return Ok(());
        }
        let names: Vec<String> = self
            .bounds
            .iter()
            .map(|bound| format!("+{}", bound.name()))
            .collect();
        fs::write(group.join("cgroup.subtree_control"), names.join(" "))
    }

    fn bound(&self, group: &Path, limits: &Limits, runs: usize) -> io::Result<()> {
        let set = |file: &str, value: u64| fs::write(group.join(file), value.to_string());
        for bound in &self.bounds {
            match (bound, self.version) {
                (Bound::Memory, Version::One) => {
                    set("memory.limit_in_bytes", limits.memory)?;
                    // Only where the kernel counts swap at all.
                    set("memory.memsw.limit_in_bytes", limits.memory).unwrap_or_default();
                }
                (Bound::Memory, Version::Two) => {
                    set("memory.max", limits.memory)?;
                    set("memory.swap.max", 0).unwrap_or_default();
                }
                (Bound::Processes, Version::One | Version::Two) => {
                    let own = LAUNCHER.saturating_mul(runs as u64);
                    set(
                        "pids.max",
                        u64::from(limits.pids.max(1)).saturating_add(own),
                    )?;
                }
                (Bound::Processor, Version::One) => {
                    set("cpu.cfs_period_us", PERIOD)?;
                    set("cpu.cfs_quota_us", quota(limits.cpus))?;
                }
                (Bound::Processor, Version::Two) => {
                    let text = format!("{} {PERIOD}", quota(limits.cpus));
                    fs::write(group.join("cpu.max"), text)?;
                }
            }
        }
        Ok(())
    }
}

/// Microseconds of processor time in a period; the kernel takes no less than a thousand.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bounded on both sides just before"
)]
fn quota(cpus: f64) -> u64 {
    let cpus = if cpus.is_finite() { cpus } else { 1.0 };
    (cpus.clamp(0.01, 10_000.0) * PERIOD as f64) as u64
}

/// Makes groups, and takes them away.
#[derive(Debug)]
pub(crate) struct Groups {
    hierarchies: Vec<Hierarchy>,
    sandboxes: Mutex<HashMap<SandboxKey, Weak<Sandbox>>>,
    /// Groups whose processes were still dying when they should have gone.
    left: Mutex<Vec<PathBuf>>,
}

/// The groups of a sandbox, one in each hierarchy.
#[derive(Debug)]
struct Sandbox {
    groups: Arc<Groups>,
    places: Vec<PathBuf>,
}

/// The groups of a run; dropped, they go.
#[derive(Debug)]
pub(crate) struct Group {
    sandbox: Arc<Sandbox>,
    places: Vec<PathBuf>,
}

impl Groups {
    /// Looks at the machine, tries what it finds, and keeps what works. Takes away what dead gateways left. Blocks for a
    /// moment.
    pub(crate) fn find() -> Arc<Self> {
        let mut hierarchies = places::find();
        hierarchies.retain(|hierarchy| {
            sweep(&hierarchy.base);
            match tried(hierarchy) {
                Ok(()) => true,
                Err(error) => {
                    tracing::debug!(base = %hierarchy.base.display(), %error, "no control groups here");
                    false
                }
            }
        });
        Arc::new(Self {
            hierarchies,
            sandboxes: Mutex::default(),
            left: Mutex::default(),
        })
    }

    /// Is this bounded for all processes of a sandbox together?
    pub(crate) fn has(&self, bound: Bound) -> bool {
        self.hierarchies
            .iter()
            .any(|hierarchy| hierarchy.bounds.contains(&bound))
    }

    /// Makes the groups of a run. Blocks for a moment.
    pub(crate) fn enter(
        self: &Arc<Self>,
        key: &SandboxKey,
        limits: &Limits,
    ) -> Result<Group, SandboxError> {
        self.take_away();
        let failed = |source: io::Error| {
            SandboxError::Failed(format!("the sandbox's bounds can't be set: {source}"))
        };
        let mut sandboxes = self.lock(&self.sandboxes);
        sandboxes.retain(|_, sandbox| sandbox.strong_count() > 0);
        let sandbox = match sandboxes.get(key).and_then(Weak::upgrade) {
            Some(sandbox) => sandbox,
            None => Arc::new(Sandbox {
                groups: Arc::clone(self),
                places: self.make(|hierarchy| &hierarchy.base).map_err(failed)?,
            }),
        };
        sandboxes.insert(key.clone(), Arc::downgrade(&sandbox));
        let runs = Arc::strong_count(&sandbox);
        for (hierarchy, place) in self.hierarchies.iter().zip(&sandbox.places) {
            hierarchy.bound(place, limits, runs).map_err(failed)?;
            hierarchy.hand_down(place).map_err(failed)?;
        }
        let mut below = sandbox.places.iter();
        let places = self
            .make(|hierarchy| below.next().unwrap_or(&hierarchy.base))
            .map_err(failed)?;
        Ok(Group { sandbox, places })
    }

    /// Bytes of memory that a sandbox has in use, if something runs in it.
    pub(crate) fn memory(&self, is_meant: impl Fn(&SandboxKey) -> bool) -> Option<u64> {
        let sandbox = self
            .lock(&self.sandboxes)
            .iter()
            .find(|(key, _)| is_meant(key))
            .and_then(|(_, sandbox)| sandbox.upgrade())?;
        sandbox.places.iter().find_map(|place| {
            ["memory.current", "memory.usage_in_bytes"]
                .iter()
                .find_map(|file| {
                    fs::read_to_string(place.join(file))
                        .ok()?
                        .trim()
                        .parse()
                        .ok()
                })
        })
    }

    /// A new group in each hierarchy, below what is named for it.
    fn make<'a>(
        &'a self,
        mut below: impl FnMut(&'a Hierarchy) -> &'a PathBuf,
    ) -> io::Result<Vec<PathBuf>> {
        let mut made = Vec::new();
        for hierarchy in &self.hierarchies {
            match fresh(below(hierarchy)) {
                Ok(place) => made.push(place),
                Err(error) => {
                    self.leave(made);
                    return Err(error);
                }
            }
        }
        Ok(made)
    }

    /// Takes groups away, now or, where something in them still dies, at a later call.
    fn leave(&self, places: Vec<PathBuf>) {
        self.lock(&self.left).extend(places);
        self.take_away();
    }

    fn take_away(&self) {
        self.lock(&self.left)
            .retain(|place| match fs::remove_dir(place) {
                Ok(()) => false,
                Err(error) => error.kind() != io::ErrorKind::NotFound,
            });
    }

    fn lock<'a, T>(&self, what: &'a Mutex<T>) -> std::sync::MutexGuard<'a, T> {
        what.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.groups.leave(std::mem::take(&mut self.places));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.sandbox.groups.leave(std::mem::take(&mut self.places));
    }
}

impl Group {
    /// Puts a process in, before it has started others. Blocks for a moment.
    pub(crate) fn add(&self, pid: u32) -> io::Result<()> {
        self.places
            .iter()
            .try_for_each(|place| fs::write(place.join("cgroup.procs"), pid.to_string()))
    }

    /// Did the kernel kill one of its processes because memory ran out?
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        let kills = |place: &PathBuf| {
            let told = ["memory.events", "memory.oom_control"]
                .iter()
                .find_map(|file| fs::read_to_string(place.join(file)).ok())?;
            killed(&told)
        };
        self.places.iter().filter_map(kills).any(|kills| kills > 0)
    }
}

/// What both versions say of kills.
fn killed(told: &str) -> Option<u64> {
    told.lines()
        .find_map(|line| line.strip_prefix("oom_kill "))?
        .trim()
        .parse()
        .ok()
}

/// Makes a group of a name that nothing there has.
fn fresh(below: &Path) -> io::Result<PathBuf> {
    let me = std::process::id();
    for number in 0..MOST {
        let place = below.join(format!("{PREFIX}{me}-{number}"));
        match fs::create_dir(&place) {
            Ok(()) => return Ok(place),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("there are too many control groups"))
}

fn tried(hierarchy: &Hierarchy) -> io::Result<()> {
    let place = fresh(&hierarchy.base)?;
    let done = hierarchy.bound(&place, &Limits::default(), 1);
    fs::remove_dir(&place)?;
    done
}

/// Takes away the groups of gateways that are no more. Those in which something lives stay.
fn sweep(base: &Path) {
    let groups_in = |place: &Path| -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(place) else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
            .map(|entry| entry.path())
            .collect()
    };
    for place in groups_in(base) {
        let owner = place
            .file_name()
            .and_then(|name| name.to_str()?.strip_prefix(PREFIX)?.split('-').next());
        if owner.is_some_and(|pid| Path::new("/proc").join(pid).exists()) {
            continue;
        }
        for run in groups_in(&place) {
            fs::remove_dir(run).unwrap_or_default();
        }
        fs::remove_dir(place).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use sandbox::Limits;

    use super::{Bound, Hierarchy, Version, killed, quota};

    #[test]
    fn a_group_of_version_two_gets_every_bound_in_the_kernels_words() {
        let base = tempfile::tempdir().unwrap();
        let hierarchy = Hierarchy {
            version: Version::Two,
            base: base.path().to_owned(),
            bounds: vec![Bound::Memory, Bound::Processes, Bound::Processor],
        };
        let limits = Limits {
            memory: 1 << 30,
            cpus: 1.5,
            pids: 100,
            ..Limits::default()
        };
        hierarchy.bound(base.path(), &limits, 2).unwrap();
        hierarchy.hand_down(base.path()).unwrap();
        for (file, text) in [
            ("memory.max", "1073741824"),
            ("memory.swap.max", "0"),
            ("pids.max", "116"),
            ("cpu.max", "150000 100000"),
            ("cgroup.subtree_control", "+memory +pids +cpu"),
        ] {
            assert_eq!(
                fs::read_to_string(base.path().join(file)).unwrap(),
                text,
                "{file}"
            );
        }
    }

    #[test]
    fn only_the_kernels_own_count_says_that_memory_ran_out() {
        assert_eq!(
            killed("low 0\nhigh 0\nmax 12\noom 1\noom_kill 2\noom_group_kill 0\n"),
            Some(2)
        );
        assert_eq!(
            killed("oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"),
            Some(0)
        );
        assert_eq!(killed("oom_kill_disable 1\n"), None);
        assert_eq!(killed(""), None);
    }

    #[test]
    fn no_number_of_cores_is_one_that_the_kernel_refuses() {
        for (cpus, microseconds) in [
            (1.0, 100_000),
            (0.5, 50_000),
            (0.0, 1_000),
            (-3.0, 1_000),
            (f64::NAN, 100_000),
            (1e300, 1_000_000_000),
        ] {
            assert_eq!(quota(cpus), microseconds, "{cpus}");
        }
    }
}
