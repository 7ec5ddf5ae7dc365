//! Words on their way to a person: markdown to text with spans or to HTML, splitting, and the directives that models write.
//!
//! Use this room to turn what a model wrote into what a channel shows. It refuses to know a file, a platform or a runtime:
//! everything here is a pure function of text, or a small machine fed with text.
//!
//! Invariants:
//! * However a stream is cut into deltas, [`DirectiveParser`] and [`ReasoningFilter`] give the same.
//! * What belongs to a directive or to reasoning is never part of shown text, at no moment of the stream.
//! * Nothing vanishes: a directive that cannot be followed keeps its words in its readings, for the notice.
//! * Spans are in UTF-16 units, sorted, nest or are apart, and cut no surrogate pair, also after [`split()`].
//! * [`to_html`] writes no tag, attribute or address that it was not built to write.
//!
//! Start reading at [`parse`] and [`Directive`]; then [`rich()`], [`split()`] and [`to_html`].

mod block;
mod directive;
mod html;
mod reasoning;
mod rich;
mod slice;
mod split;
mod unseen;

pub use directive::{Directive, DirectiveParser, Flag, Flags, Parsed, Piece, Reading, parse};
pub use html::to_html;
pub use reasoning::ReasoningFilter;
pub use rich::rich;
pub use split::{split, split_markdown};
pub use unseen::unseen;
