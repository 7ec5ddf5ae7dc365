//! A point, passed by a real process.
#![cfg(debug_assertions)]
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't start itself should stop"
)]

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};

/// Runs one ignored test of this binary in a process of its own.
fn child(name: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .output()
        .unwrap()
}

#[test]
fn the_process_dies_at_the_third_passage_and_says_where() {
    let output = child("dies_at_the_third_passage");
    let (said, told) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(output.status.signal(), Some(9), "{said}{told}");
    assert!(said.contains("passed twice"), "{said}");
    assert!(!said.contains("still here"), "{said}");
    assert!(told.contains("failpoint reached: C5"), "{told}");
}

#[test]
#[ignore = "started by the test above, in a process of its own"]
fn dies_at_the_third_passage() {
    tidings_failpoint::arm("C5@3").unwrap();
    tidings_failpoint::point("C5");
    tidings_failpoint::point("C5");
    println!("passed twice");
    tidings_failpoint::point("C5");
    println!("still here");
}

#[test]
fn unarmed_points_do_nothing() {
    let output = child("nothing_is_armed");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "started by the test above, in a process of its own"]
fn nothing_is_armed() {
    tidings_failpoint::point("C5");
    assert!(!tidings_failpoint::error("C17"));
    assert!(!tidings_failpoint::skips("attempt-fence"));
}

#[test]
fn points_are_armed_once() {
    let output = child("armed_twice");
    assert!(output.status.success(), "{output:?}");
}

#[test]
#[ignore = "started by the test above, in a process of its own"]
fn armed_twice() {
    assert!(
        tidings_failpoint::arm("C5@0")
            .unwrap_err()
            .contains("from 1")
    );
    tidings_failpoint::arm("C17!error").unwrap();
    assert!(
        tidings_failpoint::arm("C17!error")
            .unwrap_err()
            .contains("already")
    );
    assert!(tidings_failpoint::error("C17"));
}
