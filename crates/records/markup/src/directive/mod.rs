//! The MEDIA directive: what a model writes to attach a file, taken out of the text while it streams.
//!
//! One parser serves the stream and the final text: it moves one character at a time, so that the way a text was cut into
//! deltas cannot change what comes out. It knows nothing of files: paths are text here, and where blanks make a line
//! ambiguous it gives several readings, of which whoever can look chooses one. `docs/directive.md` has the rules for people.
//!
//! Start at [`DirectiveParser`]; [`Parsed`] is what most callers want.

mod hold;
mod layout;
mod marks;
mod output;
mod parser;
mod path;
mod payload;
mod piece;
mod reading;
mod scan;
#[cfg(test)]
mod tests;

pub use parser::DirectiveParser;
pub use piece::{Directive, Flag, Flags, Parsed, Piece, Reading, parse};
