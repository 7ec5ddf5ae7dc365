//! The adapter against a strict fake of the platform.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test that can't set up its world should stop"
)]

mod asking;
mod carrying;
mod delivering;
mod fake;
mod hearing;
mod polling;
mod world;

use world::World;

conformance::chat!(World);
