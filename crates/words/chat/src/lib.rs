//! What people and agents say to each other, and what a chat service's adapter must do.
//!
//! Use this room for the words between a channel and the rest of the house. It refuses to know a platform's name, wire or
//! markup, and it does no I/O.
//!
//! Invariants:
//! * An outgoing part holds [`sandbox::ArtifactRef`]s, never a path, and no secrets: it may be shown in a bug report.
//! * An attempt ends in a [`Receipt`] or in a [`Fault`]; "no answer" is a fault of its own kind, [`FaultKind::Unknown`].
//! * [`Fault`] and [`FaultKind`] are closed: whoever decides on them matches every case.
//!
//! Start reading at [`ChatAdapter`].

mod adapter;
mod descriptor;
mod fault;
mod inbound;
mod part;
mod rich;

pub use adapter::{
    Accepted, Activity, ChatAdapter, Delivery, Done, DownloadError, Event, Found, Identity,
    InboundSink, ListenError, Preview, Readers, SinkError,
};
pub use descriptor::{
    CarrierRule, Descriptor, Grade, PhotoRule, Rate, Rates, Rendering, WhenUnknown,
};
pub use fault::{Fault, FaultKind, Receipt, ThrottleScope};
pub use inbound::{
    FileHandle, FileKind, Inbound, InboundFile, InboundKind, Place, Preface, Quoted, Sender,
    SenderId,
};
pub use part::{Body, Choice, IdempotencyKey, Op, Shape, Step, Way};
pub use rich::{RichText, Span, Style};
