//! One command in a sandbox.

use std::time::Duration;

use crate::SandboxPath;

/// A command to run with the sandbox's `sh -c`.
#[derive(Debug, Clone)]
pub struct Exec {
    /// The shell text.
    pub command: String,
    /// Where it starts.
    pub directory: SandboxPath,
    /// What it reads on standard input.
    pub stdin: Vec<u8>,
    /// After this long its whole process group is killed.
    pub timeout: Duration,
    /// Kept output in bytes: the first half and the last half of it.
    pub output_bytes: usize,
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
