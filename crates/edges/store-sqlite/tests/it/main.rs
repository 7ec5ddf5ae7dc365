//! The store as others see it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod accounts;
mod acting;
mod artifacts;
mod care;
mod crash;
mod fence;
mod gathered;
mod generations;
mod guards;
mod last_words;
mod letting_go;
mod moving;
mod mutants;
mod place;
mod programs;
mod searching;
mod upgrade;
mod writing;

conformance::store!(place::Place);
