//! A judge that can't find anything proves nothing: for each invariant, ledgers that break it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that can't build its ledger should stop"
)]

mod found;
mod world;
