//! The crash matrix: the real binary dies, stops or stumbles at every named point, is started again and drained, and an
//! independent judge compares the ledgers.
//!
//! Use this crate to show that nothing is lost, whatever happens to the process and whatever the platform does to its calls. It
//! refuses to look into the product: it starts the binary, writes in through the fake platform, reads `tidings outbox list --json`,
//! and leaves the judgement to `tidings-checker`.
//!
//! A case is a row (where it dies), a behaviour of the platform, and a seed. The seed fixes what is written in, at which passage
//! it dies and the dice of the weather; how the tasks of the product interleave is the machine's.
//!
//! Start reading at [`Case`], then [`run`].

mod case;
mod evidence;
mod gateway;
mod matrix;
mod mishap;
mod run;
mod speech;
mod table;
mod world;

pub use case::{Case, Outcome};
pub use matrix::{Plan, matrix};
pub use mishap::{Behaviour, Mishap, Row};
pub use run::run;
pub use table::table;
