//! Scenarios on the real binary, with strict fakes of closed services and a real Docker engine.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod api;
mod approvals;
mod browser;
mod busy;
mod carrying;
mod crash;
mod delivery;
mod disk;
mod edits;
mod events;
mod knowing;
mod models;
mod newcomer;
mod outbox_page;
mod outbox_verbs;
mod outside;
mod page;
mod producers_bytes;
mod retention;
mod sandboxes;
mod streaming;
mod terminal;
mod tool_servers;
mod turns;
mod upgrade;
mod wires;
mod world;
