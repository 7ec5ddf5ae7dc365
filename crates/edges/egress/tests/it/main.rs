//! The proxy as programs in a sandbox meet it: through its listener, with a world behind it that tells what was asked of it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set its world up should stop"
)]

mod attacks;
mod bounds;
mod carrying;
mod world;
