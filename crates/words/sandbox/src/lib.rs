//! The agent's computer, as a port: commands, files, captures, artifacts.
//!
//! Use this room for what every sandbox driver and everybody who asks one for something must agree on. It refuses to
//! know a driver, a runtime or a host path.
//!
//! Invariants:
//! * A [`SandboxPath`] has no conversion to a path of the host, in either direction.
//! * [`SandboxPort::capture`] is the only way from a path to an [`ArtifactRef`]; whoever holds an artifact needs no path.
//! * Everything is bounded: time, output, bytes.
//!
//! Start reading at [`SandboxPort`].

mod artifact;
mod blob;
mod exec;
mod forbidden;
mod path;
mod port;
mod refusal;
mod spec;
mod standing;
mod tail;

pub use artifact::{ArtifactId, ArtifactRef, Taken};
pub use blob::{Blob, BlobError, BlobReader, BlobStore, BlobWriter, ContentHash};
pub use exec::{Ended, Exec, Exit, Output, Running, Start, Window};
pub use forbidden::forbidden_place;
pub use path::{PathError, SandboxPath};
pub use port::{Entry, EntryKind, SandboxPort, Staged, WriteMode};
pub use refusal::{Refusal, SandboxError, size_text};
pub use spec::{Destination, Driver, Limits, Mount, MountMode, Network, Remote, SandboxSpec};
pub use standing::{Keeper, Logbook, Ran, Standing, State};
pub use tail::HeadAndTail;

pub use waybill::{Placement, SandboxKey};
