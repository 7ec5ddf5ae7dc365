//! The one HTTP client and its guards.
//!
//! Use this room for every request that leaves the gateway. It refuses to retry, to follow redirects or proxies that nobody
//! asked for, to keep cookies, to read a body without a limit, and to put an address into an error or a log: some services carry their secret
//! in the path.
//!
//! Invariants:
//! * An error tells whether the request may have arrived ([`NetError::may_have_arrived`]); when in doubt, it says yes.
//! * Every wait ends: connecting, waiting for an answer, waiting for the next piece of it.
//! * A file is sent piece by piece, with its length known beforehand, and never held whole.
//! * Plain HTTP reaches this machine only, unless the options say otherwise.
//! * A client for addresses that somebody else chose ([`Destinations::Public`]) reaches the public Internet alone: names are looked up
//!   once, each address is judged, and the connection goes to a judged address; each redirect is judged like the first address.
//!
//! Start reading at [`Client`], then [`NetError`]. [`reach`] judges addresses; [`sse`] decodes event streams and does no I/O.

mod body;
mod client;
mod error;
mod guard;
mod progress;
pub mod reach;
mod request;
mod response;
mod retry_after;
pub mod sse;
mod tls;

pub use body::Multipart;
pub use client::{Client, Destinations, Options, PlainHttp, Redirects};
pub use error::{NetError, Stage};
pub use guard::{Names, SystemNames};
pub use request::Request;
pub use response::Response;
