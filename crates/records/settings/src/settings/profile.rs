//! A tenant, as the file describes it.

use std::collections::BTreeMap;

use model::Cost;
use sandbox::{Destination, Driver, Limits, Mount, Network, Placement, Remote, SandboxSpec};
use waybill::Secret;

use super::{Approval, DriverChoice, ModelChoice, SearchKind};

/// `[profiles.NAME]`, with what it inherits.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Which model answers. A named provider is in [`super::Settings::providers`].
    pub model: ModelChoice,
    /// Whom to ask when it fails, in order. Every named provider is in [`super::Settings::providers`].
    pub fallback: Vec<ModelChoice>,
    /// The persona's file in the profile's folder; `None`: `SOUL.md` if it is there.
    pub soul: Option<String>,
    /// Where commands run.
    pub sandbox: SandboxSettings,
    /// Bounds of a turn and of money.
    pub limits: TurnLimits,
    /// What it reads of the web.
    pub web: WebSettings,
    /// Servers whose tools it may call, by name; those alone that are enabled and whose secrets are there.
    pub mcp: BTreeMap<String, McpServer>,
    /// What it may do by itself.
    pub approvals: Approvals,
}

/// `[profiles.NAME.sandbox]`
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// How it is made.
    pub driver: DriverChoice,
    /// The container's image.
    pub image: String,
    /// Folders of the host; none shows the home of Tidings.
    pub mounts: Vec<Mount>,
    /// Environment of every command.
    pub env: BTreeMap<String, String>,
    /// Secret environment of every command.
    pub secret_env: BTreeMap<String, Secret>,
    /// Network.
    pub network: Network,
    /// What may be reached all the same where the network is [`Network::None`].
    pub allow: Vec<Destination>,
    /// The machine of [`DriverChoice::Ssh`]; there with that driver and no other.
    pub remote: Option<Remote>,
    /// Bounds.
    pub limits: Limits,
    /// Who shares one.
    pub placement: Placement,
}

impl SandboxSettings {
    /// What the sandbox is made of, once it is known how: who chose a driver for [`DriverChoice::Auto`] gives it here.
    #[must_use]
    pub fn spec(&self, driver: Driver) -> SandboxSpec {
        SandboxSpec {
            driver,
            image: self.image.clone(),
            mounts: self.mounts.clone(),
            env: self.env.clone(),
            secret_env: self.secret_env.clone(),
            network: self.network,
            allow: self.allow.clone(),
            remote: self.remote.clone(),
            limits: self.limits,
        }
    }
}

/// `[profiles.NAME.limits]`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnLimits {
    /// How often a turn may ask the model.
    pub turn_steps: u32,
    /// Money for one turn.
    pub usd_per_turn: Option<Cost>,
    /// Money for a day (UTC).
    pub usd_per_day: Option<Cost>,
    /// Money for a calendar month (UTC).
    pub usd_per_month: Option<Cost>,
    /// How long a question waits for its answer, in seconds.
    pub ask_seconds: u64,
    /// Largest file that is taken in or sent, in bytes.
    pub attachment_bytes: u64,
}

/// `[profiles.NAME.web]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSettings {
    /// Whether pages may be read.
    pub enabled: bool,
    /// With what to search, if there is something; none where [`Self::enabled`] is false.
    pub search: Option<WebSearch>,
}

/// A search engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSearch {
    /// Which.
    pub kind: SearchKind,
    /// Where it is, without a slash at the end; always there for [`SearchKind::Searxng`], and `None` where the engine's own address is meant.
    pub url: Option<String>,
    /// Its key; always there for [`SearchKind::Brave`] and [`SearchKind::Tavily`].
    pub key: Option<Secret>,
}

/// `[profiles.NAME.mcp.SERVER]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// How it is reached.
    pub transport: McpTransport,
    /// The only tools that may be called, by its own names, never empty; `None`: all.
    pub tools: Option<Vec<String>>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program on this machine, outside every sandbox, by the owner's word.
    Program {
        /// The program and its arguments; never empty.
        command: Vec<String>,
        /// Its environment.
        env: BTreeMap<String, String>,
        /// Its secret environment; no name is in `env` as well.
        secret_env: BTreeMap<String, Secret>,
    },
    /// Over HTTP.
    Http {
        /// Where; no slash at the end is dropped or added.
        url: String,
        /// Headers, by name.
        headers: BTreeMap<String, Secret>,
    },
}

/// `[profiles.NAME.approvals]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approvals {
    /// Messages to other chats of the profile.
    pub send: Approval,
    /// Tools of other servers that may change something.
    pub mcp: Approval,
    /// Writing into the memory.
    pub memory: Approval,
    /// Reading pages.
    pub web: Approval,
}
