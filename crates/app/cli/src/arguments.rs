//! The command line, defined once: help comes from here.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use outbox::PartState;
use waybill::MessageId;

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
    /// See and check the configuration
    Config {
        /// What to do
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// See every parcel and its history
    Outbox {
        /// What to do
        #[command(subcommand)]
        command: OutboxCommand,
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
        /// Only those with a part in this state
        #[arg(long, value_name = "STATE")]
        state: Option<PartState>,
    },
    /// Show one parcel with its whole history
    Show {
        /// The parcel's id (msg_…)
        id: MessageId,
    },
}
