//! What is there is never replaced, and never touched when it is not ours.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use outbox::{ListFilter, OutboxStore as _};
use rusqlite::Connection;
use session::InboxStore as _;
use tidings_store_sqlite::{OpenError, Store};

use crate::place::{Place, message, now};

fn refused(place: &Place) -> OpenError {
    match Store::open(&place.options()) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

fn put(place: &Place, bytes: &[u8]) {
    fs::create_dir_all(place.database().parent().unwrap()).unwrap();
    fs::write(place.database(), bytes).unwrap();
}

fn stays(place: &Place, bytes: &[u8], error: &OpenError) {
    assert_eq!(fs::read(place.database()).unwrap(), bytes, "left as it was");
    assert!(
        error
            .to_string()
            .contains(&place.database().display().to_string()),
        "{error}"
    );
    let others: Vec<_> = fs::read_dir(place.database().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name != "tidings.db" && name != "blobs")
        .collect();
    assert!(others.is_empty(), "nothing was put beside it: {others:?}");
}

#[test]
fn an_empty_file_is_not_taken_for_a_new_database() {
    let place = Place::new();
    put(&place, b"");
    let error = refused(&place);
    assert!(matches!(error, OpenError::Empty { .. }), "{error}");
    stays(&place, b"", &error);
}

#[test]
fn a_text_file_in_the_databases_place_is_left_alone() {
    for text in [&b"my diary"[..], &[b'x'; 5_000]] {
        let place = Place::new();
        put(&place, text);
        let error = refused(&place);
        assert!(matches!(error, OpenError::NotADatabase { .. }), "{error}");
        stays(&place, text, &error);
    }
}

#[test]
fn another_programs_database_is_left_alone() {
    let place = Place::new();
    fs::create_dir_all(place.database().parent().unwrap()).unwrap();
    let other = Connection::open(place.database()).unwrap();
    other
        .execute_batch("CREATE TABLE theirs(x); INSERT INTO theirs VALUES(1)")
        .unwrap();
    drop(other);
    let bytes = fs::read(place.database()).unwrap();
    let error = refused(&place);
    assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
    stays(&place, &bytes, &error);
}

#[tokio::test]
async fn a_newer_versions_database_is_left_alone() {
    let place = Place::new();
    made(&place).await;
    let db = Connection::open(place.database()).unwrap();
    db.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA user_version = 99")
        .unwrap();
    drop(db);
    let bytes = fs::read(place.database()).unwrap();
    let error = refused(&place);
    assert!(
        matches!(error, OpenError::Newer { found: 99, .. }),
        "{error}"
    );
    stays(&place, &bytes, &error);
    assert!(matches!(
        Store::open_read_only(&place.database()),
        Err(OpenError::Newer { .. })
    ));
}

async fn made(place: &Place) {
    let store = Store::open(&place.options()).unwrap();
    store.enqueue(vec![message(1, 1)], now()).await.unwrap();
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_database_that_was_cut_off_is_named_damaged() {
    let place = Place::new();
    made(&place).await;
    let whole = fs::read(place.database()).unwrap();
    let cut = &whole[..whole.len() / 2];
    put(&place, cut);
    let error = refused(&place);
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    stays(&place, cut, &error);
}

#[tokio::test]
async fn a_database_with_a_damaged_schema_is_named_damaged() {
    let place = Place::new();
    made(&place).await;
    let mut bytes = fs::read(place.database()).unwrap();
    bytes[100..600].fill(0xA5);
    put(&place, &bytes);
    let error = refused(&place);
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    assert_eq!(fs::read(place.database()).unwrap(), bytes, "left as it was");
}

#[tokio::test]
async fn a_damaged_page_is_an_error_and_found_by_the_check() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    for number in 0..60 {
        store
            .enqueue(vec![message(number, number)], now())
            .await
            .unwrap();
    }
    assert!(store.check().await.unwrap().is_empty());
    store.close().await.unwrap();
    let mut bytes = fs::read(place.database()).unwrap();
    let pages = bytes.len() / 4096;
    for page in pages / 2..pages {
        bytes[page * 4096..page * 4096 + 200].fill(0xA5);
    }
    put(&place, &bytes);
    match Store::open(&place.options()) {
        Ok(store) => {
            let listed = store
                .list(ListFilter {
                    most: 1_000,
                    ..ListFilter::default()
                })
                .await;
            let checked = store.check().await;
            assert!(
                listed.is_err() || checked.as_ref().is_ok_and(|wrong| !wrong.is_empty()),
                "{checked:?}"
            );
            assert!(checked.is_err() || checked.is_ok_and(|wrong| !wrong.is_empty()));
        }
        Err(error) => assert!(matches!(error, OpenError::Damaged { .. }), "{error}"),
    }
}

#[tokio::test]
async fn a_database_that_vanished_is_not_replaced_while_its_log_is_there() {
    let place = Place::new();
    made(&place).await;
    let log = place.folder.path().join("state").join("tidings.db-wal");
    fs::remove_file(place.database()).unwrap();
    fs::write(&log, b"what was not yet moved over").unwrap();
    let error = refused(&place);
    assert!(matches!(error, OpenError::Missing { .. }), "{error}");
    assert!(error.to_string().contains("tidings.db-wal"), "{error}");
    assert!(!place.database().exists());
    assert_eq!(fs::read(&log).unwrap(), b"what was not yet moved over");
}

#[tokio::test]
async fn a_database_that_vanished_is_not_replaced_while_its_artifacts_are_there() {
    let place = Place::new();
    made(&place).await;
    fs::create_dir_all(place.options().blobs.join("default")).unwrap();
    fs::remove_file(place.database()).unwrap();
    let error = refused(&place);
    assert!(matches!(error, OpenError::Missing { .. }), "{error}");
    assert!(error.to_string().contains("blobs"), "{error}");
    assert!(!place.database().exists());
    fs::remove_dir_all(place.options().blobs).unwrap();
    Store::open(&place.options())
        .unwrap()
        .close()
        .await
        .unwrap();
}

#[tokio::test]
async fn a_start_that_was_cut_off_while_the_database_was_made_is_no_hindrance() {
    let place = Place::new();
    fs::create_dir_all(place.database().parent().unwrap()).unwrap();
    fs::write(
        place.folder.path().join("state").join("tidings.db.making"),
        b"half",
    )
    .unwrap();
    made(&place).await;
    let left: Vec<_> = fs::read_dir(place.folder.path().join("state"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        left.len(),
        2,
        "the database and the artifacts, and no log after a clean stop: {left:?}"
    );
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn nobody_else_may_read_what_people_wrote() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    store.enqueue(vec![message(1, 1)], now()).await.unwrap();
    let state = place.folder.path().join("state");
    for (file, expected) in [
        ("tidings.db", 0o600),
        ("tidings.db-wal", 0o600),
        ("tidings.db-shm", 0o600),
        ("blobs", 0o700),
        ("", 0o700),
    ] {
        assert_eq!(mode(&state.join(file)), expected, "{file}");
    }
    store.close().await.unwrap();
    fs::set_permissions(place.database(), fs::Permissions::from_mode(0o644)).unwrap();
    Store::open(&place.options())
        .unwrap()
        .close()
        .await
        .unwrap();
    assert_eq!(
        mode(&place.database()),
        0o600,
        "a copy put back with another mode is closed again"
    );
}

#[tokio::test]
async fn a_second_process_can_look_while_the_gateway_runs_and_when_it_does_not() {
    let place = Place::new();
    assert!(matches!(
        Store::open_read_only(&place.database()),
        Err(OpenError::NotThere { .. })
    ));
    assert!(!place.database().exists());
    let store = Store::open(&place.options()).unwrap();
    let looker = Store::open_read_only(&place.database()).unwrap();
    assert!(looker.list(ListFilter::default()).await.unwrap().is_empty());
    store
        .enqueue(vec![message(1, 1), message(2, 2)], now())
        .await
        .unwrap();
    assert_eq!(looker.list(ListFilter::default()).await.unwrap().len(), 2);
    let refused = looker
        .enqueue(vec![message(3, 3)], now())
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("only to look"), "{refused}");
    looker.close().await.unwrap();
    store.close().await.unwrap();
    let looker = Store::open_read_only(&place.database()).unwrap();
    let rows = looker.list(ListFilter::default()).await.unwrap();
    assert_eq!(
        looker.show(rows[0].id).await.unwrap().as_ref(),
        Some(&rows[0])
    );
    assert!(looker.open_rows().await.unwrap().is_empty());
    looker.close().await.unwrap();
    Store::open(&place.options())
        .unwrap()
        .close()
        .await
        .unwrap();
}
