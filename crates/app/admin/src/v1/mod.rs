//! `/v1`: the surface that programs know from others, so that a client library works here as it is.
//!
//! Use this room for that surface's words on the wire. It refuses browsers' cookies, and to answer by itself: a request goes in
//! by [`chat_api::Api::ask`] like a message on any channel, and what comes back is what the outbox delivered.
//!
//! Invariants:
//! * A key stands in a header and nowhere else; it is known by its hash, and answers for its one profile.
//! * What can't be honoured is refused and named, never left out in silence; what only tunes a model is passed over (docs/api.md).
//! * Every refusal has the shape that client libraries read, and says whether asking again may help.
//! * Bodies that are being read share one budget of memory, however many come at once.
//!
//! Start reading at [`completions`].

mod answer;
mod ask;
mod body;
mod content;
mod fields;
mod files;
mod key;
mod models;
mod refusal;
mod stream;

pub use key::{KeyError, new_key};

pub(crate) use ask::{completions, not_there};
pub(crate) use files::content as file;
pub(crate) use key::{Desk, require};
pub(crate) use models::{all as models, one as model};
pub(crate) use refusal::Refusal;
