//! The chat completions protocol that OpenAI began and most servers speak, with its dialects.

mod calls;
mod decode;
mod encode;
mod transcript;

pub use decode::{Decoder, Limits, Progress};
pub use encode::{Effort, encode};
