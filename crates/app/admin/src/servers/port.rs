//! What a profile's servers of tools are to their owner.

use serde::{Deserialize, Serialize};
use waybill::ProfileId;

/// How a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolServerState {
    /// The first try is on its way.
    Connecting,
    /// Its tools can be called.
    Ready,
    /// It is away, and tried again by itself.
    Away,
    /// Some of its tools wait for the owner's word; the others can be called.
    Changed,
    /// No gateway runs that would look.
    Resting,
}

impl ToolServerState {
    /// Its name in every interface.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Away => "away",
            Self::Changed => "changed",
            Self::Resting => "resting",
        }
    }
}

/// A tool that can be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOffer {
    /// As models call it.
    pub name: String,
    /// What it says it does.
    pub description: String,
    /// Whether it says that it changes nothing.
    pub reads_only: bool,
}

/// A tool that waits for the owner's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolWaiting {
    /// The server's own name of it.
    pub name: String,
    /// What it says it does now.
    pub description: String,
}

/// A server of tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolServer {
    /// Whose.
    pub profile: ProfileId,
    /// Its name in the configuration.
    pub name: String,
    /// How it is.
    pub state: ToolServerState,
    /// Why it is so, for people.
    pub cause: Option<String>,
    /// How often it was tried since it was there.
    pub tries: u32,
    /// What can be called.
    pub tools: Vec<ToolOffer>,
    /// What waits.
    pub waiting: Vec<ToolWaiting>,
    /// What the owner says yes to, if something waits.
    pub question: Option<String>,
}

/// Looks after servers. Must answer at once.
pub trait ToolServers: Send + Sync {
    /// Every server of every profile.
    fn standing(&self) -> Vec<ToolServer>;

    /// The owner accepts what waits of a server; `question` says what was shown.
    ///
    /// # Errors
    /// Why not, for people.
    fn accept(&self, profile: &ProfileId, server: &str, question: &str) -> Result<(), String>;
}

/// No servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoServers;

impl ToolServers for NoServers {
    fn standing(&self) -> Vec<ToolServer> {
        Vec::new()
    }

    fn accept(&self, _profile: &ProfileId, server: &str, _question: &str) -> Result<(), String> {
        Err(format!("there is no server '{server}'"))
    }
}
