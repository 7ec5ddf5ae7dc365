//! Secrets taken out of text, however they are written.
//!
//! Use this room wherever words or output leave a place that may know a secret: what a tool says, what a model reads, what a
//! person sees. It refuses to guess: it knows the values that it is given and no patterns of its own, and it does not look into
//! files that are sent.
//!
//! Invariants:
//! * A value of [`SHORTEST`] bytes or more never passes, plain or in one of the written forms that `forms` lists, also when lines
//!   are broken in the middle of it.
//! * A stream says the same as the whole text, wherever it is cut.
//! * Nothing here prints a value: the matcher has no `Debug` that shows one.
//!
//! Start reading at [`Redactor`].

mod forms;
mod redactor;
mod stream;

pub use redactor::{Redactor, SHORTEST, TooMany};
pub use stream::Stream;
