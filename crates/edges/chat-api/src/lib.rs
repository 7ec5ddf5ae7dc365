//! Programs as a channel: what they ask comes in like any message, and what the outbox delivers goes back to whoever waits.
//!
//! Use this room for requests and those who wait for their answers. It refuses to know HTTP, keys and the form of a request
//! (they are in `admin`), and it keeps no answer: an answer is the parts of the outbox, so a request that is asked again reads
//! the same ones.
//!
//! Invariants:
//! * A request is durable before anybody waits for it; with a key of its own it is asked once, however often it comes.
//! * An answer is complete when each of its parts was delivered or is at its end; nobody reads a part before.
//! * A part counts as delivered although nobody waits any more: it stays readable for whoever asks again.
//! * Words that are shown early are those of the request's own turn, or none: previews don't say whose they are, so they are
//!   taken only while it is certain (`rooms`).
//! * A conversation is named after its client, so no client reads another's.
//!
//! Start reading at [`Api::ask`], then [`Waiting`].

mod adapter;
mod api;
mod early;
mod request;
mod rooms;
mod waiting;

pub use api::{Api, Options, Ports};
pub use early::Early;
pub use request::{
    AskError, HOLDER, LONGEST_SESSION, LONGEST_TEXT, MOST_FILES, Request, RequestKey, client_of,
};
pub use waiting::{News, WaitError, Waiting};
