//! What a turn costs before a person said a word, and what becomes of turns that don't begin.
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't set up its world should stop"
)]

mod beginning;
mod prompt;
mod world;
