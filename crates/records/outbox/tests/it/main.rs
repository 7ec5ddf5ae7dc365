//! What becomes of a part, and how words and files become parts.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod acting;
mod composing;
mod deciding;
