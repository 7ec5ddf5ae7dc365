//! The scripted model that works without a key.
//!
//! Use this room to show the whole way of a message before a real model is connected: it answers by a script, and drives the real tools
//! through ordinary calls. It refuses to pretend: it says what it is, and it repeats errors as they are.
//!
//! Invariants:
//! * The same conversation gets the same answer; it asks nobody and keeps nothing.
//! * It ends: what it does next depends on how many results have come since the last message, and each of its plans is finite.
//!
//! Start reading at [`DemoModel`], then the module `plan`.

mod chart;
mod demo;
mod intent;
mod plan;
mod words;

pub use demo::DemoModel;
