//! The writer: groups, failures, and the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use outbox::{ListFilter, OutboxStore as _, PartState, Pass, StoreError, Turnstile};
use rusqlite::Connection;
use session::{InboxStore as _, SessionStore as _};
use tidings_store_sqlite::Store;
use tokio::task::JoinSet;
use waybill::{AccountId, ChatKey, Timestamp};

use crate::place::{Place, id, message, now, settled};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_are_all_stored_and_one_bad_one_fails_alone() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    let mut tasks = JoinSet::new();
    for number in 0..200 {
        let store = store.clone();
        tasks.spawn(async move {
            let mut message = message(number, number);
            // Each tenth takes the id of message 0 from another source: it can't be stored.
            if number % 10 == 9 {
                message.id = id(0);
            }
            (number, store.enqueue(vec![message], now()).await)
        });
    }
    while let Some(done) = tasks.join_next().await {
        let (number, stored) = done.unwrap();
        match stored {
            Ok(claimed) => assert_eq!(claimed.len(), 1),
            Err(error) => assert!(number % 10 == 9 || number == 0, "{number}: {error}"),
        }
    }
    let rows = store
        .list(ListFilter {
            most: 1_000,
            ..ListFilter::default()
        })
        .await
        .unwrap();
    // Whoever came first with the id of message 0 has it; all the others that wanted it are refused.
    assert_eq!(rows.len(), 180);
    store.close().await.unwrap();
}

#[tokio::test]
async fn after_the_end_every_call_says_closed() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    let other = store.clone();
    store.close().await.unwrap();
    assert!(matches!(
        other.enqueue(vec![message(1, 1)], now()).await,
        Err(StoreError::Closed)
    ));
    assert!(matches!(
        other.claim(now(), 1).await,
        Err(StoreError::Closed)
    ));
    other.close().await.unwrap();
}

#[tokio::test]
async fn the_last_handle_that_is_dropped_leaves_the_file_free() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    store.enqueue(vec![message(1, 1)], now()).await.unwrap();
    drop(store);
    assert!(
        !place
            .folder
            .path()
            .join("state")
            .join("tidings.db-wal")
            .exists(),
        "the log was moved over"
    );
    let store = Store::open(&place.options()).unwrap();
    assert_eq!(store.list(ListFilter::default()).await.unwrap().len(), 1);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_full_disk_is_said_and_what_was_acknowledged_stays() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    store.enqueue(vec![message(0, 0)], now()).await.unwrap();
    store.close().await.unwrap();
    // SQLite's own limit of pages stands for the disk's end: it gives the same error at the same places.
    let full = Store::open_bounded(&place.options(), 80).unwrap();
    let mut stored = 1;
    let error = loop {
        match full.enqueue(vec![message(stored, stored)], now()).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 10_000, "the disk never fills");
    };
    assert!(matches!(error, StoreError::Full(_)), "{error}");
    assert!(error.to_string().contains("disk is full"), "{error}");
    full.close().await.unwrap();
    let store = Store::open(&place.options()).unwrap();
    let rows = store
        .list(ListFilter {
            most: 10_000,
            ..ListFilter::default()
        })
        .await
        .unwrap();
    assert_eq!(rows.len(), stored as usize);
    assert!(store.check().await.unwrap().is_empty());
    store.close().await.unwrap();
}

/// Counts the places on the wire that were taken and not given back.
#[derive(Default)]
struct Places(AtomicUsize);

impl Turnstile for Places {
    fn room(&self, _account: &AccountId, _now: Timestamp) -> (usize, Option<Timestamp>) {
        (usize::MAX, None)
    }

    fn pass(&self, _chat: &ChatKey, _now: Timestamp) -> Pass {
        self.0.fetch_add(1, Ordering::SeqCst);
        Pass::Go
    }

