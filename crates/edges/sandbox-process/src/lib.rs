//! Sandboxes made of the kernel's own walls: namespaces, Landlock and seccomp. No daemon, no root rights, no image.
//!
//! Use this room where there is no container engine. It refuses to run anything without its floor (user, mount and
//! process namespaces): then every call answers with one sentence that says what to do.
//!
//! How: each call starts the gateway's own executable again with a hidden first argument ([`launch`]). The first stage
//! enters new namespaces; the second, process 1 of the new ones, builds a root of its own from what may be seen, gives up
//! every right, and then runs the command or reads the file itself. When process 1 ends, the kernel ends all in it. The
//! launcher's standard error is a socket to the gateway: reports come on it, and its end is the end of both sides.
//!
//! Invariants:
//! * Nothing lives longer than its call, or than what [`sandbox::SandboxPort::start`] returned. What lasts are folders: `/workspace`, `/root`, `/inbox` and `/tmp`.
//! * Nothing of the machine can be written but those folders and the owner's own mounts, and nothing of the machine's system
//!   folders is ever captured.
//! * No secret stands on a command line: plans go through the standard input of the stages.
//! * A dropped future, a lost gateway and a time-out all end in the death of process 1.
//!
//! Start reading at [`ProcessSandbox`], then `launch::inner`.

mod control;
mod disk;
mod driver;
mod egress;
mod groups;
mod handed;
mod hearing;
mod keeper;
pub mod launch;
mod live;
mod output;
mod plan;
mod port;
mod protections;
mod run;
mod running;
mod usage;
mod verdict;
mod view;

pub use driver::{Options, ProcessSandbox};
pub use egress::Egress;
pub use protections::Protections;
