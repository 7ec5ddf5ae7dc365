//! Telegram, by its Bot API: one bot is one account.
//!
//! Use this room for everything that only Telegram does. It refuses to decide anything: who may talk, what is retried and
//! what a lost answer means for the person are others' business; here an attempt becomes a receipt or a fault, once.
//!
//! Invariants:
//! * One poll is in flight, and its offset moves only after the events were made durable; an update that can't be understood
//!   is handed on as such and never blocks the next one.
//! * Text goes out with entity arrays, never with markup: nothing can fail to parse.
//! * The token shows in no error, no log and no debug output.
//! * Files are streamed in both directions, and bounded.
//!
//! Start reading at [`Telegram`]; then `listen` (the poll), `inbound` (what a message says), `outgoing` and `deliver` (what we
//! say), `classify` (what a refusal means).

mod adapter;
mod api;
mod carrier;
mod classify;
mod deliver;
mod fetch;
mod formatting;
mod inbound;
mod listen;
mod options;
mod outgoing;
mod pace;
mod quoted;
mod taps;
mod update;
mod wire;

pub use adapter::Telegram;
pub use options::{Options, OptionsError};
pub use pace::Pace;
