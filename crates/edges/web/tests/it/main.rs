//! The web as an agent has it, against a strict site of the tests' own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod guards;
mod pages;
mod searching;
mod site;
