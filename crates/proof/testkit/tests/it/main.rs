//! The fakes, asked over a bare connection.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that can't ask should stop"
)]

mod edits;
mod models;
mod troubles;
mod world;
