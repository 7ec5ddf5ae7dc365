//! A database that was put back from a copy is noticed, and a crash is never taken for that.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use outbox::{ListFilter, OutboxStore as _, PartState};
use rusqlite::Connection;
use tidings_store_sqlite::{Copied, Entered, Options, Store};
use waybill::Ids;

use crate::place::{Place, message, now, options};

/// Other ids at each call.
struct Counted(AtomicU64);

impl Ids for Counted {
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed)))
    }
}

fn ids(from: u64) -> Counted {
    Counted(AtomicU64::new(from))
}

fn generation(place: &Place) -> PathBuf {
    place.database().with_file_name("generation")
}

/// A start, and a stop that is clean or not.
async fn run(place: &Place, from: u64, stop: Stop) -> Entered {
    let store = Store::open(&place.options()).unwrap();
    let entered = store
        .enter(&generation(place), &ids(from), now())
        .await
        .unwrap();
    if stop == Stop::Clean {
        store
            .renew(&generation(place), &ids(from + 500))
            .await
            .unwrap();
    }
    store.close().await.unwrap();
    entered
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Clean,
    Crash,
}

/// A database that has heard something.
async fn lived() -> Place {
    let place = Place::new();
    assert_eq!(run(&place, 1_000, Stop::Clean).await, Entered::AsLeft);
    let store = Store::open(&place.options()).unwrap();
    store.enqueue(vec![message(1, 1)], now()).await.unwrap();
    store.close().await.unwrap();
    place
}

fn was_put_back(entered: &Entered) -> bool {
    matches!(entered, Entered::PutBack { .. })
}

#[tokio::test]
async fn stops_and_crashes_are_not_taken_for_a_restore() {
    let place = lived().await;
    for (run_number, stop) in [Stop::Clean, Stop::Crash, Stop::Crash, Stop::Clean]
        .into_iter()
        .enumerate()
    {
        let from = 10_000 * (run_number as u64 + 1);
        assert_eq!(run(&place, from, stop).await, Entered::AsLeft);
    }
}

/// The database as one file, however it was left.
fn keep(place: &Place) -> Vec<u8> {
    let db = Connection::open(place.database()).unwrap();
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_row| Ok(()))
        .unwrap();
    fs::read(place.database()).unwrap()
}

#[tokio::test]
async fn each_cut_of_a_renewal_is_understood() {
    for stop in [Stop::Clean, Stop::Crash] {
        let place = lived().await;
        assert_eq!(run(&place, 20_000, stop).await, Entered::AsLeft);
        let file = fs::read(generation(&place)).unwrap();
        // Cut after the transaction, before the file: the new database beside the old file.
        let store = Store::open(&place.options()).unwrap();
        store
            .enter(&generation(&place), &ids(30_000), now())
            .await
            .unwrap();
        store.close().await.unwrap();
        fs::write(generation(&place), &file).unwrap();
        // Left over from a cut in the middle of writing the file.
        fs::write(generation(&place).with_extension("new"), b"ha").unwrap();
        assert_eq!(run(&place, 40_000, Stop::Crash).await, Entered::AsLeft);
        assert_eq!(run(&place, 50_000, Stop::Crash).await, Entered::AsLeft);
    }
}

#[tokio::test]
async fn the_first_start_may_be_cut_anywhere() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    store.enqueue(vec![message(1, 1)], now()).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(run(&place, 1_000, Stop::Crash).await, Entered::AsLeft);
    // As a cut right after the first transaction leaves it.
    fs::remove_file(generation(&place)).unwrap();
    let db = Connection::open(place.database()).unwrap();
    db.execute("DELETE FROM meta WHERE key = 'generation_before'", [])
        .unwrap();
    drop(db);
    assert_eq!(run(&place, 2_000, Stop::Crash).await, Entered::AsLeft);
    assert_eq!(run(&place, 3_000, Stop::Crash).await, Entered::AsLeft);
}

#[tokio::test]
async fn an_old_copy_in_the_databases_place_is_noticed_whatever_came_between() {
    for stops in [
        &[Stop::Clean][..],
        &[Stop::Crash],
        &[Stop::Crash, Stop::Crash],
    ] {
        let place = lived().await;
        let old = keep(&place);
        for (number, stop) in stops.iter().enumerate() {
            run(&place, 20_000 + 1_000 * number as u64, *stop).await;
        }
        let own = keep(&place);
        fs::write(place.database(), &old).unwrap();
        assert!(was_put_back(&run(&place, 60_000, Stop::Crash).await));
        fs::write(place.database(), &own).unwrap();
        assert!(
            was_put_back(&run(&place, 70_000, Stop::Crash).await),
            "the other one does not fit any more either"
        );
    }
}

#[tokio::test]
async fn a_copy_of_the_same_run_is_noticed_after_a_crash_once_the_run_has_renewed() {
    let place = lived().await;
    let store = Store::open(&place.options()).unwrap();
    let file = generation(&place);
    store.enter(&file, &ids(20_000), now()).await.unwrap();
    let early = keep(&place);
    store.enqueue(vec![message(2, 2)], now()).await.unwrap();
    store.renew(&file, &ids(21_000)).await.unwrap();
    let late = keep(&place);
    // The database first: cut before the file, the next one still fits.
    let held = fs::read(&file).unwrap();
    store.renew(&file, &ids(22_000)).await.unwrap();
    fs::write(&file, &held).unwrap();
    store.renew(&file, &ids(23_000)).await.unwrap();
    store.close().await.unwrap();
    let own = keep(&place);
    let held = fs::read(&file).unwrap();
    for (name, copy, noticed) in [
        ("early", early, true),
        ("late", late, true),
        ("own", own, false),
    ] {
        fs::write(place.database(), copy).unwrap();
        fs::write(&file, &held).unwrap();
        let found = run(&place, 60_000, Stop::Crash).await;
        assert_eq!(was_put_back(&found), noticed, "{name}");
    }
}

