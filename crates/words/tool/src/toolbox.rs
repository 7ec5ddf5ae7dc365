//! Tools that other programs offer.

use async_trait::async_trait;
use model::ToolSpec;
use serde_json::{Map, Value};

use crate::ToolError;

/// What a tool does to the world, as its server says; a server that says nothing is not believed to be harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It reads.
    ReadOnly,
    /// It may change something.
    Changes,
}

/// A tool of a server outside.
#[derive(Debug, Clone, PartialEq)]
pub struct OutsideTool {
    /// The server's name in the configuration.
    pub server: String,
    /// As the model calls it: unique among all tools, of `[a-zA-Z0-9_-]`, 64 characters at most.
    pub spec: ToolSpec,
    /// What it does.
    pub effect: Effect,
}

/// A file that a tool gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// A name to show; not a path.
    pub name: String,
    /// Its type.
    pub mime: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// What a tool gave back. Untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// Words for the model.
    pub text: String,
    /// Files, for the sandbox.
    pub files: Vec<File>,
    /// Whether the tool calls this an error.
    pub failed: bool,
}

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// The first try is on its way.
    Connecting,
    /// Its tools can be called.
    Ready {
        /// How many tools it offers.
        tools: usize,
    },
    /// It is away, and tried again by itself, for ever.
    Away {
        /// Why, for people.
        cause: String,
        /// How often it was tried since it was last there.
        tries: u32,
    },
    /// Its tools changed since the owner saw them: not called before the owner says so.
    Changed {
        /// What changed, for people.
        cause: String,
    },
}

/// A server, for people and for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name in the configuration.
    pub name: String,
    /// How it is.
    pub state: ServerState,
}

/// The servers of one profile.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// Every server, sorted by name.
    fn servers(&self) -> Vec<Server>;

    /// What can be called now, sorted by name.
    fn tools(&self) -> Vec<OutsideTool>;

    /// Calls a tool by the name that the model uses. Dropping the future gives the call up, and the server is told.
    ///
    /// # Errors
    /// [`ToolError`].
    async fn call(&self, tool: &str, arguments: &Map<String, Value>) -> Result<Output, ToolError>;
}
