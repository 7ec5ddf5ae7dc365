//! Servers as they are met: honest, slow, dying, loud and false ones, as programs and as services.
#![allow(
    clippy::wildcard_enum_match_arm,
    clippy::zombie_processes,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod calling;
mod hostile;
mod living;
mod programs;
mod rug_pull;
mod server;
mod services;
mod world;
