//! The SSH driver against a real sshd.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test that can't set up its world should stop"
)]

mod apart;
mod attacks;
mod bare;
mod doors;
mod ends;
mod programs;
mod sshd;
mod stands;
mod world;

mod suite {
    use crate::world::World;

    conformance::sandbox!(World);
}
