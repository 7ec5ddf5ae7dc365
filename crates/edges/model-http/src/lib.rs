//! Codecs and transport of model APIs.
//!
//! Use this room to ask a model over HTTP. It refuses to retry (the agent decides), to run anything, to read the environment, and to
//! repair what a model wrote: a call that can't be read is handed on as such.
//!
//! Invariants:
//! * The codec does no I/O; it doesn't matter where the network cut the stream.
//! * Tolerant in what it takes, strict in what it sends: every call in a request is answered, roles alternate, arguments are JSON.
//! * A picture on the wire is whole, of a kind and a size that the provider takes, by its own bytes; words stand for every other.
//! * Reasoning is never part of the answer, and goes back only to the route that it came from.
//! * A [`model::Reply`] needs the stream's own end marker; a cut or a silence is an error.
//! * Error texts are bounded, and never hold the key or an address.
//!
//! Start reading at [`HttpModel`], then [`Api`] and [`Decode`]; each protocol has a module of its own. [`discover`] finds local servers, [`known`] lists vendors by the name of their key.

mod answer;
pub mod anthropic;
mod arguments;
mod codec;
pub mod discover;
mod failure;
pub mod gemini;
mod http;
mod keyring;
pub mod known;
mod lines;
mod manner;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
mod pictures;
mod remedy;
mod said;
mod transcript;

pub use answer::{Decode, Limits, Progress};
pub use codec::Api;
pub use http::{HttpModel, Options};
pub use lines::{LineDecoder, TooLong};
pub use manner::{Eyes, Form, Manner, Thinking};
