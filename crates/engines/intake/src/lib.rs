//! The way in: accept, dedupe, admit, route.
//!
//! Use this room between a channel that heard something and the line of turns. It refuses to know a platform, and to decide
//! who may speak ([`policy::admit`] does).
//!
//! Invariants:
//! * An event is durable before [`chat::InboundSink::accept`] returns; only then may its platform be told.
//! * Every event gets a recorded decision; while the store can't take it, it is tried again, in the order of each chat. The events
//!   of an account that is not configured wait for a start with it. The profile is chosen here, once, from the route; a chat without one is refused.
//! * Commands are done from new messages alone, never from edits or quotations.
//! * An event that makes us fail is handled [`session::MOST_TAKES`] times and then put aside; its account's owner is told.
//!
//! Start reading at [`Intake`].

mod answers;
mod commands;
mod desk;
mod directory;
mod later;
mod notices;
mod parcels;
mod service;

pub use directory::{Directory, SkillCommand};
pub use service::{Intake, IntakeHandle, Options};
