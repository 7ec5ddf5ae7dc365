//! The Docker driver against a real engine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test that can't set up its world should stop"
)]

mod away;
mod life;
mod world;

conformance::sandbox!(crate::world::World);
