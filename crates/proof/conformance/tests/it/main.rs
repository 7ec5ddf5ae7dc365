//! The courier on the real store: what people see, whatever happens to the process, the network and the platform.
//!
//! Time is the runtime's, and paused: it moves when everybody waits. Work of the store holds it, so that a slow disk is no
//! slow platform.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod crashes;
mod paces;
mod platform;
mod post;
