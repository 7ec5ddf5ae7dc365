//! Which walls stand, in words for the owner.

use serde::{Deserialize, Serialize};

/// The walls that stood when they were tried. Without the first four there is no sandbox at all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protections {
    /// Rights end at the sandbox's own user.
    pub user_namespace: bool,
    /// Only what is shown can be seen.
    pub mount_namespace: bool,
    /// Only its own processes can be seen, and all end together.
    pub process_namespace: bool,
    /// It has no network but its own loopback.
    pub network_namespace: bool,
    /// Its own System V objects and message queues.
    pub ipc_namespace: bool,
    /// Its own host name.
    pub host_name_namespace: bool,
    /// Its own view of control groups.
    pub cgroup_namespace: bool,
    /// No executable gives new rights.
    pub no_new_privileges: bool,
    /// Every capability is gone for good.
    pub no_capabilities: bool,
    /// The version of Landlock's interface in force; 0 if the kernel has none.
    pub landlock_abi: u8,
    /// Dangerous system calls are refused.
    pub seccomp: bool,
    /// No user namespace can be made inside.
    pub no_nested_namespaces: bool,
    /// How many processes there can be at once is bounded.
    pub process_limit: bool,
    /// A control group bounds the memory of all processes of a sandbox together; else each process is bounded for itself.
    #[serde(default)]
    pub memory_group: bool,
    /// A control group counts a sandbox's processes and threads.
    #[serde(default)]
    pub process_group: bool,
    /// A control group bounds a sandbox's share of the processor.
    #[serde(default)]
    pub processor_group: bool,
    /// The sandbox's user is the machine's root, stripped of its rights.
    pub runs_as_root: bool,
}

impl Protections {
    /// One sentence for `doctor` and the banner.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut walls = vec!["its own user, mount, process".to_owned()];
        if self.ipc_namespace {
            walls.push("IPC".to_owned());
        }
        let namespaces = if self.network_namespace {
            format!("{} and network namespaces", walls.join(", "))
        } else {
            format!("{} namespaces", walls.join(", "))
        };
        let landlock = match self.landlock_abi {
            0 => "no Landlock (this kernel has none)".to_owned(),
            abi => format!("Landlock (ABI {abi})"),
        };
        let seccomp = if self.seccomp {
            "seccomp"
        } else {
            "no seccomp (this kernel has none)"
        };
        let processes = if self.process_limit || self.process_group {
            "processes are counted"
        } else {
            "the number of processes is not bounded here"
        };
        let memory = if self.memory_group {
            "memory is bounded per sandbox"
        } else {
            "memory is bounded per process"
        };
        let processor = if self.processor_group {
            "so is processor time"
        } else {
            "processor time is not bounded"
        };
        let root = if self.runs_as_root {
            "; the gateway runs as root, so its files belong to root: an ordinary user is better"
        } else {
            ""
        };
        format!(
            "process sandbox: each command in {namespaces}, with {landlock} and {seccomp}; {processes}, {memory}, {processor}{root}"
        )
    }
}

/// What to do where the floor is missing.
pub(crate) fn advice(step: &str, error: &str) -> String {
    format!(
        "the process sandbox can't stand on this machine ({step}: {error}): permit user namespaces \
         (sysctl kernel.unprivileged_userns_clone=1 on Debian, kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu, \
         user.max_user_namespaces above 0 elsewhere), or install Docker and set driver = \"docker\""
    )
}

#[cfg(test)]
mod tests {
    use super::Protections;

    #[test]
    fn the_owner_reads_what_stands_and_what_does_not() {
        let all = Protections {
            network_namespace: true,
            ipc_namespace: true,
            landlock_abi: 7,
            seccomp: true,
            process_limit: true,
            ..Protections::default()
        };
        assert_eq!(
            all.describe(),
            "process sandbox: each command in its own user, mount, process, IPC and network namespaces, with Landlock (ABI 7) \
             and seccomp; processes are counted, memory is bounded per process, processor time is not bounded"
        );
        let grouped = Protections {
            memory_group: true,
            process_group: true,
            processor_group: true,
            ..Protections::default()
        };
        assert!(
            grouped.describe().ends_with(
                "processes are counted, memory is bounded per sandbox, so is processor time"
            ),
            "{}",
            grouped.describe()
        );
        let text = Protections::default().describe();
        assert!(text.contains("no Landlock"), "{text}");
        assert!(text.contains("no seccomp"), "{text}");
        assert!(text.contains("not bounded"), "{text}");
    }
}
