//! The one HTTP listener: web chat, outbox, their API, files, login, health, metrics, and `/v1` for programs.
//!
//! Use this room for what a browser or a probe may ask. It refuses to know channels other than its own two, engines and
//! the store's form: it speaks to ports, and a message goes in by [`chat_web::Web::say`] or [`chat_api::Api::ask`] like on any
//! other channel.
//!
//! Invariants:
//! * Nothing is served to a `Host` that is not ours, so a rebound name reaches nothing; and a foreign `Origin` changes nothing.
//! * Pages, API and files need an open session; a login link opens one, once. `/v1` needs a key, and
//!   neither opens what is the other's. Tokens and keys are known by hash alone and never logged.
//! * No byte that a person or an agent made is served as something that runs in our origin (`files`, `kind`).
//! * Pages hold no inline script or style, and load nothing from anywhere else.
//! * Every route is a row of one table, and `/api/openapi.json` is made of the same rows.
//! * Bodies, waits, connections and lists are bounded.
//!
//! Start reading at [`serve`], then `router` and `guard`.

mod asked;
mod assets;
mod conversations;
mod error;
mod events;
mod files;
mod guard;
mod kind;
mod login;
mod metrics;
mod openapi;
mod options;
mod page;
mod parcels;
mod progress;
mod router;
mod sandboxes;
mod serve;
mod servers;
mod usage;
mod v1;
mod view;

pub use error::Error;
pub use login::{LINK_LIVES, new_login};
pub use options::{
    AccountHealth, ChannelStatus, InboxPort, LetGo, Money, MoneyPort, Options, ProfileCard,
    ProfileStatus, Programs, Status, StatusPort,
};
pub use serve::serve;
pub use servers::{NoServers, ToolOffer, ToolServer, ToolServerState, ToolServers, ToolWaiting};
pub use v1::{KeyError, new_key};
