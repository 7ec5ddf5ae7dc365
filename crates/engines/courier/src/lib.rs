//! The one door out: the courier claims the heads of lanes, puts them on the wire, and writes down what became of them.
//!
//! Use this room for the loop around [`outbox::decide`]. It refuses to decide anything about a part by itself, and to know a
//! platform or a database.
//!
//! Invariants:
//! * Only here are `ChatAdapter::deliver`, `preview` and `activity` called.
//! * An attempt is durable before its first byte; its end is durable before the next part of the lane.
//! * An adapter that hangs, fails or panics is one failed attempt of one part; so is a panic of our own. No attempt leaves its
//!   lane `sending` while the courier runs: an end that can't be stored is tried until it is.
//! * When it is told to stop, it finishes the attempts in flight and gives back what it claimed and did not begin.
//!
//! Start reading at [`Courier::run`].

mod age;
mod attempt;
mod ending;
mod gates;
mod pump;
mod show;

pub use pump::{Channels, Courier, CourierHandle, Options};
