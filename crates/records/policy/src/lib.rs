//! Who may speak, to which profile, who may open the dashboard, and what an agent may do outside its sandbox: pure decisions.
//!
//! Use this room to decide on an event or a visitor. It refuses to remember anything by itself; what must be remembered
//! goes through [`AccessStore`].
//!
//! Invariants:
//! * An empty list is nobody. A sender is known by the platform's immutable id, never by a name.
//! * What is not decided is refused: there is no default profile.
//! * What an agent does is inside its sandbox, or it is an [`Action`] with a rule ([`decide`]); a context that is not known is
//!   refused.
//!
//! Start reading at [`admit`], then [`decide`].

mod access;
mod admission;
mod api_key;
mod approval;
pub mod budget;
mod command;
pub mod failover;

pub use access::{AccessStore, TokenHash};
pub use admission::{Rules, Slash, Verdict, admit};
pub use api_key::{AddedKey, ApiKey, KeyStore};
pub use approval::{
    Action, Approvals, Audit, Because, Class, Context, Decided, Decision, Fingerprint, Labels,
    Outcome, Reach, Rule, Seen, Standing, Why, addresses, context, decide, plain, sent, shown,
};
pub use command::{COMMANDS, Command, CommandSpec, While, Who, argument, find};
