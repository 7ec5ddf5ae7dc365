//! Chores: `cargo xtask test`, `bench`, `schema`.
//!
//! Use this for what a person would otherwise type in several lines. It refuses to hide a step: each prints its name and its
//! time, and what can't be set up is said with the command that would do it.

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
    /// Write docs/tidings.schema.json and the key reference of docs/configuration.md anew
    Schema,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().chore {
        Chore::Test { filter } => steps::test(filter.as_deref()),
        Chore::Bench { quick } => steps::bench(quick),
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
