//! What a turn costs before a person said a word, what becomes of turns that don't begin, and what tools do in a plain shell.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod background;
mod beginning;
mod commands;
mod files;
mod folders;
mod prompt;
mod secrets;
mod watched;
mod world;
