//! The chat completions protocol that OpenAI began and most servers speak, with its dialects.

mod calls;
mod decode;
mod encode;
mod messages;

pub use decode::Decoder;
pub use encode::{Effort, encode};
