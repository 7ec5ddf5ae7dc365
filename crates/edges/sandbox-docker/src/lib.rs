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
//! * The engine is asked anew each time; that it was away once is not remembered.
//!
//! Start reading at [`DockerSandbox`], then `container`, then `process`.

mod cap;
mod capture;
mod command;
mod container;
mod driver;
mod engine;
mod files;
mod fingerprint;
mod header;
mod leash;
mod process;
mod recipe;
mod rows;
mod scripts;
mod sentence;

pub use driver::{DockerSandbox, Options};
pub use engine::EngineInfo;
pub use rows::Row;