    fn undo(&self, _chat: &ChatKey) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_takes_no_place_on_the_wire() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    store.close().await.unwrap();
    let full = Store::open_bounded(&place.options(), 90).unwrap();
    let places = Arc::new(Places::default());
    full.use_turnstile(Arc::clone(&places) as Arc<dyn Turnstile>);
    let mut tasks = JoinSet::new();
    for number in 0..400 {
        let store = full.clone();
        tasks.spawn(async move { store.enqueue(vec![message(number, number)], now()).await });
    }
    let (mut claimed, mut refused) = (0, 0);
    while let Some(done) = tasks.join_next().await {
        match done.unwrap() {
            Ok(parts) => claimed += parts.len(),
            Err(_full) => refused += 1,
        }
    }
    assert!(claimed > 0 && refused > 0, "{claimed} {refused}");
    assert_eq!(places.0.load(Ordering::SeqCst), claimed);
    full.close().await.unwrap();
}

#[tokio::test]
async fn a_row_that_makes_no_sense_is_named_and_its_lane_goes_on() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    store
        .enqueue(vec![message(1, 1), message(2, 1), message(3, 2)], now())
        .await
        .unwrap();
    store.recover(now(), settled()).await.unwrap();
    let db = Connection::open(place.database()).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    db.execute(
        "UPDATE part SET op = '{\"hologram\":1}' WHERE message = 1",
        [],
    )
    .unwrap();
    drop(db);
    let claimed = store.claim(now(), 10).await.unwrap().parts;
    let ids: Vec<_> = claimed.iter().map(|part| part.message).collect();
    assert_eq!(ids.len(), 2);
    assert!(
        ids.contains(&id(2)) && ids.contains(&id(3)),
        "what stood behind it goes on"
    );
    let error = store.show(id(1)).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreadable { .. }), "{error}");
    assert!(error.to_string().contains(&id(1).to_string()), "{error}");
    let listed = store.list(ListFilter::default()).await.unwrap();
    assert_eq!(listed.len(), 2, "the others can be listed");
    let db = Connection::open(place.database()).unwrap();
    let state: String = db
        .query_row("SELECT state FROM part WHERE message = 1", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(state, PartState::Held.name(), "it waits for the owner");
    drop(db);
    store.close().await.unwrap();
}

#[tokio::test]
async fn another_process_that_writes_is_waited_for() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    let db = Connection::open(place.database()).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let writing = store.enqueue(vec![message(1, 1)], now());
    tokio::pin!(writing);
    let early = tokio::time::timeout(Duration::from_millis(100), &mut writing).await;
    assert!(early.is_err(), "it waits");
    db.execute_batch("COMMIT").unwrap();
    assert_eq!(writing.await.unwrap().len(), 1);
    drop(db);
    store.close().await.unwrap();
}

#[tokio::test]
async fn an_event_that_makes_no_sense_holds_up_no_start() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    let db = Connection::open(place.database()).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    db.execute_batch(
        "INSERT INTO inbox(account, event_key, raw, inbound, state, at) VALUES('tg', '1', '', 'hm', 'new', 0);
         INSERT INTO turn(turn_id, session, scope, state, started_at, promised)
             VALUES('trn_1', 'ses_1', 'hm', 'running', 0, '{}');
         INSERT INTO inbox(account, event_key, raw, inbound, state, turn, at)
             VALUES('tg', '2', '', NULL, 'running', 'trn_1', 0);",
    )
    .unwrap();
    assert!(store.open_rows().await.unwrap().is_empty());
    assert!(store.running_turns().await.unwrap().is_empty());
    let poisoned: i64 = db
        .query_row(
            "SELECT count(*) FROM inbox WHERE state = 'poisoned' AND reason LIKE '%read%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(poisoned, 2, "each ends in a recorded state");
    let ending: String = db
        .query_row("SELECT ending FROM turn WHERE state = 'ended'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert!(ending.contains("failed"), "{ending}");
    drop(db);
    store.close().await.unwrap();
}
