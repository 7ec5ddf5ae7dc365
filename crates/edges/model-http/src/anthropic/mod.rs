//! The messages protocol of Anthropic, which several other servers speak as well.

mod decode;
mod encode;

pub use decode::Decoder;
pub use encode::encode;
