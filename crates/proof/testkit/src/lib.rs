//! What tests hold in their hands: a manual clock, artifacts in memory, and strict fakes of closed services.
//!
//! Use this room from tests alone. It refuses to share code with what it judges: a fake reads the wire by itself.
//!
//! Start reading at [`blobs`] and [`clock`]; each fake has its own module.

pub mod blobs;
pub mod clock;
pub mod http;
pub mod image;
pub mod knowledge;
pub mod model_server;
pub mod programs;
pub mod sandbox;
pub mod telegram;
pub mod visible;
