//! The Docker driver against a real engine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test that can't set up its world should stop"
)]

mod away;
mod keeping;
mod large;
mod leftovers;
mod life;
mod loss;
mod networks;
mod own_engine;
mod running;
mod together;
mod volumes;
mod way_out;
mod world;

conformance::sandbox!(crate::world::World);
