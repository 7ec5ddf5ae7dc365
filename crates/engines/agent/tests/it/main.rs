//! What a turn costs before a person said a word, what becomes of turns that don't begin, and what tools do in a plain shell.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod approvals;
mod archive;
mod background;
mod beginning;
mod commands;
mod endings;
mod files;
mod folders;
mod knowing;
mod outside;
mod prompt;
mod scripted;
mod secrets;
mod watched;
mod web;
mod window;
mod world;
