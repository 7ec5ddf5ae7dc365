//! The generate-content protocol of Google's Gemini API.

mod decode;
mod encode;
mod schema;

pub use decode::Decoder;
pub use encode::{Unsigned, encode};
