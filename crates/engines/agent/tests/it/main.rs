//! What a turn costs before a person said a word.
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't set up its world should stop"
)]

mod prompt;
