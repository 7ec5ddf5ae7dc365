//! Chores: `cargo xtask test`, `bench`, `crash`, `schema`.
//!
//! Use this for what a person would otherwise type in several lines. It refuses to hide a step: each prints its name and its
//! time, and what can't be set up is said with the command that would do it.

mod judges;
mod podman;
mod setup;
mod steps;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Set up what is missing, then run every check and every test
    Test {
        /// Only tests whose name contains this
        filter: Option<String>,
    },
    /// Build for release and measure; prints a table
    Bench {
        /// Fewer rounds
        #[arg(long)]
        quick: bool,
    },
    /// Kill the gateway at every named point and cut the power of its disk, at length
    Crash {
        /// Messages in all
        #[arg(long, default_value_t = 10_000)]
        messages: u64,
        /// Cuts of the power
        #[arg(long, default_value_t = 10_000)]
        cuts: u64,
        /// Repeats an earlier run's decisions
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Let programs of others judge ours; without a network they are skipped
    Judge {
        /// One of them alone
        which: Option<judges::Judge>,
    },
    /// Write docs/tidings.schema.json and the key reference of docs/configuration.md anew
    Schema,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().chore {
        Chore::Test { filter } => steps::test(filter.as_deref()),
        Chore::Bench { quick } => steps::bench(quick),
        Chore::Crash {
            messages,
            cuts,
            seed,
        } => steps::crash(messages, cuts, seed),
        Chore::Judge { which } => judges::judge(which),
        Chore::Schema => steps::schema(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
