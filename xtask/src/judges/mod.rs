//! Independent judges: programs of others that use ours, or that ours uses.
//!
//! They are installed below `target/judges` from the package registries that this machine uses. Without a network they are
//! skipped, loudly: a skipped judge has judged nothing.

mod api;
mod install;
mod mcp;
mod models;

use std::time::Instant;

use anyhow::bail;
use clap::ValueEnum;

/// A judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Judge {
    /// Client libraries of the OpenAI API, and a command line that is made of one, ask ours
    Api,
    /// Client libraries of OpenAI, Anthropic, Google and Ollama hear our scripted model, and a model server of others has turns with the gateway
    Models,
    /// The conformance suite and the example server of the Model Context Protocol, with our client
    Mcp,
}

/// What a judge says.
pub(crate) enum Verdict {
    /// All is well.
    Good,
    /// It could not be asked.
    Skipped(String),
}

/// Asks one judge, or all.
pub(crate) fn judge(which: Option<Judge>) -> anyhow::Result<()> {
    let all = Judge::value_variants().iter().copied();
    for judge in all.filter(|judge| which.is_none_or(|which| which == *judge)) {
        let began = Instant::now();
        println!("── judge {judge:?}");
        let verdict = match judge {
            Judge::Api => api::judge(),
            Judge::Models => models::judge(),
            Judge::Mcp => mcp::judge(),
        };
        let took = began.elapsed().as_secs();
        match verdict {
            Ok(Verdict::Good) => println!("── judge {judge:?}: good, after {took} s"),
            Ok(Verdict::Skipped(why)) => {
                println!("── judge {judge:?}: SKIPPED, NOTHING WAS JUDGED: {why}")
            }
            Err(error) => bail!("judge {judge:?}, after {took} s: {error:#}"),
        }
    }
    Ok(())
}
