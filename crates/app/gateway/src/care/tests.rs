//! What is told, how often, and for how long.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chat::{Activity, ChatAdapter as _, Descriptor, Preview};
use chat_web::Web;
use outbox::{Claimed, ListFilter, OutboxStore as _, Outlet, StoreError};
use session::{ConversationRow, VisibleLog as _};
use settings::Home;
use store_sqlite::{Entered, Store};
use testkit::clock::{CountingIds, ManualClock};
use tokio_util::sync::CancellationToken;
use waybill::{AccountId, ChatKey, Clock, Conversation, ProfileId, Timestamp};

use super::{BETWEEN, Caretaker, GENERATION, Storage};
use crate::health::Crier;

/// The web chat's descriptor, and nothing that carries.
struct Mute(Web);

impl Outlet for Mute {
    fn descriptor(&self, _account: &AccountId) -> Option<Descriptor> {
        Some(self.0.descriptor().clone())
    }

    fn carry(&self, _claimed: Vec<Claimed>) {}

    fn preview(&self, _chat: &ChatKey, _preview: Preview) {}

    fn activity(&self, _chat: &ChatKey, _activity: Activity) {}
}

/// Counts how often it is read.
#[derive(Default)]
struct Read(ManualClock, AtomicUsize);

impl Clock for Read {
    fn now(&self) -> Timestamp {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.now()
    }
}

fn home(folder: &Path) -> (Home, store_sqlite::Options) {
    let home = Home::at(&folder.join("home")).unwrap();
    home.make().unwrap();
    let options = store_sqlite::Options {
        database: home.database(),
        blobs: home.blobs(),
    };
    (home, options)
}

fn caretaker(folder: &Path, entered: Entered) -> Caretaker {
    let (home, options) = home(folder);
    let store = Store::open(&options).unwrap();
    of(home, store, entered, Arc::new(Read::default()))
}

fn of(home: Home, store: Store, entered: Entered, clock: Arc<dyn Clock>) -> Caretaker {
    let web = AccountId::parse("web").unwrap();
    let chat = Web::new(
        chat_web::Options {
            account: web.clone(),
            attachment_bytes: 0,
        },
        chat_web::Ports {
            visible: Arc::new(store.clone()),
            blobs: Arc::new(store.blobs().unwrap().clone()),
            clock: clock.clone(),
        },
    );
    let crier = Crier {
        install: "test".to_owned(),
        web,
        first: Some(ProfileId::parse("work").unwrap()),
        outbox: Arc::new(store.clone()),
        visible: Arc::new(store.clone()),
        outlet: Arc::new(Mute(chat)),
        clock,
        ids: Arc::new(CountingIds::default()),
    };
    Caretaker {
        home,
        store,
        storage: Storage::default(),
        crier: Arc::new(crier),
        ids: Arc::new(CountingIds::default()),
        entered,
    }
}

/// How many notices are stored.
async fn told(store: &Store) -> usize {
    store.list(ListFilter::default()).await.unwrap().len()
}

#[test]
fn a_full_disk_refuses_files_until_there_is_room_and_damage_stays() {
    let storage = Storage::default();
    assert_eq!((storage.degraded(), storage.no_files()), (None, None));
    assert!(storage.fill() && !storage.fill(), "told twice");
    assert_eq!(storage.degraded().as_deref(), Some("the disk is full"));
    assert!(storage.no_files().is_some());
    storage.damaged("page 7 is never used");
    assert_eq!(storage.troubles().len(), 2);
    assert!(storage.has_room() && !storage.has_room());
    assert_eq!(storage.no_files(), None);
    assert_eq!(
        storage.degraded().as_deref(),
        Some("the database is damaged")
    );
    assert!(storage.troubles()[0].1.contains("page 7"));
}

#[tokio::test]
async fn the_owner_reads_once_of_a_full_disk_and_once_of_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let caretaker = caretaker(folder.path(), Entered::AsLeft);
    let full: Vec<_> = caretaker.full().into_iter().collect();
    assert!(full[0].sentence.contains("Free some space"));
    assert!(caretaker.full().is_none());
    assert!(caretaker.tell(full).await.is_empty());
    let room: Vec<_> = caretaker.restock().await.into_iter().collect();
    assert!(room[0].sentence.contains("There is room"));
    assert!(caretaker.restock().await.is_none());
    assert!(caretaker.tell(room).await.is_empty());
    assert_eq!(told(&caretaker.store).await, 2);
}

