//! Scenarios on the real binary, with strict fakes of closed services and a real Docker engine.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod browser;
mod delivery;
mod newcomer;
mod outside;
mod page;
mod producers_bytes;
mod turns;
mod world;
