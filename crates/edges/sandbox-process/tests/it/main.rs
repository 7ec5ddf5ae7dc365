//! The process driver against the common suite, and against people who try to get out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod apart;
mod attacks;
mod bounds;
mod captures;
mod egress;
mod escapes;
mod groups;
mod keeping;
mod newcomer;
mod stayed;
mod world;

use world::World;

mod suite {
    use super::World;

    conformance::sandbox!(World);
}
