//! Sandboxes in Docker containers.
//!
//! Use this room for all that is said to a Docker engine. It refuses to run anything on the host, to turn to another
//! container than the one that a [`sandbox::SandboxKey`] names, and to touch a container that does not carry this
//! gateway's label.
//!
//! Invariants:
//! * One persistent container per key, found by its labels and compared by its fingerprint; a container whose fingerprint
//!   differs is retired before a new one is made.
//! * Paths and file names reach the container's shell as arguments and never as shell text; bytes travel over the streams.
//! * Whatever starts a process in a container holds a leash until the process has ended: time-outs and dropped
//!   futures kill it with all that it started.
//! * Nothing of the agent's runs in a container before it was looked at: its network is the one that was asked for, by the
//!   engine's word and by its own kernel's.
//! * A command is started a second time only if it certainly did not run the first time.
//! * A container is in use while a command runs in it; what is in use is never reaped by its own gateway.
//! * A sandbox's own files lie in the gateway's folders if the engine sees them, else in volumes; which of the two is looked
//!   for and never guessed.
//! * The engine is asked anew each time; that it was away once is not remembered.
//!
//! Start reading at [`DockerSandbox`], then `container`, `verify` and `process`; who looks after containers, at `lease` and
//! `keeper`; where files lie, at `storage`.

mod bring;
mod capture;
mod command;
mod container;
mod driver;
mod egress;
mod engine;
mod fetch;
mod files;
mod fingerprint;
mod header;
mod home;
mod keeper;
mod lease;
mod leash;
mod names;
mod network;
mod orphans;
mod podman;
mod porter;
mod process;
mod recipe;
mod rows;
mod running;
mod scripts;
mod sentence;
mod storage;
mod terminal;
mod verify;
mod volumes;

pub use driver::{DockerSandbox, Options};
pub use egress::Egress;
pub use engine::{EngineInfo, Kind};
pub use rows::Row;
pub use volumes::VolumeRow;
