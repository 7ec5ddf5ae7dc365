//! The web chat's listener, asked over the wire.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

use tidings_admin as admin;

mod access;
mod asking;
mod coins;
mod computers;
mod files;
mod metrics;
mod openapi;
mod parcels;
mod sandboxes;
mod servers;
mod shelf;
mod talk;
mod usage;
mod world;
