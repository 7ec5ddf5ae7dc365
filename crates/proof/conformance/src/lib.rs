//! Suites that every store, chat adapter, sandbox driver and codec runs.
//!
//! Use this room from the test binaries of edges. It refuses to know any one driver: a suite sees the port alone, and a
//! small trait by which the driver's test builds a world.
//!
//! Start reading at the module of the port in question.

pub mod chat;
pub mod sandbox;
pub mod store;
