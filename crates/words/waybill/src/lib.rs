//! Identity as values.
//!
//! Use this room for anything that says *whose* something is: ids, keys, scopes and the waybill that an
//! outgoing message carries. It refuses to look anything up, to read the environment, and to know a
//! vendor's name; it does no I/O.
//!
//! Invariants:
//! * Keys are injective: two different sources never share a text form, a file name or a label
//!   ([`SessionKey`], [`SandboxKey`], [`ChatKey`], [`label`]).
//! * Scopes are made only downward, [`ProfileScope`] → [`SessionScope`] → [`TurnScope`]; a [`Waybill`] is made
//!   only from a scope. None of them has a `Default`, a `From<String>` or public fields.
//! * The text form of an id has a prefix (`ses_…`, `trn_…`) that parsing checks.
//!
//! Start reading at [`scope`], then [`Waybill`].

mod address;
mod escape;
mod id;
mod key;
pub mod label;
mod limit;
mod name;
mod port;
pub mod scope;
mod secret;
#[path = "waybill.rs"]
mod slip;

pub use address::{ChatKey, Conversation, Target, TargetError, Thread};
pub use escape::EscapeError;
pub use id::{IdError, JobId, MessageId, SessionId, TaskId, TurnId};
pub use key::{KeyError, Origin, Placement, SandboxKey, SessionKey};
pub use limit::Limit;
pub use name::{AccountId, ClientId, NameError, ProfileId};
pub use port::{Clock, Ids};
pub use scope::{ProfileScope, SessionScope, TurnScope};
pub use secret::Secret;
pub use slip::{Anchor, NoDestination, Waybill};

pub use jiff::Timestamp;
