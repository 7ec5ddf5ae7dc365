//! A profile's folders as an owner, a stranger's archive and a power cut leave them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that can't set up its world should stop"
)]

mod notes;
mod shelf;
