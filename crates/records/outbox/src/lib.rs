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

mod act;
mod compose;
mod decide;
mod forget;
pub mod key;
pub mod meaning;
mod message;
mod notice;
mod outlet;
mod pace;
mod plan;
mod store;
pub mod view;
pub mod when;

pub use act::{Acted, Verb};
pub use compose::{Asked, Attachment, Draft, Envelope, ask, compose};
pub use decide::{Channel, Decision, Event, Gate, OtherForm, Repeat, Standing, decide};
pub use forget::forget;
pub use message::{
    AttemptRow, Death, MessageKind, MessageRow, NewMessage, NewPart, PartRow, PartState,
};
pub use notice::{Gathered, Loss, gather, held, lost, not_attached, undelivered, undelivered_to};
pub use outlet::{HealthSink, HomeChat, Outlet, Tallied, Tally};
pub use pace::{Pace, Pass};
pub use plan::{Backoff, MOST_CRASHES, MOST_TRIES, SILENT_ATTEMPTS};
pub use store::{
    Aside, Claimed, Claims, Crash, ListFilter, Notice, OutboxStore, QueueDepth, Settlement,
    StoreError, Turnstile, Waiting,
};
