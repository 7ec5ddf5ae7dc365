//! The responses protocol of OpenAI. Nothing is stored at the provider: the conversation goes whole with each request.

mod decode;
mod encode;

pub use decode::Decoder;
pub use encode::{Sealed, encode};
