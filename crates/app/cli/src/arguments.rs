//! The command line, defined once: help comes from here.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use waybill::{ClientId, MessageId, ProfileId};

use crate::outbox::{Which, Wish};
use crate::talk::Wish as Wishes;

/// A gateway between people and AI agents: every word and every file arrives, or the person is told why not.
#[derive(Debug, Parser)]
#[command(
    name = "tidings",
    version,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub(crate) struct Arguments {
    /// Where everything is kept (default: TIDINGS_HOME, else ~/.tidings)
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Print JSON for programs: one object, or one a line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the gateway in the foreground
    Up {
        /// Listen here instead of where tidings.toml says (loopback only)
        #[arg(long, value_name = "ADDR", value_parser = settings::listen_address)]
        listen: Option<SocketAddr>,
    },
    /// Talk with an agent in the terminal
    Chat {
        /// How
        #[command(flatten)]
        wish: Wishes,
    },
    /// Print a fresh one-time link to the web chat
    Login,
    /// Make a whole copy of the home, also while the gateway runs
    Backup {
        /// A new or an empty folder
        #[arg(value_name = "DIR")]
        place: PathBuf,
        /// Copy the folder secrets/ too: whoever has the copy has them
        #[arg(long)]
        with_secrets: bool,
    },
    /// See and check the configuration
    Config {
        /// What to do
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// See every parcel and its life; send it again, take it back, settle it
    Outbox {
        /// What to do
        #[command(subcommand)]
        command: OutboxCommand,
    },
    /// See the agents' sandboxes; end them, look inside
    Sandboxes {
        /// What to do
        #[command(subcommand)]
        command: SandboxesCommand,
    },
    /// Servers whose tools the agents may call (docs/mcp.md)
    Mcp {
        /// What to do
        #[command(subcommand)]
        command: McpCommand,
    },
    /// Keys by which programs ask (docs/api.md)
    ApiKey {
        /// What to do
        #[command(subcommand)]
        command: ApiKeyCommand,
    },
    /// See what models were used for, by day, profile and model, and what that cost
    Usage {
        /// So many days (UTC), today included
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3660))]
        days: u32,
    },
    /// Try everything that a gateway needs, each profile's sandbox too, and say what does not work
    Doctor,
}

/// `api-key` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum ApiKeyCommand {
    /// Make a key and print it, this once
    Add {
        /// The program that will hold it
        #[arg(value_parser = str::parse::<ClientId>)]
        name: ClientId,
        /// The profile that answers it
        #[arg(long, short, value_name = "PROFILE", value_parser = str::parse::<ProfileId>)]
        profile: ProfileId,
    },
    /// List keys: whose, for which profile, when used last
    List,
    /// Make a key worthless, at once
    Revoke {
        /// Its name
        #[arg(value_parser = str::parse::<ClientId>)]
        name: ClientId,
    },
}

/// `mcp` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// List them: how each is, what it offers, what waits for you
    List,
    /// Accept what a server offers that is new or changed since you saw it
    Accept {
        /// Its name in tidings.toml
        server: String,
        /// Whose it is, if more than one profile has a server of that name
        #[arg(long, short, value_name = "PROFILE", value_parser = str::parse::<ProfileId>)]
        profile: Option<ProfileId>,
    },
}

/// `sandboxes` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum SandboxesCommand {
    /// List those that stand, with what runs in them
    List,
    /// End one with all that runs in it; its workspace and home stay
    Stop {
        /// Its id, or the first six or more signs of it
        id: String,
    },
    /// End those that nobody used for longer than idle_seconds
    Reap,
    /// Open a shell in one
    Shell {
        /// A profile's name, or a sandbox's id
        name: String,
    },
}

/// `config` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every problem of tidings.toml at once
    Check,
    /// Print every value and where it comes from
    Show,
    /// Print the JSON Schema of tidings.toml
    Schema,
    /// Print where tidings.toml lies
    Path,
}

/// `outbox` commands.
#[derive(Debug, Subcommand)]
pub(crate) enum OutboxCommand {
    /// List parcels, newest first
    List {
        /// Which
        #[command(flatten)]
        which: Box<Which>,
    },
    /// Show one parcel's whole life, and what can be done with it
    Show {
        /// The parcel's id (msg_…)
        #[arg(value_parser = parcel)]
        id: MessageId,
    },
    /// Send a parcel again that waits, or was given up
    Retry(Wish),
    /// Don't send a parcel any more; what stands behind it goes on
    Cancel(Wish),
    /// Count a parcel as sent: it was seen to have arrived
    MarkSent(Wish),
}

/// Reads a parcel's id.
pub(crate) fn parcel(text: &str) -> Result<MessageId, String> {
    text.parse::<MessageId>()
        .map_err(|error| format!("{error}; `tidings outbox list` shows the ids"))
}
