//! Tools of other programs, by the Model Context Protocol: programs that the gateway starts, and services at an address.
//!
//! Use this room for everything that speaks that protocol. It refuses to decide whether a call is allowed (that is the agent's
//! choke point), to answer a server's own questions to a model or a person, to log in anywhere by itself, and to believe a word of
//! what a server says: descriptions, schemas and results are cut, cleaned and handed on as somebody else's text.
//!
//! Invariants:
//! * A server that hangs, dies or lies costs its own tools and nothing else: each has a task of its own, and is tried again for ever.
//! * What a server offers was seen by the owner, or is the first that was ever seen of it ([`Seen`]): a tool whose words change, or
//!   that is added later, is not offered before the owner says so.
//! * A program lives no longer than its connection, and neither does anything that it started ([`minder`]).
//! * Every message, list, text and wait has a bound ([`Limits`] and the constants beside their reasons).
//! * No secret stands in an error, a log or an argument list.
//!
//! Start reading at [`Servers`], then `server` (one server's life) and `connection` (one of its lives).

mod backoff;
mod connection;
mod content;
mod handler;
mod http;
mod listing;
pub mod minder;
mod names;
mod options;
mod program;
mod schema;
mod seen;
mod server;
mod servers;
mod text;
mod watched;

pub use options::{Address, Limits, Options, Program, Reach};
pub use seen::{Known, Seen, Waiting};
pub use servers::{Ports, Servers, Standing};
