//! The fence of attempts: without it the late end of an attempt that is over counts for one that is on the wire again.

use std::process::Command;

use chat::Receipt;
use outbox::{Claimed, Crash, Decision, OutboxStore as _, PartState, Settlement};
use tidings_store_sqlite::Store;

use crate::place::{Place, id, message, now, settled};

fn sent(part: &Claimed) -> Settlement {
    Settlement {
        message: part.message,
        part: part.part,
        attempt: part.attempt,
        at: now(),
        fault: None,
        crash: Crash::No,
        decision: Decision::Sent {
            receipt: Receipt::new("late"),
        },
        plainer: None,
        notice: None,
    }
}

/// Where a part stands whose first attempt ends while its second is on the wire.
async fn after_a_late_end() -> PartState {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    let first = store.enqueue(vec![message(1, 1)], now()).await.unwrap();
    store.recover(now(), settled()).await.unwrap();
    let second = store.claim(now(), 1).await.unwrap().parts;
    assert_eq!((first[0].attempt, second[0].attempt), (1, 2));
    store.settle(sent(&first[0])).await.unwrap();
    let state = store.show(id(1)).await.unwrap().unwrap().parts[0].state;
    store.close().await.unwrap();
    state
}

#[tokio::test]
async fn a_late_end_does_not_count_for_the_attempt_that_is_on_the_wire() {
    assert_eq!(after_a_late_end().await, PartState::Sending);
}

/// Not a test by itself: the child of the test below. What is armed counts for the whole process.
#[tokio::test]
#[ignore = "the child of another test"]
async fn the_child_without_a_fence() {
    failpoint::arm("attempt-fence!skip").unwrap();
    assert_eq!(after_a_late_end().await, PartState::Sent);
}

#[test]
fn without_the_fence_a_late_end_would_count() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "fence::the_child_without_a_fence", "--ignored"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(child.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}
