//! A strict Telegram Bot API server on loopback.
//!
//! Use this fake from tests of whatever speaks to Telegram. It keeps several bots by token, hands out updates with the exact
//! offset rules, keeps what people see in each chat, records each request, and does the harm that a test scripts.
//!
//! Invariants:
//! * What the platform would refuse is refused in its own words; what a careful client must never send (unknown parameters,
//!   overlapping or cut entities, negative offsets) is also written down in [`Telegram::violations`], which tests assert empty.
//! * A chat must be known (someone wrote there, or [`Telegram::open_chat`]) before a bot may send to it; a topic too.
//! * It shares no code with any client: it reads the wire by itself.
//!
//! What goes wrong is scripted call by call ([`Telegram::script`]), at random by a seed ([`Telegram::weather`]), or follows from
//! speaking too fast ([`Telegram::enforce_rates`]). [`Telegram::ledger`] is the whole book of a run.
//!
//! Start reading at [`Telegram`], then [`Said`] (what people write) and [`Rule`] with [`Trouble`] (what goes wrong).

mod act;
mod answer;
mod check;
mod edit;
mod files;
mod ledger;
mod listener;
mod polls;
mod rates;
mod request;
mod said;
mod script;
mod server;
mod state;
mod taps;
mod weather;

pub use check::Entity;
pub use rates::{RateLimits, Window};
pub use request::{Call, Upload};
pub use said::{Injected, Said};
pub use script::{Gate, Rule, Trouble};
pub use server::Telegram;
pub use state::{Visible, VisibleFile};
pub use taps::{Button, Tap};
pub use weather::Weather;
