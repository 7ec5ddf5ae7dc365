//! Codecs and transport of model APIs.
//!
//! Use this room to ask a model over HTTP. It refuses to retry (the agent decides), to run anything, to read the environment, and to
//! repair what a model wrote: a call that can't be read is handed on as such.
//!
//! Invariants:
//! * The codec does no I/O; it doesn't matter where the network cut the stream.
//! * Tolerant in what it takes, strict in what it sends: every call in a request is answered, roles alternate, arguments are JSON.
//! * A [`model::Reply`] needs the stream's own end marker; a cut or a silence is an error.
//! * Error texts are bounded, and never hold the key or an address.
//!
//! Start reading at [`HttpModel`], then [`openai_chat`]. [`discover`] finds local servers, [`known`] lists vendors by the name of their key.

pub mod discover;
mod failure;
mod http;
pub mod known;
pub mod openai_chat;

pub use http::{HttpModel, Options};
