//! The crash matrix from the command line: `--messages N` for a whole run, `--row`, `--behaviour` and `--seed` for one case again.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, bail};
use tidings_crash::{Behaviour, Case, Outcome, Plan, Row, matrix, run, table};
use tokio::task::JoinSet;

/// What was asked for.
struct Asked {
    messages: usize,
    seed: u64,
    row: Option<Row>,
    behaviour: Behaviour,
    binary: PathBuf,
    jobs: usize,
}

const USAGE: &str = "tidings-crash [--messages N] [--seed N] [--jobs N] [--binary PATH]
tidings-crash --row NAME [--behaviour NAME] [--messages N] [--seed N]   one case";

fn main() -> ExitCode {
    match asked().and_then(go) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn asked() -> anyhow::Result<Asked> {
    let beside = std::env::current_exe()?.with_file_name("tidings");
    let mut asked = Asked {
        messages: 0,
        seed: 1,
        row: None,
        behaviour: Behaviour::Calm,
        binary: beside,
        jobs: std::thread::available_parallelism().map_or(2, usize::from) + 1,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words
            .next()
            .with_context(|| format!("{word} wants a value\n{USAGE}"))?;
        match word.as_str() {
            "--messages" => asked.messages = value.parse()?,
            "--seed" => asked.seed = value.parse()?,
            "--jobs" => asked.jobs = value.parse()?,
            "--binary" => asked.binary = value.into(),
            "--row" => {
                asked.row = Some(Row::find(&value).with_context(|| format!("no row '{value}'"))?)
            }
            "--behaviour" => {
                let found = Behaviour::ALL.into_iter().find(|one| one.name() == value);
                asked.behaviour = found.with_context(|| format!("no behaviour '{value}'"))?;
            }
            _ => bail!("{word}?\n{USAGE}"),
        }
    }
    if !asked.binary.is_file() {
        bail!(
            "{} is not there; build it with `cargo build -p tidings-cli` (a debug build: failpoints are in no other)",
            asked.binary.display()
        );
    }
    Ok(asked)
}

fn go(asked: Asked) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let cases = match asked.row {
        Some(row) => vec![Case {
            row,
            behaviour: asked.behaviour,
            seed: asked.seed,
            messages: if asked.messages == 0 {
                16
            } else {
                asked.messages
            },
        }],
        None if asked.messages == 0 => matrix(Plan::Short, asked.seed),
        None => {
            let plan = Plan::Long {
                messages: asked.messages,
            };
            matrix(plan, asked.seed)
        }
    };
    let outcomes = runtime.block_on(all(cases, &asked));
    print!("{}", table(&outcomes));
    Ok(if outcomes.iter().all(Outcome::is_good) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs cases, some at once, with a line on standard error for each.
async fn all(cases: Vec<Case>, asked: &Asked) -> Vec<Outcome> {
    let (begun, count) = (Instant::now(), cases.len());
    let mut waiting: VecDeque<Case> = cases.into();
    let mut running = JoinSet::new();
    let mut outcomes: Vec<Outcome> = Vec::new();
    loop {
        while running.len() < asked.jobs.max(1)
            && let Some(case) = waiting.pop_front()
        {
            let binary = asked.binary.clone();
            running.spawn(async move { run(case, &binary).await });
        }
        match running.join_next().await {
            None => return outcomes,
            Some(Ok(outcome)) => {
                outcomes.push(outcome);
                progress(&outcomes, count, begun);
            }
            Some(Err(error)) => eprintln!("a case broke off: {error}"),
        }
    }
}

fn progress(outcomes: &[Outcome], count: usize, begun: Instant) {
    let Some(last) = outcomes.last() else { return };
    let messages: usize = outcomes.iter().map(|one| one.report.inbound).sum();
    eprintln!(
        "{}/{count} {messages} messages {:.0} s: {} {} seed {} {:.1} s {}",
        outcomes.len(),
        begun.elapsed().as_secs_f64(),
        last.case.row.name,
        last.case.behaviour.name(),
        last.case.seed,
        last.took.as_secs_f64(),
        if last.is_good() { "good" } else { "FOUND" }
    );
    if !last.is_good() {
        eprintln!("{}", last.log);
        for finding in last.findings().iter().take(20) {
            eprintln!("  {finding}");
        }
        eprintln!("  again: {}", last.case.command());
    }
}
