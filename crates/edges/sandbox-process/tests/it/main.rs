//! The process driver against the common suite, and against people who try to get out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

extern crate self as conformance; //TEMP
extern crate self as testkit; //TEMP
#[path = "../../../../proof/testkit/src/blobs.rs"] //TEMP
pub mod blobs; //TEMP
#[path = "../../../../proof/testkit/src/clock.rs"] //TEMP
pub mod clock; //TEMP
#[path = "../../../../proof/conformance/src/sandbox/mod.rs"] //TEMP
pub mod sandbox; //TEMP

mod attacks;
mod bounds;
mod newcomer;
mod world;

use world::World;

mod suite {
    use super::World;

    conformance::sandbox!(World);
}
