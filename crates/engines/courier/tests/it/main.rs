//! What becomes of parts when the store, the channel or the gateway's own code fails.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod doubting;
mod resting;
mod settling;
mod telling;
mod world;
