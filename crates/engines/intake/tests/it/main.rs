//! Events as they meet a store that has its moments.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test that can't set up its world should stop"
)]

mod answers;
mod changes;
mod parcels;
mod poison;
mod troubles;
mod world;
