//! Who may speak, to which profile, and who may open the dashboard: pure decisions.
//!
//! Use this room to decide on an event or a visitor. It refuses to remember anything by itself; what must be remembered
//! goes through [`AccessStore`].
//!
//! Invariants:
//! * An empty list is nobody. A sender is known by the platform's immutable id, never by a name.
//! * What is not decided is refused: there is no default profile.
//!
//! Start reading at [`admit`].

mod access;
mod admission;
mod command;

pub use access::{AccessStore, TokenHash};
pub use admission::{Rules, Verdict, admit};
pub use command::{COMMANDS, Command, CommandSpec, While, Who, argument, find};
