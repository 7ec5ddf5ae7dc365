//! What a loss of power leaves.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod disk;
mod files;
mod proof;
mod trace;
