//! One command in a sandbox.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{SandboxError, SandboxPath};

/// A command to run with the sandbox's `sh -c`.
#[derive(Debug, Clone)]
pub struct Exec {
    /// The shell text.
    pub command: String,
    /// Where it starts.
    pub directory: SandboxPath,
    /// Environment of this call alone, over the sandbox's own. No other call in the same sandbox sees it.
    pub env: BTreeMap<String, String>,
    /// What it reads on standard input.
    pub stdin: Vec<u8>,
    /// After this long its whole process group is killed.
    pub timeout: Duration,
    /// Kept output in bytes: the first half and the last half of it.
    pub output_bytes: usize,
}

/// A command that somebody stays with: it is heard while it runs, and may be written to and killed.
#[derive(Debug, Clone)]
pub struct Start {
    /// The shell text.
    pub command: String,
    /// Where it starts.
    pub directory: SandboxPath,
    /// Environment of this call alone, over the sandbox's own.
    pub env: BTreeMap<String, String>,
    /// A terminal for programs that want one; `None`: plain pipes.
    pub terminal: Option<Window>,
}

/// Size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

/// A command that runs. Dropped, it is killed with all that it started, as by [`Running::kill`].
#[async_trait]
pub trait Running: Send {
    /// The next piece of standard output and error as they come; `None` once it has ended. May be dropped and called again:
    /// nothing is lost by it.
    ///
    /// # Errors
    /// [`SandboxError`] if the sandbox went away under it.
    async fn output(&mut self) -> Result<Option<Bytes>, SandboxError>;

    /// Gives it bytes to read; returns when they are on their way.
    ///
    /// # Errors
    /// [`SandboxError::Failed`] if it takes no more.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError>;

    /// Says that no more comes: the end of its input. In a terminal: `^D`.
    async fn end_input(&mut self);

    /// Tells its terminal a new size; nothing without one.
    async fn resize(&mut self, window: Window);

    /// How it ended. To be asked once [`Running::output`] said `None`; before that it waits and drops what is said.
    ///
    /// # Errors
    /// [`SandboxError`] if nobody knows any more.
    async fn ended(self: Box<Self>) -> Result<Ended, SandboxError>;

    /// Kills it with all that it started and returns when they are gone.
    async fn kill(self: Box<Self>);
}

/// How a command that was stayed with ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub exit: Exit,
    /// As [`Output::note`].
    pub note: Option<String>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i64),
    /// Its time was over; its process group was killed.
    TimedOut,
    /// The sandbox ran out of memory.
    OutOfMemory,
}

/// What a command left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub exit: Exit,
    /// Standard output and error as they came, at most `Exec::output_bytes`; bytes, not text.
    pub bytes: Vec<u8>,
    /// Bytes left out between head and tail; 0 when all is there.
    pub left_out: u64,
    /// Something the agent should know: "the sandbox was made anew; files outside /workspace and /root are gone".
    pub note: Option<String>,
}
