//! Ollama's own chat protocol. Unlike its look-alike of chat completions it can be told how large the context is.

mod decode;
mod encode;

pub use decode::Decoder;
pub use encode::encode;
