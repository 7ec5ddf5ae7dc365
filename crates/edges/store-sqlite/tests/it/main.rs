//! The store as others see it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod accounts;
mod artifacts;
mod crash;
mod guards;
mod place;
mod writing;

conformance::store!(place::Place);
