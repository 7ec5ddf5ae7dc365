//! What a model answers.

use serde::{Deserialize, Serialize};

use crate::{Replay, ToolCall};

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    End,
    /// It wants tools run.
    ToolUse,
    /// It ran out of output tokens: the text or the calls are cut.
    Length,
    /// It refused, or a filter did.
    Refused,
}

/// Tokens used, by the provider's own count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Read, cached ones included.
    pub input: u64,
    /// Of those, read from a cache.
    pub cached: u64,
    /// Written.
    pub output: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.cached += other.cached;
        self.output += other.output;
    }
}

/// A finished answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Words for the person; reasoning is kept apart.
    pub text: String,
    /// The model's reasoning, if it was given.
    pub reasoning: String,
    /// Tools to run, in order. Empty when `stop` is [`StopReason::Length`]: cut calls are never run.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What it cost; `None` where the provider did not say.
    pub usage: Option<Usage>,
    /// What the same route wants back with these calls; `None` where it demands nothing.
    pub replay: Option<Replay>,
}
