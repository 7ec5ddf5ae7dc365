//! The proof itself, in its short form.

use std::path::Path;

use tidings_powerloss::mutant::Mutant;
use tidings_powerloss::prove::Until;
use tidings_powerloss::suite::{CUTS, healthy, plan, wrong};

/// The program that is recorded.
const PROGRAM: &str = env!("CARGO_BIN_EXE_tidings-powerloss");

/// Recordings of the short form: one with each size of SQLite's log.
const SEEDS: [u64; 4] = [1, 2, 3, 4];

#[test]
fn a_thousand_losses_of_power_lose_nothing_that_was_acknowledged() {
    let mut cuts = 0;
    for seed in SEEDS {
        let report = healthy(Path::new(PROGRAM), plan(seed), CUTS).unwrap();
        assert!(report.verdict.losses.is_empty(), "{report}");
        cuts += report.verdict.cuts;
    }
    assert!(cuts >= 1_000, "only {cuts} cuts were made");
}

/// One program that syncs at checkpoints only, and seven mutants of a right one: each is looked for with the cuts of the right
/// one.
#[test]
fn a_database_synced_too_seldom_a_sync_left_out_and_two_steps_swapped_are_found() {
    let reports = wrong(Path::new(PROGRAM), plan(SEEDS[0]), CUTS, Until::ALoss).unwrap();
    for report in &reports {
        let losses = &report.verdict.losses;
        assert!(!losses.is_empty(), "{} was overlooked", report.name());
    }
    assert_eq!(reports.len(), Mutant::ALL.len() + 1);
}
