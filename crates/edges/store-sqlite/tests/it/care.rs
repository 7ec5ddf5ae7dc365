//! Backups beside a running gateway, a look through the database, and the last room on a full disk.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use outbox::{ListFilter, OutboxStore as _, StoreError};
use rusqlite::Connection;
use sandbox::BlobStore as _;
use tidings_store_sqlite::{BackupError, Ballast, Copied, Options, Stock, Store};
use tokio::task::JoinSet;
use waybill::ProfileId;

use crate::place::{Place, message, now, options};

fn ready(folder: &Path) -> Options {
    let to = options(folder);
    fs::create_dir_all(to.database.parent().unwrap()).unwrap();
    to
}

async fn blob(store: &Store, bytes: &[u8]) -> sandbox::ContentHash {
    let profile = ProfileId::parse("default").unwrap();
    let mut writer = store.blobs().unwrap().create(&profile).await.unwrap();
    writer.write(bytes).await.unwrap();
    writer.finish("x.txt").await.unwrap().hash
}

fn everything() -> ListFilter {
    ListFilter {
        most: 100_000,
        ..ListFilter::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_beside_a_busy_writer_is_whole_and_has_every_blob_that_it_names() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    for number in 0..100 {
        store
            .enqueue(vec![message(number, number)], now())
            .await
            .unwrap();
    }
    let kept = blob(&store, b"kept").await;
    let mut writer = JoinSet::new();
    {
        let store = store.clone();
        writer.spawn(async move {
            let mut written = 100;
            loop {
                // Each message's bytes are there before it, as in life.
                blob(&store, format!("bytes of {written}").as_bytes()).await;
                let stored = store.enqueue(vec![message(written, written)], now()).await;
                match stored {
                    Ok(_) => written += 1,
                    Err(StoreError::Closed) => return written,
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    let elsewhere = tempfile::tempdir().unwrap();
    for round in 0..5 {
        let to = ready(&elsewhere.path().join(round.to_string()));
        let from = place.options();
        let copied = {
            let to = to.clone();
            tokio::task::spawn_blocking(move || Copied::make(&from, &to, "copy").unwrap())
                .await
                .unwrap()
        };
        assert_eq!(copied.blobs, copied.linked, "one file system, so links");
        let copy = Store::open(&to).unwrap();
        assert_eq!(copy.check().await.unwrap(), Vec::<String>::new());
        let rows = copy.list(everything()).await.unwrap().len() as u64;
        assert!(rows >= 100);
        // One blob for each message after the first hundred, and the kept one.
        assert!(copied.blobs > rows - 100, "{copied:?} {rows}");
        let profile = ProfileId::parse("default").unwrap();
        let (size, _) = copy.blobs().unwrap().open(&profile, &kept).await.unwrap();
        assert_eq!(size, 4);
        copy.close().await.unwrap();
        let mode = fs::metadata(&to.database).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    store.close().await.unwrap();
    let written: u32 = writer.join_next().await.unwrap().unwrap();
    assert!(written > 100, "nothing was written meanwhile");
}

#[tokio::test]
async fn an_older_versions_database_can_be_copied_before_the_upgrade() {
    let place = crate::upgrade::first_light();
    let elsewhere = tempfile::tempdir().unwrap();
    let to = ready(elsewhere.path());
    let before = fs::read(place.database()).unwrap();
    let copied = Copied::make(&place.options(), &to, "copy").unwrap();
    assert_eq!(copied.blobs, 6);
    assert_eq!(fs::read(place.database()).unwrap(), before);
    let db = Connection::open(&to.database).unwrap();
    let version: i64 = db
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 1, "the older version can still open it");
}

#[tokio::test]
async fn a_damaged_database_gives_no_backup() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    for number in 0..200 {
        store
            .enqueue(vec![message(number, number)], now())
            .await
            .unwrap();
    }
    assert_eq!(store.quick_check().await.unwrap(), Vec::<String>::new());
    store.close().await.unwrap();
    let mut bytes = fs::read(place.database()).unwrap();
    let pages = bytes.len() / 4096;
    for page in pages / 2..pages {
        bytes[page * 4096..page * 4096 + 200].fill(0xA5);
    }
    fs::write(place.database(), &bytes).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let error = Copied::make(&place.options(), &ready(elsewhere.path()), "copy").unwrap_err();
    assert!(
        matches!(error, BackupError::Damaged(_) | BackupError::Database(_)),
        "{error}"
    );
    // A gateway that runs on it finds out, and changes nothing.
    if let Ok(store) = Store::open(&place.options()) {
        let found = store.quick_check().await.unwrap();
        assert!(!found.is_empty());
        store.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_in_the_middle_of_the_look_leaves_the_log_folded_all_the_same() {
    let place = Place::new();
    for round in 0..6 {
        let store = Store::open(&place.options()).unwrap();
        for number in round * 40..round * 40 + 40 {
            store
                .enqueue(vec![message(number, number)], now())
                .await
                .unwrap();
        }
        let looker = store.clone();
        let mut looking = JoinSet::new();
        looking.spawn(async move { looker.quick_check().await });
        if round % 2 == 0 {
            looking.abort_all();
        }
        tokio::task::yield_now().await;
        store.close().await.unwrap();
        let log = place.database().with_file_name("tidings.db-wal");
        assert!(
            !log.exists(),
            "somebody else was the last to leave the file"
        );
    }
}

#[tokio::test]
async fn a_full_disk_lets_the_ballast_go_once_and_rings() {
    let place = Place::new();
    Store::open(&place.options())
        .unwrap()
        .close()
        .await
        .unwrap();
    let store = Store::open_bounded(&place.options(), 80).unwrap();
    let path = place.database().with_file_name("ballast");
    store.keep_ballast(Ballast::new(&path, 1 << 20));
    assert_eq!(store.restock().await.unwrap(), Stock::Kept);
    assert!(path.exists() && !store.disk_was_full());
    let mut number = 0;
    let error = loop {
        match store.enqueue(vec![message(number, number)], now()).await {
            Ok(_) => number += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full(_)), "{error}");
    assert!(!path.exists(), "the room was not given back");
    assert!(store.disk_was_full());
    tokio::time::timeout(Duration::from_secs(10), store.disk_full())
        .await
        .unwrap();
    assert_eq!(store.restock().await.unwrap(), Stock::Kept);
    assert!(path.exists() && !store.disk_was_full());
    store.close().await.unwrap();
}

/// A small disk of its own; `None` where one can't be mounted.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(megabytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "tmpfs"])
            .arg(folder.path())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(folder));
        }
        eprintln!("SKIPPED: a small disk can't be mounted here (this test needs root)");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let status = std::process::Command::new("umount")
            .arg(self.0.path())
            .status();
        assert!(status.unwrap().success());
    }
}

#[tokio::test]
async fn on_a_disk_that_is_really_full_the_next_words_are_stored() {
    let Some(disk) = SmallDisk::mount(40) else {
        return;
    };
    let place = options(&disk.0.path().join("home"));
    let store = Store::open(&place).unwrap();
    let path = place.database.with_file_name("ballast");
    store.keep_ballast(Ballast::new(&path, Ballast::BYTES));
    assert_eq!(store.restock().await.unwrap(), Stock::Kept);
    let held = fs::metadata(&path).unwrap().blocks() * 512;
    assert!(held >= Ballast::BYTES);
    // Somebody else fills the disk.
    let filler = disk.0.path().join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[1; 4096]).is_ok() {}
    let mut refused = None;
    for number in 0..10_000 {
        if let Err(error) = store.enqueue(vec![message(number, number)], now()).await {
            refused = Some((number, error));
            break;
        }
    }
    let (number, error) = refused.expect("the disk never fills");
    assert!(matches!(error, StoreError::Full(_)), "{error:?}");
    assert!(!path.exists());
    for again in number..number + 200 {
        store
            .enqueue(vec![message(again, again)], now())
            .await
            .unwrap_or_else(|error| panic!("{again}: {error}"));
    }
    assert_eq!(store.restock().await.unwrap(), Stock::NoRoom);
    assert!(store.disk_was_full());
    drop(file);
    fs::remove_file(&filler).unwrap();
    assert_eq!(store.restock().await.unwrap(), Stock::Kept);
    assert!(!store.disk_was_full());
    let rows = store.list(everything()).await.unwrap().len();
    assert_eq!(rows, number as usize + 200);
    store.close().await.unwrap();
}
