//! A courier on the real store, whose process can die at any step.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use chat::{ChatAdapter, WhenUnknown};
use courier::{Channels, Courier, Options};
use outbox::{
    Acted, Aside, Claimed, Claims, ListFilter, MessageKind, MessageRow, NewMessage, NewPart,
    Notice, OutboxStore, Outlet as _, QueueDepth, Settlement, StoreError, Turnstile, Verb,
};
use store_sqlite::Store;
use tempfile::TempDir;
use testkit::blobs::MemoryBlobs;
use testkit::clock::CountingIds;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use waybill::{
    AccountId, ChatKey, Clock, Conversation, Ids, MessageId, ProfileId, ProfileScope, Timestamp,
    Waybill,
};

use crate::platform::Platform;

pub(crate) fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

pub(crate) fn chat(account: &str, conversation: &str) -> ChatKey {
    ChatKey::new(
        account.parse().unwrap(),
        Conversation::new(conversation).unwrap(),
    )
}

pub(crate) fn home() -> ChatKey {
    chat("home", "notices")
}

/// The runtime's own clock.
#[derive(Clone, Copy)]
pub(crate) struct Ticking(pub(crate) Instant);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        start().checked_add(self.0.elapsed()).unwrap()
    }
}

/// Where a process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Death {
    Never,
    /// Before the transaction.
    Before,
    /// After its commit, before anybody knows of it.
    After,
}

/// A process that can die: from then on nothing that it does has an effect, and nothing answers it.
#[derive(Default)]
pub(crate) struct Life {
    dead: AtomicBool,
    died: Notify,
}

impl Life {
    /// Dies; never returns.
    pub(crate) async fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.died.notify_one();
        std::future::pending().await
    }

    pub(crate) async fn while_alive(&self) {
        if self.dead.load(Ordering::SeqCst) {
            std::future::pending().await
        }
    }

    pub(crate) async fn died(&self) {
        self.died.notified().await;
    }
}

type Scripted = std::sync::Mutex<std::collections::VecDeque<Death>>;

/// The store as one process has it.
pub(crate) struct Hand {
    store: Store,
    life: Arc<Life>,
    pub(crate) claims: AtomicUsize,
    recovered: AtomicBool,
    /// What happens at each settlement and at each claim that gives something; then nothing.
    settling: Arc<Scripted>,
    claiming: Arc<Scripted>,
}

impl Hand {
    /// Does something with the store while time stands.
    async fn still<T, F>(&self, work: impl FnOnce(Store) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.life.while_alive().await;
        let work = work(self.store.clone());
        let runtime = tokio::runtime::Handle::current();
        let done = tokio::task::spawn_blocking(move || runtime.block_on(work)).await;
        self.life.while_alive().await;
        done.unwrap()
    }
}

fn next(script: &Scripted) -> Death {
    script.lock().unwrap().pop_front().unwrap_or(Death::Never)
}

#[async_trait]
impl OutboxStore for Hand {
    fn use_turnstile(&self, turnstile: Arc<dyn Turnstile>) {
        self.store.use_turnstile(turnstile);
    }

    async fn enqueue(
        &self,
        messages: Vec<NewMessage>,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.still(move |store| async move { store.enqueue(messages, now).await })
            .await
    }

    async fn claim(&self, now: Timestamp, most: usize) -> Result<Claims, StoreError> {
        self.claims.fetch_add(1, Ordering::SeqCst);
        let claims = self
            .still(move |store| async move { store.claim(now, most).await })
            .await?;
        if !claims.parts.is_empty() && next(&self.claiming) != Death::Never {
            self.life.die().await;
        }
        Ok(claims)
    }

    async fn settle(&self, settlement: Settlement) -> Result<Vec<Claimed>, StoreError> {
        self.life.while_alive().await;
        let death = next(&self.settling);
        if death == Death::Before {
            self.life.die().await;
        }
        let claimed = self
            .still(move |store| async move { store.settle(settlement).await })
            .await?;
        if death == Death::After {
            self.life.die().await;
        }
        Ok(claimed)
    }

    async fn recover(
        &self,
        now: Timestamp,
        settle: HashMap<AccountId, Duration>,
    ) -> Result<usize, StoreError> {
        let found = self
            .still(move |store| async move { store.recover(now, settle).await })
            .await;
        self.recovered.store(true, Ordering::SeqCst);
        found
    }

    async fn open_account(&self, account: &AccountId) -> Result<(), StoreError> {
        let account = account.clone();
        self.still(move |store| async move { store.open_account(&account).await })
            .await
    }

    async fn changed(&self) {
        self.store.changed().await;
    }

    async fn act(
        &self,
        id: MessageId,
        part: Option<u32>,
        verb: Verb,
        now: Timestamp,
    ) -> Result<Option<Acted>, StoreError> {
        self.still(move |store| async move { store.act(id, part, verb, now).await })
            .await
    }

    async fn set_aside(&self) -> Result<Vec<Aside>, StoreError> {
        self.still(|store| async move { store.set_aside().await })
            .await
    }

