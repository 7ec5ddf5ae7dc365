//! Requests to a model and what comes back.
//!
//! Use this room for the words between the agent and any model. It refuses to know a vendor, a wire or a runtime.
//!
//! Invariants:
//! * A [`Reply`] exists only for a stream that ended with its own end marker; everything else is a [`ModelError`].
//! * A [`ToolCall`]'s arguments are a JSON object; a call that can't be read is [`ToolCall::arguments`] = `Err`, so that it
//!   can be answered and never run.
//!
//! Start reading at [`ModelPort`].

mod error;
mod facts;
mod message;
mod port;
mod reply;

pub use error::ModelError;
pub use facts::{Cost, Facts, Price};
pub use message::{Content, Message, Replay, ReplayBlock, Request, ToolCall, ToolSpec};
pub use port::{Delta, DeltaSink, ModelPort};
pub use reply::{Reply, StopReason, Usage};
