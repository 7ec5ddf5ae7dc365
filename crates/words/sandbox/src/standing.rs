//! What stands on a machine, for whoever looks after it.

use std::time::Duration;

use async_trait::async_trait;
use waybill::{ProfileId, Timestamp};

use crate::{Driver, SandboxError};

/// A sandbox that is there, in use or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// What the driver calls it: what [`Keeper::stop`] takes.
    pub id: String,
    /// Whose it is; none if what says so can't be read.
    pub profile: Option<ProfileId>,
    /// Its key, as [`crate::SandboxKey`] is shown.
    pub key: String,
    /// How it is made.
    pub driver: Driver,
    /// What it is made from: an image, a machine.
    pub made_of: String,
    /// Does it run?
    pub state: State,
    /// When it was made.
    pub since: Option<Timestamp>,
    /// When it may be reaped, if nobody uses it until then.
    pub lease: Option<Timestamp>,
    /// Bytes that it holds on the disk, where that is known.
    pub disk: Option<u64>,
    /// Bytes of memory in use, where that is known.
    pub memory: Option<u64>,
    /// What runs in it: process id and command line, at most 100.
    pub processes: Vec<(u32, String)>,
}

/// Does a sandbox run?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It does.
    Running,
    /// It does not, but is still there.
    Stopped,
}

/// Looks after all sandboxes of a driver, this gateway's own and no others.
#[async_trait]
pub trait Keeper: Send + Sync {
    /// What stands.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] if nobody can be asked.
    async fn standing(&self) -> Result<Vec<Standing>, SandboxError>;

    /// What could not be asked when [`Self::standing`] last answered, a sentence each: a machine that is away. What stands there
    /// is not among what it said.
    fn away(&self) -> Vec<String> {
        Vec::new()
    }

    /// What takes long just now, a sentence each: an image that is fetched.
    fn under_way(&self) -> Vec<String> {
        Vec::new()
    }

    /// Ends one with all that runs in it. The workspace and the home stay; the next command makes it anew.
    ///
    /// # Errors
    /// [`SandboxError::Failed`] if there is none of that name, or it is not this gateway's.
    async fn stop(&self, id: &str) -> Result<(), SandboxError>;

    /// Ends those whose lease is over; says which.
    ///
    /// # Errors
    /// [`SandboxError`] if nobody can be asked.
    async fn reap(&self, now: Timestamp) -> Result<Vec<Standing>, SandboxError>;
}

/// A command that an agent ran, as the sandbox's owner sees it afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// When it began.
    pub at: Timestamp,
    /// How long it took; zero for one that goes on in the background.
    pub took: Duration,
    /// The command, perhaps without its end.
    pub command: String,
    /// The end of what it said, and how it ended if not well.
    pub output: String,
    /// Whether it did not end well.
    pub failed: bool,
}

/// Remembers the last commands.
pub trait Logbook: Send + Sync {
    /// Those of a sandbox, the oldest first, by its key as it is shown ([`Standing::key`]).
    fn of(&self, sandbox: &str) -> Vec<Ran>;
}
