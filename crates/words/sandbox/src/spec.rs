//! What a sandbox is made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use waybill::Secret;

use crate::SandboxPath;

/// How sandboxes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Driver {
    /// Containers of a Docker engine.
    Docker,
    /// Namespaces, Landlock and seccomp on this machine.
    Process,
    /// No walls: commands run as the gateway's own user. Only on the owner's word.
    Host,
}

/// May the sandbox reach others?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// No network at all.
    #[default]
    None,
    /// The engine's ordinary bridge.
    Bridge,
}

/// May commands write through a mount?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MountMode {
    /// Read only.
    Ro,
    /// Read and write.
    Rw,
    /// Read only, and nothing from it may ever be captured.
    Secret,
}

/// A folder of the host that the owner shows to a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mount {
    /// The folder on the host, as the owner wrote it; drivers alone look at it.
    pub host: String,
    /// Where the sandbox sees it.
    pub at: SandboxPath,
    /// What may be done through it.
    pub mode: MountMode,
}

/// Bounds of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory in bytes.
    pub memory: u64,
    /// Processor cores.
    pub cpus: f64,
    /// Processes and threads.
    pub pids: u32,
    /// Longest run of one command, in seconds.
    pub command_seconds: u64,
    /// Kept output of one command, in bytes, head and tail together.
    pub output_bytes: usize,
    /// Unused for this long, in seconds, and the sandbox may be stopped.
    pub idle_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 2 << 30,
            cpus: 1.0,
            pids: 256,
            command_seconds: 180,
            output_bytes: 64 << 10,
            idle_seconds: 3600,
        }
    }
}

/// What a sandbox is made of. Two specs that differ in a field are two sandboxes.
#[derive(Debug, Clone)]
pub struct SandboxSpec {
    /// How it is made.
    pub driver: Driver,
    /// The image, for drivers that have one.
    pub image: String,
    /// Folders of the host.
    pub mounts: Vec<Mount>,
    /// Environment of every command.
    pub env: BTreeMap<String, String>,
    /// Environment that is secret: never on a command line, in an inspect output that the agent reads, or in a log.
    pub secret_env: BTreeMap<String, Secret>,
    /// Network.
    pub network: Network,
    /// Bounds.
    pub limits: Limits,
}
