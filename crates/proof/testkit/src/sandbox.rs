//! Sandboxes for tests: one that refuses everything, and one that is a plain shell in a folder.

mod none;
mod shell;

pub use none::NoSandbox;
pub use shell::PlainShell;
