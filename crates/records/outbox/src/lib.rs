//! Every parcel's life: the delivery state machine, lanes, the retry plan, notices, and the store that they need.
//!
//! Use this room to decide what happens to a part. It is pure: it sends nothing, reads no clock and opens no file.
//!
//! Invariants:
//! * A part is in exactly one [`PartState`]; [`decide`] alone says which comes next, for every fault there is.
//! * A payload is frozen when it is composed and holds no secret; its key ([`key`]) is derived and never random.
//! * An attempt whose answer we did not get is [`PartState::Unknown`], never a failure and never a success.
//! * A notice ([`MessageKind::Notice`]) that dies is told once more, to the owner at home; one that dies there breeds none.
//!
//! Start reading at [`decide`], then [`compose`].

mod compose;
mod decide;
pub mod key;
mod message;
mod notice;
mod outlet;
mod plan;
mod store;

pub use compose::{Attachment, Draft, Envelope, compose};
pub use decide::{Decision, Event, Gate, Standing, decide};
pub use message::{AttemptRow, MessageKind, MessageRow, NewMessage, NewPart, PartRow, PartState};
pub use notice::{chat_gone, not_attached, undelivered, undelivered_to};
pub use outlet::{HealthSink, HomeChat, Outlet};
pub use plan::{Backoff, MOST_TRIES};
pub use store::{Claimed, ListFilter, OutboxStore, Settlement, StoreError};
