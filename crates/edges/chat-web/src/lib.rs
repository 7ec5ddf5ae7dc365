//! The web chat as a channel: our own "platform", whose memory is [`session::VisibleLog`].
//!
//! Use this room for what is said and shown in the web chat. It refuses to know HTTP, pages and cookies (they are in
//! `admin`), and it renders nothing: it keeps markdown, and HTML is made when a page asks.
//!
//! Invariants:
//! * What a person says is durable before [`Web::say`] returns `Ok`; saying it again with the same id changes nothing.
//! * A question is visible before its answer: each conversation has a gate that both pass one at a time.
//! * A part is shown once, whatever how often it is delivered: the log refuses a key that it has.
//! * Previews and activity live in memory alone, the newest wins, and all of it is bounded.
//!
//! Start reading at [`Web`].

mod adapter;
mod live;
mod said;
mod taps;
mod web;

pub use live::{Live, Question, Run, Snapshot, Step, Subscription};
pub use said::{Heard, LONGEST_TEXT, Said, SayError};
pub use taps::{TapAnswer, Tapped};
pub use web::{OWNER, Options, Ports, Web};