#[tokio::test]
async fn a_missing_file_is_a_sign_and_an_empty_database_beside_an_old_file_is_none() {
    let place = lived().await;
    fs::remove_file(generation(&place)).unwrap();
    assert!(was_put_back(&run(&place, 20_000, Stop::Crash).await));
    fs::remove_file(place.database()).unwrap();
    for left in ["-wal", "-shm"] {
        let log = place.database().with_file_name(format!("tidings.db{left}"));
        if log.exists() {
            fs::remove_file(log).unwrap();
        }
    }
    fs::remove_dir_all(place.options().blobs).unwrap();
    assert_eq!(run(&place, 30_000, Stop::Crash).await, Entered::AsLeft);
}

#[tokio::test]
async fn the_notice_is_asked_for_until_the_owner_was_told() {
    let place = lived().await;
    fs::write(generation(&place), "another").unwrap();
    let first = run(&place, 20_000, Stop::Crash).await;
    let second = run(&place, 30_000, Stop::Clean).await;
    assert!(was_put_back(&first));
    assert_eq!(first, second, "it would be told twice");
    let store = Store::open(&place.options()).unwrap();
    store.told_of_restore().await.unwrap();
    store.close().await.unwrap();
    assert_eq!(run(&place, 40_000, Stop::Clean).await, Entered::AsLeft);
}

#[tokio::test]
async fn what_an_old_copy_calls_open_is_unknown_due_and_maybe_a_repeat() {
    let place = crate::upgrade::first_light();
    let asked = run(&place, 1_000, Stop::Clean).await;
    assert_eq!(asked, Entered::AsLeft, "an upgrade is no restore");
    fs::write(generation(&place), "another").unwrap();
    let store = Store::open(&place.options()).unwrap();
    let entered = store
        .enter(&generation(&place), &ids(20_000), now())
        .await
        .unwrap();
    assert!(was_put_back(&entered));
    let rows = store.list(ListFilter::default()).await.unwrap();
    let open: Vec<_> = rows
        .iter()
        .flat_map(|row| &row.parts)
        .filter(|part| part.state.blocks_lane())
        .collect();
    assert_eq!(open.len(), 4);
    for part in open {
        assert_eq!(part.state, PartState::Unknown);
        assert!(part.may_be_repeat);
        assert_eq!(part.next_at, now());
    }
    let turns = session::SessionStore::running_turns(&store).await.unwrap();
    assert!(turns.iter().all(|turn| turn.resumed >= session::DOUBTED));
    assert_eq!(turns.len(), 1);
    // What the platform asked a lane to wait for still waits; the heads of the other two go.
    assert_eq!(store.claim(now(), 100).await.unwrap().parts.len(), 2);
    store.close().await.unwrap();
}

fn copy_of(place: &Place, to: &Path) -> Options {
    let to = options(to);
    fs::create_dir_all(to.database.parent().unwrap()).unwrap();
    Copied::make(&place.options(), &to, "copy").unwrap();
    to
}

#[tokio::test]
async fn a_backup_is_noticed_wherever_it_is_put() {
    let place = lived().await;
    let store = Store::open(&place.options()).unwrap();
    store
        .enter(&generation(&place), &ids(20_000), now())
        .await
        .unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let to = copy_of(&place, elsewhere.path());
    store.close().await.unwrap();
    // As a home of its own: there is no file.
    let copy = Store::open(&to).unwrap();
    let file = to.database.with_file_name("generation");
    let entered = copy.enter(&file, &ids(30_000), now()).await.unwrap();
    assert!(was_put_back(&entered));
    copy.close().await.unwrap();
    // In the place of the original: the file is the original's.
    let elsewhere = tempfile::tempdir().unwrap();
    let to = copy_of(&place, elsewhere.path());
    fs::copy(&to.database, place.database()).unwrap();
    assert!(was_put_back(&run(&place, 40_000, Stop::Crash).await));
}

#[tokio::test]
async fn a_file_that_goes_missing_after_the_very_first_start_is_a_sign_too() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    store.enqueue(vec![message(1, 1)], now()).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(run(&place, 1_000, Stop::Crash).await, Entered::AsLeft);
    fs::remove_file(generation(&place)).unwrap();
    assert!(was_put_back(&run(&place, 2_000, Stop::Crash).await));
}

#[tokio::test]
async fn what_waits_in_an_old_copy_may_have_been_answered_since() {
    let place = crate::upgrade::first_light();
    run(&place, 1_000, Stop::Clean).await;
    let versions = async || {
        let store = Store::open(&place.options()).unwrap();
        let rows = session::InboxStore::open_rows(&store).await.unwrap();
        store.close().await.unwrap();
        rows.iter().map(|row| row.version).collect::<Vec<_>>()
    };
    let before = versions().await;
    assert!(!before.is_empty());
    assert!(before.iter().all(|version| *version < session::DOUBTED));
    for other in ["another", "yet another"] {
        fs::write(generation(&place), other).unwrap();
        run(&place, 20_000, Stop::Crash).await;
    }
    let doubted: Vec<u32> = before
        .iter()
        .map(|version| version + session::DOUBTED)
        .collect();
    assert_eq!(versions().await, doubted);
}
