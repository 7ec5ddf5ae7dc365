//! The command line, defined once: help comes from here.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use waybill::MessageId;

use crate::outbox::{Which, Wish};

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
    /// Try everything that a gateway needs, each profile's sandbox too, and say what does not work
    Doctor,
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
