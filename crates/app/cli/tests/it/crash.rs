//! The crash matrix, each row once (`docs/crash-matrix.md`).

use std::path::Path;

use crash::{Outcome, Plan, matrix, run, table};
use tokio::task::JoinSet;

/// Cases at once: each waits more than it works.
const AT_ONCE: usize = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_it_dies_of_nothing_is_lost() {
    let binary = Path::new(env!("CARGO_BIN_EXE_tidings"));
    let mut waiting = matrix(Plan::Short, 1).into_iter();
    let mut running = JoinSet::new();
    let mut outcomes: Vec<Outcome> = Vec::new();
    loop {
        while running.len() < AT_ONCE
            && let Some(case) = waiting.next()
        {
            running.spawn(run(case, binary));
        }
        match running.join_next().await {
            Some(outcome) => outcomes.push(outcome.unwrap()),
            None => break,
        }
    }
    let logs: Vec<&str> = outcomes.iter().map(|one| one.log.as_str()).collect();
    println!("{}{}", logs.concat(), table(&outcomes));
    assert!(outcomes.iter().all(Outcome::is_good));
    assert!(outcomes.iter().all(|one| one.ends > 0));
}
