//! Composition: from settings to a running gateway, and back to rest.
//!
//! Use this room to say which part is built from what, and in which order parts start and stop. It refuses to hold policy:
//! a decision about a message, a part or a person belongs to `records`.
//!
//! Invariants:
//! * One gateway per home: the lock is held as long as the gateway runs.
//! * Start: store → courier → turns → intake → listeners. Stop: the other way round.
//! * A channel or a profile that can't be built is left out, loudly; the rest runs.
//! * A service that ends by itself ends the gateway: what is durable is taken up by the next start.
//!
//! Start reading at [`Gateway::start`].

mod audit;
mod backup;
mod care;
mod channels;
mod directory;
mod doctor;
mod error;
mod foundations;
mod health;
mod home;
mod install;
mod knowledge;
mod mcp;
mod models;
mod people;
mod retention;
mod running;
mod sandboxes;
mod services;
mod start;
mod status;
mod supervisor;
mod system;
mod tenants;
mod web;

pub use backup::{Backup, BackupError, Secrets, back_up};
pub use doctor::{Check, Verdict, examine_ground};
pub use error::StartError;
pub use home::{HomeLock, LockError};
pub use mcp::{AcceptError, accept_tools, examine_servers, resting_servers, running_servers};
pub use running::{Running, Summary};
pub use sandboxes::{Looked, Sandboxes};
pub use start::{Accounts, Gateway, Options};
pub use system::{SystemClock, SystemIds};