#[tokio::test]
async fn what_could_not_be_told_is_kept_and_is_one_notice_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let put_back = Entered::PutBack {
        generation: "g".to_owned(),
    };
    let caretaker = caretaker(folder.path(), put_back);
    let word: Vec<_> = caretaker.put_back().into_iter().collect();
    assert!(caretaker.tell(word).await.is_empty());
    // A crash before the store forgot: the next start tells it again.
    let again: Vec<_> = caretaker.put_back().into_iter().collect();
    assert!(caretaker.tell(again).await.is_empty());
    assert_eq!(told(&caretaker.store).await, 1);
    let damage = caretaker.found(Ok(vec!["row 3 missing".to_owned()]));
    caretaker.store.close().await.unwrap();
    let untold = caretaker.tell(damage.into_iter().collect()).await;
    assert_eq!(untold.len(), 1, "it was dropped");
    assert!(caretaker.found(Ok(Vec::new())).is_none());
}

#[tokio::test]
async fn while_it_runs_the_ballast_is_there_and_told_to_stop_it_stops() {
    let folder = tempfile::tempdir().unwrap();
    let caretaker = caretaker(folder.path(), Entered::AsLeft);
    let ballast = caretaker.home.state().join("ballast");
    let stop = CancellationToken::new();
    let made = async {
        while !std::fs::metadata(&ballast).is_ok_and(|file| file.len() >= 8 << 20) {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    };
    let both = async { tokio::join!(caretaker.run(stop.clone()), made) };
    tokio::time::timeout(std::time::Duration::from_secs(60), both)
        .await
        .unwrap();
}

/// Tries to store a row; on a full disk in vain.
async fn write(store: &Store, number: usize) -> Result<(), StoreError> {
    let row = ConversationRow {
        conversation: Conversation::new(format!("c{number}")).unwrap(),
        profile: ProfileId::parse("work").unwrap(),
        title: "long ".repeat(2_000),
        touched_at: Timestamp::UNIX_EPOCH,
    };
    store.open(row).await
}

#[tokio::test]
async fn what_can_not_be_told_on_a_full_disk_is_not_tried_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let (home, options) = home(folder.path());
    Store::open(&options).unwrap().close().await.unwrap();
    let store = Store::open_bounded(&options, 90).unwrap();
    let mut number = 0;
    while write(&store, number).await.is_ok() {
        number += 1;
    }
    let clock = Arc::new(Read::default());
    let put_back = Entered::PutBack {
        generation: "g".to_owned(),
    };
    let caretaker = of(home, store.clone(), put_back, clock.clone());
    let stop = CancellationToken::new();
    // Whoever goes round without end goes round about as often as we do.
    let meanwhile = async {
        for _ in 0..200 {
            let refused = write(&store, number).await;
            assert!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
        }
        stop.cancel();
    };
    tokio::join!(caretaker.run(stop.clone()), meanwhile);
    let tried = clock.1.load(Ordering::SeqCst);
    assert!((1..20).contains(&tried), "{tried} times");
}

#[tokio::test(start_paused = true)]
async fn a_run_begins_another_generation_each_hour() {
    let folder = tempfile::tempdir().unwrap();
    let caretaker = caretaker(folder.path(), Entered::AsLeft);
    let file = caretaker.home.state().join("generation");
    let stop = CancellationToken::new();
    let begun = tokio::time::Instant::now();
    let looking = async {
        let mut seen = Vec::new();
        while seen.len() < 2 {
            tokio::time::sleep(BETWEEN).await;
            assert!(begun.elapsed() < 100 * GENERATION, "{seen:?}");
            if let Ok(name) = std::fs::read_to_string(&file)
                && !seen.contains(&name)
            {
                assert!(begun.elapsed() >= GENERATION);
                seen.push(name);
            }
        }
        stop.cancel();
    };
    tokio::join!(caretaker.run(stop.clone()), looking);
}
