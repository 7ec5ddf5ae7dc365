//! The independent judge of delivery: what the product says it did, against what the platform saw and what was asked.
//!
//! Use this crate after a run in which everything was stopped and drained. It shares no code with the product: it reads the JSON
//! of `tidings outbox list --json`, the JSON ledger of the fake platform, and what the driver wrote in. It refuses to guess:
//! a call is joined to the attempt whose row was there when the call arrived, and what can't be joined is a finding.
//!
//! The invariants:
//! * **I1** each part ended delivered, given up with a notice, or held; each receipt shows; each inbound message got its answer.
//! * **I2** in each lane, parts showed for the first time in the order of their sequence.
//! * **I3** a part showed twice at most once per attempt whose end is unknown, and then with a mark; never on a keyed channel.
//! * **I4** each call has its own attempt row, there before the call and open while it ran.
//! * **I5** nothing was sent of a part after it was cancelled or expired.
//! * **I6** nothing was sent before a `retry_after` that the product had read was over, restarts or not.
//! * **I7** nothing showed in a chat, or from a bot, that it was not for.
//!
//! Start reading at [`check`].

mod evidence;
mod instant;
mod join;
mod rules;

pub use evidence::{Call, Death, Driver, Evidence, Fake, File, Inbound, Part, Row, Try, Visible};
pub use instant::milliseconds;
pub use rules::{Finding, Report, check};
