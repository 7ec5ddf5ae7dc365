//! Cutting long texts into pieces that a platform takes.
//!
//! A cut goes where a reader would make it: between paragraphs, lines, sentences, words, and only then inside a word, but not
//! inside what looks like one sign. The first three are taken if they leave the piece at least half full.
//!
//! `place` finds the place; `rich` and `markdown` use it.

mod markdown;
mod place;
mod rich;
#[cfg(test)]
mod tests;

pub use markdown::split_markdown;
pub use rich::split;
