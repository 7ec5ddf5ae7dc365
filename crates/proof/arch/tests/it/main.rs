//! The rules of the house.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that can't read the workspace should stop"
)]

mod docs;
mod files;
mod house;
mod layers;
mod one_door;
mod vendors;