    async fn told_of(
        &self,
        aside: Aside,
        notice: Option<Notice>,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.still(move |store| async move { store.told_of(aside, notice, now).await })
            .await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<MessageRow>, StoreError> {
        self.still(move |store| async move { store.list(filter).await })
            .await
    }

    async fn show(&self, id: MessageId) -> Result<Option<MessageRow>, StoreError> {
        self.still(move |store| async move { store.show(id).await })
            .await
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, StoreError> {
        self.still(|store| async move { store.depths().await })
            .await
    }
}

/// The house: a folder, platforms, and one process after the other.
pub(crate) struct Post {
    folder: TempDir,
    clock: Ticking,
    ids: Arc<CountingIds>,
    platforms: Vec<Arc<Platform>>,
    pub(crate) settling: Arc<Scripted>,
    pub(crate) claiming: Arc<Scripted>,
}

/// One process.
pub(crate) struct Running {
    pub(crate) hand: Arc<Hand>,
    store: Store,
    pub(crate) life: Arc<Life>,
    courier: JoinSet<()>,
    handle: courier::CourierHandle,
    stop: CancellationToken,
}

impl Post {
    /// With these platforms, and a home that always works.
    pub(crate) fn new(platforms: Vec<Arc<Platform>>) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            clock: Ticking(Instant::now()),
            ids: Arc::default(),
            platforms,
            settling: Arc::default(),
            claiming: Arc::default(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Starts a process; returns when it has taken up what the last one left.
    pub(crate) async fn starts(&self) -> Running {
        let store = Store::open(&store_sqlite::Options {
            database: self.folder.path().join("tidings.db"),
            blobs: self.folder.path().join("blobs"),
        })
        .unwrap();
        let life = Arc::new(Life::default());
        let hand = Arc::new(Hand {
            store: store.clone(),
            life: Arc::clone(&life),
            claims: AtomicUsize::new(0),
            recovered: AtomicBool::new(false),
            settling: Arc::clone(&self.settling),
            claiming: Arc::clone(&self.claiming),
        });
        let channels: HashMap<AccountId, Arc<dyn ChatAdapter>> = self
            .platforms
            .iter()
            .map(|platform| {
                let adapter = platform.adapter(Arc::clone(&life));
                (adapter.account().clone(), adapter)
            })
            .collect();
        let channels: Channels = Arc::new(channels);
        let courier = Courier::new(
            Options {
                install: "install".to_owned(),
                in_flight: 64,
                home: Arc::new(|_profile| Some(home())),
                health: Arc::new(|_account, _state| {}),
            },
            Arc::clone(&hand) as Arc<dyn OutboxStore>,
            Arc::new(MemoryBlobs::default()),
            channels,
            Arc::new(self.clock),
            Arc::clone(&self.ids) as Arc<dyn Ids>,
        );
        let stop = CancellationToken::new();
        let handle = courier.handle();
        let mut running = JoinSet::new();
        running.spawn(courier.run(stop.clone()));
        let taken_up = async {
            while !hand.recovered.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), taken_up)
            .await
            .expect("it does not start");
        Running {
            hand,
            store,
            life,
            courier: running,
            handle,
            stop,
        }
    }

    /// A message whose parts say what they are.
    pub(crate) fn message(&self, to: &ChatKey, source: &str, parts: Vec<NewPart>) -> NewMessage {
        let scope = ProfileScope::enter(ProfileId::parse("work").unwrap());
        NewMessage {
            id: MessageId::fresh(self.ids.as_ref()),
            waybill: Waybill::operator(&scope, to.clone()),
            kind: MessageKind::Reply,
            source: source.to_owned(),
            ordinal: 0,
            parts,
            when_unknown: WhenUnknown::Repeat,
            replaces: None,
            created_at: self.now(),
            expires_at: self.now() + Duration::from_secs(24 * 3_600),
        }
    }
}

/// The key of a message's part.
pub(crate) fn key(source: &str, part: u32) -> chat::IdempotencyKey {
    outbox::key::part_key("install", source, 0, part, 0)
}

impl Running {
    pub(crate) async fn enqueue(&self, messages: Vec<NewMessage>, now: Timestamp) {
        let claimed = self.hand.enqueue(messages, now).await.unwrap();
        self.handle.carry(claimed);
    }

    pub(crate) async fn rows(&self) -> Vec<MessageRow> {
        let all = ListFilter {
            most: 100_000,
            ..ListFilter::default()
        };
        self.hand.list(all).await.unwrap()
    }

    /// Waits until nothing happens any more by itself: every part is at its end or waits for the owner. Gathered notices are
    /// waited for.
    pub(crate) async fn quiet(&self, longest: Duration) {
        let began = Instant::now();
        let mut quiet = 0;
        while quiet < 2 {
            let rows = self.rows().await;
            let parts = rows.iter().flat_map(|row| &row.parts);
            let open = parts
                .clone()
                .filter(|part| !part.state.is_end() && part.state != outbox::PartState::Held);
            let open: Vec<_> = open.collect();
            quiet = if open.is_empty() { quiet + 1 } else { 0 };
            assert!(
                began.elapsed() < longest,
                "it never ends: {} of {} parts are open, the first is {:?}",
                open.len(),
                parts.count(),
                open.first()
            );
            let pause = if open.is_empty() { 310 } else { 20 };
            tokio::time::sleep(Duration::from_secs(pause)).await;
        }
    }

    /// The process is gone, whatever it was about to do.
    pub(crate) async fn killed(mut self) {
        self.courier.shutdown().await;
        close(self.store).await;
    }

    /// The process is told to stop.
    pub(crate) async fn stopped(mut self) {
        self.stop.cancel();
        self.courier.join_next().await.unwrap().unwrap();
        close(self.store).await;
    }
}

async fn close(store: Store) {
    let runtime = tokio::runtime::Handle::current();
    let closed = tokio::task::spawn_blocking(move || runtime.block_on(store.close()));
    closed.await.unwrap().unwrap();
}
