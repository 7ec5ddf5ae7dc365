//! What the agent sees of model servers and their dialects.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

mod anthropic;
mod dialects;
mod discovery;
mod exchange;
mod gemini;
mod histories;
mod keys;
mod kit;
mod ollama;
mod openai_responses;
mod server;
mod transport;
