//! The store without one of its protections: the case that rests on it must go red, or it proves nothing.
#![cfg(debug_assertions)]

use std::process::Command;

use crate::place::Place;

/// Not a test by itself: it fails on purpose, in a process of its own.
#[tokio::test]
#[ignore = "the child of another test"]
async fn the_child_without_the_fence() {
    failpoint::arm("attempt-fence!skip").unwrap();
    conformance::store::faults::a_late_end_is_kept_as_evidence_and_changes_nothing(Place::new())
        .await;
}

#[test]
fn without_the_fence_a_late_end_changes_the_part_and_the_suite_sees_it() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "mutants::the_child_without_the_fence",
            "--ignored",
        ])
        .args(["--nocapture"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("failpoint reached: attempt-fence"), "{told}");
    assert!(!output.status.success(), "nobody missed the fence: {told}");
    assert!(told.contains("panicked"), "{told}");
}
