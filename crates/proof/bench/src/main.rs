//! `cargo xtask bench`: what the release binary costs, on this machine, as a table.
//!
//! Use this room for numbers. It refuses to pass or fail anything: a timed test is a flaky test. Figures stand beside what
//! they depend on (an fdatasync of the same disk, the model's own time), so that they can be compared between machines.
//!
//! `--quick` measures less, `--sandboxes` what sandboxes cost alone, `--api` what turns by the API cost alone.
//!
//! Start reading at [`main`].

mod delivery;
mod gateway;
mod machine;
mod outbox;
mod parser;
mod programs;
mod sandboxes;
mod startup;
mod table;
mod turns;

use std::path::PathBuf;

use anyhow::Context as _;

use crate::table::Table;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    /// Starts of the binary.
    pub(crate) starts: usize,
    /// Turns, one after the other.
    pub(crate) turns: usize,
    /// Turns for each conversation, side by side.
    pub(crate) each: usize,
}

fn binary() -> anyhow::Result<PathBuf> {
    let mine = std::env::current_exe().context("this program's own path is unknown")?;
    let path = mine.with_file_name("tidings");
    anyhow::ensure!(
        path.exists(),
        "{} is missing: cargo xtask bench builds it",
        path.display()
    );
    Ok(path)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rounds = if quick {
        Rounds {
            starts: 5,
            turns: 20,
            each: 2,
        }
    } else {
        Rounds {
            starts: 30,
            turns: 200,
            each: 8,
        }
    };
    let binary = binary()?;
    let mut table = Table::default();
    if std::env::args().any(|argument| argument == "--sandboxes") {
        sandboxes::measure(&mut table, &binary, rounds).await?;
        println!("{table}");
        return Ok(());
    }
    if std::env::args().any(|argument| argument == "--api") {
        let disk = machine::fdatasync(&mut table)?;
        programs::measure(&mut table, &binary, rounds, disk).await?;
        println!("{table}");
        return Ok(());
    }
    machine::describe(&mut table, &binary)?;
    let disk = machine::fdatasync(&mut table)?;
    startup::measure(&mut table, &binary, rounds).await?;
    turns::measure(&mut table, &binary, rounds, disk).await?;
    programs::measure(&mut table, &binary, rounds, disk).await?;
    outbox::measure(&mut table, quick)?;
    delivery::measure(&mut table, &binary, rounds).await?;
    sandboxes::measure(&mut table, &binary, rounds).await?;
    parser::measure(&mut table, quick);
    println!("{table}");
    Ok(())
}
