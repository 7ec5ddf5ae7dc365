//! Identity can't be mixed up, and can't be made up.
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't set up its world should stop"
)]

mod injective;
mod scopes;
