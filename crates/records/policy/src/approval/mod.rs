//! What an agent may do outside the walls of its sandbox.
//!
//! Three things decide, and nothing else: what it wants to do ([`Action`]), what it has read by then ([`Labels`]), and who is
//! there to be asked ([`Context`]); the owner's words ([`Approvals`]) are the rule for each kind of action. No model judges.

mod action;
mod audit;
mod decide;
mod people;
mod shown;

pub use action::{Action, Class, Reach, Seen, addresses, sent};
pub use audit::{Audit, Decided, Outcome};
pub use decide::{Approvals, Because, Decision, Labels, Rule, Why, decide};
pub use people::{Context, Standing, context};
pub use shown::{Fingerprint, plain, shown};
