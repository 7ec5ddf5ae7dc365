//! Bytes that nobody names go, after their grace and only then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use outbox::OutboxStore as _;
use sandbox::BlobStore as _;
use session::RetentionStore as _;
use waybill::Timestamp;

use super::house::{DAY, House, capture, file, files, profile, shown, text};

/// Everything was written before this: no grace.
const EVER: Timestamp = Timestamp::MAX;
/// Nothing was: all grace.
const NEVER: Timestamp = Timestamp::MIN;

#[tokio::test]
async fn what_a_crash_left_without_a_row_goes_after_its_grace() {
    let mut house = House::new();
    let orphan = house.capture(b"orphan").await;
    let (_, claimed) = {
        let named = house.capture(b"named").await;
        house.enqueue(vec![shown(&named)]).await
    };
    assert_eq!(claimed.len(), 1);
    house.reopen().await;
    let kept = house.store.collect(NEVER).await.unwrap();
    assert_eq!((kept.removed, kept.kept, kept.bytes), (0, 2, 11));
    let gone = house.store.collect(EVER).await.unwrap();
    assert_eq!((gone.removed, gone.freed), (1, 6));
    assert_eq!((gone.kept, gone.bytes, gone.failed), (1, 5, 0));
    assert!(!house.files().contains(&orphan.blob.hash.to_string()));
    house.check();
}

#[tokio::test]
async fn the_file_of_a_sent_part_goes_when_its_words_do_and_not_before() {
    let mut house = House::new();
    let file = house.capture(b"chart").await;
    house.send(vec![shown(&file)]).await;
    house.reopen().await;
    house.at = 2 * DAY;
    house.tidy(None).await;
    assert_eq!(house.store.collect(EVER).await.unwrap().removed, 0);
    house.at = 4 * DAY;
    house.tidy(None).await;
    assert_eq!(house.store.collect(EVER).await.unwrap().removed, 1);
    assert!(house.files().is_empty());
}

#[tokio::test]
async fn bytes_that_somebody_has_in_hand_stay_though_no_row_names_them_yet() {
    let mut house = House::new();
    let file = house.capture(b"in hand").await;
    assert_eq!(house.store.collect(EVER).await.unwrap().removed, 0);
    house.enqueue(vec![shown(&file)]).await;
    house.check();

    let old = house.capture(b"uploaded long ago").await;
    house.reopen().await;
    // Opened to be described, as the page does before it writes the row.
    house
        .store
        .blobs()
        .unwrap()
        .open(&profile(), &old.blob.hash)
        .await
        .unwrap();
    assert_eq!(house.store.collect(EVER).await.unwrap().removed, 0);
    house.enqueue(vec![shown(&old)]).await;
    house.check();
    house.store.collect(EVER).await.unwrap();
    house.store.collect(EVER).await.unwrap();
    house.check();
}

#[tokio::test(start_paused = true)]
async fn a_hand_that_let_go_is_forgotten_after_an_hour() {
    let house = House::new();
    house.capture(b"left").await;
    tokio::time::advance(Duration::from_secs(59 * 60)).await;
    assert_eq!(house.store.collect(EVER).await.unwrap().removed, 0);
    tokio::time::advance(Duration::from_secs(2 * 60)).await;
    assert_eq!(house.store.collect(EVER).await.unwrap().removed, 1);
    assert!(house.files().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_bytes_captured_again_while_they_are_collected_are_never_lost() {
    const ROUNDS: usize = 100;
    let mut house = House::new();
    let blobs = house.place.options().blobs;
    let messages: Vec<_> = (0..ROUNDS).map(|_| house.message(Vec::new())).collect();
    let capturing = AtomicBool::new(true);
    let collector = async {
        let mut removed = 0;
        while capturing.load(Ordering::Relaxed) {
            removed += house.store.collect(EVER).await.unwrap().removed;
        }
        removed
    };
    let again = async {
        for mut message in messages {
            let bytes = message.source.clone().into_bytes();
            plant(&blobs, &bytes);
            let file = capture(&house.store, &bytes).await;
            message.parts = vec![outbox::NewPart {
                op: shown(&file),
                way: chat::Way::Direct,
                key: outbox::key::part_key("install", &message.source, 0, 1, 0),
            }];
            house
                .store
                .enqueue(vec![message], house.now())
                .await
                .unwrap();
        }
        capturing.store(false, Ordering::Relaxed);
    };
    let (removed, ()) = tokio::join!(collector, again);
    house.check();
    assert_eq!(house.kept().len(), ROUNDS);
    assert_eq!(house.files().len(), ROUNDS, "nothing half-removed stays");
    assert!(removed > 0, "the collector came too late each time");
}

/// Leaves bytes as an earlier process did.
fn plant(blobs: &std::path::Path, bytes: &[u8]) {
    let path = file(blobs, &blake3::hash(bytes).to_hex());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn what_is_not_ours_in_the_folder_is_left_alone() {
    let mut house = House::new();
    let file = house.capture(b"x").await;
    house.reopen().await;
    let blobs = house.place.options().blobs;
    let hash = file.blob.hash.to_string();
    let shelf = blobs.join("p");
    std::fs::create_dir_all(blobs.join("Not A Profile").join("ab")).unwrap();
    for name in ["p/readme", "p/ab.txt", "Not A Profile/ab/file"] {
        std::fs::write(blobs.join(name), "mine").unwrap();
    }
    // The right name in the wrong folder.
    std::fs::create_dir_all(shelf.join("zz")).unwrap();
    std::fs::write(shelf.join("zz").join(&hash), "mine").unwrap();
    assert_eq!(house.store.collect(EVER).await.unwrap().removed, 1);
    assert_eq!(files(&blobs).len(), 4);
}

#[tokio::test]
async fn open_parts_and_their_files_stay_however_old_they_are() {
    let mut house = House::new();
    let file = house.capture(b"waits").await;
    let (id, _) = house.enqueue(vec![text("first"), shown(&file)]).await;
    house.reopen().await;
    house.at = 3_650 * DAY;
    assert_eq!(house.tidy(Some(DAY)).await, 0);
    house.store.collect(EVER).await.unwrap();
    house.check();
    let row = house.store.show(id).await.unwrap().unwrap();
    assert!(row.parts.iter().all(|part| !part.forgotten));
}
