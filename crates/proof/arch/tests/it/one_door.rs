//! L5: whatever a person sees leaves through the outbox; only the courier calls a channel. L4: only the agent captures.

use crate::house::{is_test, root, sources};

fn callers(call: &str) -> Vec<String> {
    sources(&root().join("crates"), &[".rs"])
        .into_iter()
        .filter(|source| !is_test(&source.place))
        .filter(|source| {
            source
                .text
                .lines()
                .any(|line| line.contains(call) && !line.trim_start().starts_with("//"))
        })
        .map(|source| source.place)
        .collect()
}

#[test]
fn only_the_courier_delivers() {
    assert_eq!(
        callers(".deliver("),
        ["crates/engines/courier/src/attempt.rs"]
    );
}

#[test]
fn only_the_courier_shows_previews_and_activity_on_a_channel() {
    assert_eq!(
        callers("adapter.preview("),
        ["crates/engines/courier/src/show.rs"]
    );
    assert_eq!(
        callers("adapter.activity("),
        ["crates/engines/courier/src/show.rs"]
    );
}

#[test]
fn only_the_turn_captures_and_the_driver_choice_hands_on() {
    let callers: Vec<String> = callers(".capture(")
        .into_iter()
        .filter(|place| !place.starts_with("crates/edges/sandbox-"))
        .collect();
    assert_eq!(
        callers,
        [
            // The self-test: what it captures is thrown away.
            "crates/app/gateway/src/doctor/sandbox.rs",
            "crates/app/gateway/src/sandboxes.rs",
            "crates/engines/agent/src/attach.rs"
        ]
    );
}

#[test]
fn a_waybill_is_made_in_its_own_room_alone() {
    let makers: Vec<String> = callers("Waybill {")
        .into_iter()
        .filter(|place| !place.starts_with("crates/words/waybill/"))
        .collect();
    assert!(makers.is_empty(), "{makers:?}");
}

#[test]
fn nothing_asks_for_a_current_profile() {
    for ambient in ["task_local!", "thread_local!", "static mut "] {
        assert!(
            callers(ambient).is_empty(),
            "{ambient}: {:?}",
            callers(ambient)
        );
    }
}
