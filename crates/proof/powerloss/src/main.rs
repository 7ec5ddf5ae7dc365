//! `tidings-powerloss`: the long form of the proof, and the program that is recorded.
//!
//! ```text
//! tidings-powerloss long [CUTS [SEED]]
//! tidings-powerloss wrong [CUTS [SEED]]
//! tidings-powerloss again TRACE FOLDER AFTER DICE
//! ```
//!
//! `long` records and cuts until so many cuts were made (10,000), from a seed that it prints. `wrong` looks for what is wrong
//! in wrong programs, each with so many cuts (260), and fails if it overlooks one. `again` repeats one cut of a trace that was
//! kept. `work` is what is recorded; the proof calls it.

use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use tidings_powerloss::prove::{Cut, Until, prove};
use tidings_powerloss::record;
use tidings_powerloss::suite::{self, CUTS};
use tidings_powerloss::work::{self, Plan, Synchronous};

/// Cuts of the long form, when nobody says.
const LONG: usize = 10_000;

const USAGE: &str = "tidings-powerloss long [CUTS [SEED]]\n       \
                     tidings-powerloss wrong [CUTS [SEED]]\n       \
                     tidings-powerloss again TRACE FOLDER AFTER DICE";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["work", folder, seed, synchronous, pages] => work(folder, seed, synchronous, pages),
        ["long", rest @ ..] if rest.len() <= 2 => long(rest.first(), rest.get(1)),
        ["wrong", rest @ ..] if rest.len() <= 2 => wrong(rest.first(), rest.get(1)),
        ["again", trace, folder, after, dice] => again(trace, folder, after, dice),
        _ => Err(anyhow::anyhow!("usage: {USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tidings-powerloss: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn number<T: std::str::FromStr>(text: &str) -> anyhow::Result<T> {
    text.parse()
        .map_err(|_malformed| anyhow::anyhow!("'{text}' is not a number"))
}

fn work(folder: &str, seed: &str, synchronous: &str, pages: &str) -> anyhow::Result<()> {
    let synchronous = match synchronous {
        "full" => Synchronous::Full,
        "normal" => Synchronous::Normal,
        other => bail!("'{other}' is neither full nor normal"),
    };
    let pages: u32 = number(pages)?;
    let plan = Plan {
        seed: number(seed)?,
        synchronous,
        checkpoint: (pages > 0).then_some(pages),
    };
    work::run(Path::new(folder), plan)
}

/// The seed that was asked for, or any.
fn seed(text: Option<&&str>) -> anyhow::Result<u64> {
    text.map_or_else(|| Ok(RandomState::new().hash_one(())), |text| number(text))
}

fn program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("this program's own path is unknown")
}

fn wrong(cuts: Option<&&str>, from: Option<&&str>) -> anyhow::Result<()> {
    let cuts: usize = cuts.map_or(Ok(CUTS), |text| number(text))?;
    let seed = seed(from)?;
    let mut overlooked = Vec::new();
    for report in suite::wrong(&program()?, suite::plan(seed), cuts, Until::TheEnd)? {
        let (made, lost) = (report.verdict.cuts, report.verdict.losses.len());
        println!(
            "{}: {lost} of {made} cuts lost something (seed {seed})",
            report.name()
        );
        if lost == 0 {
            overlooked.push(report.name());
        }
    }
    anyhow::ensure!(
        overlooked.is_empty(),
        "overlooked: {}",
        overlooked.join(", ")
    );
    Ok(())
}

fn long(cuts: Option<&&str>, from: Option<&&str>) -> anyhow::Result<()> {
    let cuts: usize = cuts.map_or(Ok(LONG), |text| number(text))?;
    let seed = seed(from)?;
    println!("{cuts} cuts from seed {seed}; again: tidings-powerloss long {cuts} {seed}");
    let program = program()?;
    let (mut made, mut lost) = (0, 0);
    let mut next = seed;
    while made < cuts {
        let wanted = CUTS.min(cuts - made);
        let report = suite::healthy(&program, suite::plan(next), wanted)?;
        print!("{report}");
        made += report.verdict.cuts;
        lost += report.verdict.losses.len();
        next = next.wrapping_add(1);
    }
    anyhow::ensure!(
        lost == 0,
        "{lost} of {made} cuts lost what was acknowledged"
    );
    println!("{made} cuts, nothing lost");
    Ok(())
}

fn again(trace: &str, folder: &str, after: &str, dice: &str) -> anyhow::Result<()> {
    let log = record::read(&PathBuf::from(trace), &PathBuf::from(folder))?;
    let cut = Cut {
        after: number(after)?,
        seed: number(dice)?,
    };
    let scratch = suite::scratch()?;
    let verdict = prove(&log, &[cut], scratch.path(), Until::TheEnd)?;
    let Some(loss) = verdict.losses.first() else {
        println!("nothing lost");
        return Ok(());
    };
    let kept = scratch.keep();
    bail!("{loss}what was left is in {}", kept.display())
}
