//! A second process that does with parcels what their owner wants.

use std::fs;

use outbox::{OutboxStore as _, PartState, Verb};
use rusqlite::Connection;
use tidings_store_sqlite::{OpenError, Store};

use crate::place::{Place, id, message, now};

#[tokio::test]
async fn what_another_process_did_is_seen_by_the_running_one() {
    let place = Place::new();
    let running = Store::open(&place.options()).unwrap();
    // The first of the lane is on its way, the second waits.
    running
        .enqueue(vec![message(1, 1), message(2, 1)], now())
        .await
        .unwrap();
    let other = Store::open_to_act(&place.database()).unwrap();
    assert!(other.blobs().is_none());
    let acted = other.act(id(2), None, Verb::Cancel, now()).await.unwrap();
    assert_eq!(acted.unwrap().changed, [(1, PartState::Cancelled)]);
    other.close().await.unwrap();
    let row = running.show(id(2)).await.unwrap().unwrap();
    assert_eq!(row.state(), PartState::Cancelled);
    let again = running.act(id(2), None, Verb::Retry, now()).await.unwrap();
    assert_eq!(again.unwrap().changed, [(1, PartState::Queued)]);
    running.close().await.unwrap();
}

#[tokio::test]
async fn acting_makes_no_database_and_changes_none_of_another_version() {
    let place = Place::new();
    let refused = |place: &Place| match Store::open_to_act(&place.database()) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    };
    let error = refused(&place);
    assert!(matches!(error, OpenError::NotThere { .. }), "{error}");
    assert!(!place.database().exists());
    let store = Store::open(&place.options()).unwrap();
    store.close().await.unwrap();
    for (version, told) in [(1, "older version"), (99, "newer version")] {
        let db = Connection::open(place.database()).unwrap();
        db.execute_batch(&format!(
            "PRAGMA journal_mode = DELETE; PRAGMA user_version = {version}"
        ))
        .unwrap();
        drop(db);
        let bytes = fs::read(place.database()).unwrap();
        let error = refused(&place).to_string();
        assert!(error.contains(told), "{error}");
        assert_eq!(fs::read(place.database()).unwrap(), bytes, "left as it was");
    }
}
