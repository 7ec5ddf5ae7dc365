#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]
//! `tidings.toml` as its owner meets it.

mod abilities;
mod docs;
mod fuzz;
mod home;
mod inherit;
mod money;
mod outward;
mod problems;
mod retention;
mod routes;
mod secrets;
mod sections;
mod world;
