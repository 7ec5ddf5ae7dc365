//! What a caller sees of a server that misbehaves.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod answers;
mod public;
mod server;
mod uploads;
