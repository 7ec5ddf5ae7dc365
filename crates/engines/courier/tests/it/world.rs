//! A courier between a store that can be broken and a channel that says what a test wants.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chat::{
    Activity, Body, ChatAdapter, Delivery, Descriptor, DownloadError, Fault, FaultKind, FileHandle,
    Grade, Identity, InboundSink, ListenError, Op, Preview, Receipt, Rendering, RichText,
};
use outbox::{
    Claimed, HealthSink, HomeChat, ListFilter, MessageKind, MessageRow, NewMessage, OutboxStore,
    PartState, Settlement, StoreError,
};
use sandbox::{BlobStore, BlobWriter};
use testkit::blobs::MemoryBlobs;
use testkit::clock::CountingIds;
use tidings_courier::{Channels, Courier, Options};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use waybill::{
    AccountId, ChatKey, Clock, Conversation, Limit, MessageId, ProfileId, ProfileScope, Timestamp,
    Waybill,
};

/// Longest that a test waits, in the courier's time.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

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
    chat("web", "notices")
}

/// A part that was claimed for its first attempt.
pub(crate) fn part(kind: MessageKind, to: ChatKey) -> Claimed {
    let profile = ProfileScope::enter(ProfileId::parse("work").unwrap());
    Claimed {
        message: MessageId::fresh(&CountingIds::default()),
        part: 1,
        attempt: 1,
        waybill: Waybill::operator(&profile, to),
        kind,
        op: Op::Text(Body::Rich(RichText::plain("Good morning."))),
        key: outbox::key::part_key("install", "test", 0, 1, 0),
        came_from: PartState::Queued,
        tries: 1,
        may_be_repeat: false,
        expires_at: Timestamp::from_second(1_800_086_400).unwrap(),
    }
}

pub(crate) fn words(notice: &NewMessage) -> &str {
    match &notice.parts[0].op {
        Op::Text(body) => body.text(),
        Op::File { .. } => panic!("a notice is words"),
    }
}

/// The runtime's own clock, so that its paused time is the courier's time.
struct Ticking(Instant);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        start().checked_add(self.0.elapsed()).unwrap()
    }
}

/// Hands out what a test puts into it and keeps what became of it.
#[derive(Default)]
pub(crate) struct Shelf {
    waiting: Mutex<VecDeque<Claimed>>,
    ends: Mutex<Vec<Settlement>>,
    broken_until: Mutex<Option<Instant>>,
    crashes: AtomicBool,
    pub(crate) settle_calls: AtomicUsize,
    changed: Notify,
    called: Notify,
}

impl Shelf {
    /// Refuses every end for so long.
    pub(crate) fn break_for(&self, time: Duration) {
        *self.broken_until.lock().unwrap() = Some(Instant::now() + time);
    }

    /// Panics on the next end.
    pub(crate) fn crash_once(&self) {
        self.crashes.store(true, Ordering::SeqCst);
    }

    pub(crate) fn ends(&self) -> Vec<Settlement> {
        self.ends.lock().unwrap().clone()
    }
}

#[async_trait]
impl OutboxStore for Shelf {
    async fn enqueue(
        &self,
        _messages: Vec<NewMessage>,
        _now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        Ok(Vec::new())
    }

    async fn claim(&self, _now: Timestamp, most: usize) -> Result<Vec<Claimed>, StoreError> {
        let mut waiting = self.waiting.lock().unwrap();
        let most = most.min(waiting.len());
        Ok(waiting.drain(..most).collect())
    }

    async fn settle(&self, settlement: Settlement) -> Result<Vec<Claimed>, StoreError> {
        self.settle_calls.fetch_add(1, Ordering::SeqCst);
        self.called.notify_one();
        assert!(
            !self.crashes.swap(false, Ordering::SeqCst),
            "the test wants a crash"
        );
        let broken = *self.broken_until.lock().unwrap();
        if broken.is_some_and(|until| Instant::now() < until) {
            return Err(StoreError::Failed("the test broke it".into()));
        }
        self.ends.lock().unwrap().push(settlement);
        Ok(Vec::new())
    }

    async fn recover(&self, _now: Timestamp) -> Result<usize, StoreError> {
        Ok(0)
    }

    async fn open_account(&self, _account: &AccountId) -> Result<(), StoreError> {
        Ok(())
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(None)
    }

    async fn changed(&self) {
        self.changed.notified().await;
    }

    async fn list(&self, _filter: ListFilter) -> Result<Vec<MessageRow>, StoreError> {
        Ok(Vec::new())
    }

    async fn show(&self, _id: MessageId) -> Result<Option<MessageRow>, StoreError> {
        Ok(None)
    }
}

/// A channel that answers each delivery in the same way.
struct Channel {
    account: AccountId,
    descriptor: Descriptor,
    answer: Result<Receipt, Fault>,
    /// Whether it panics when it is asked what it can do.
    crashes: bool,
    deliveries: Arc<AtomicUsize>,
}

#[async_trait]
impl ChatAdapter for Channel {
    fn descriptor(&self) -> &Descriptor {
        assert!(!self.crashes, "the test wants a crash");
        &self.descriptor
    }

    fn account(&self) -> &AccountId {
        &self.account
    }

    async fn listen(&self, _sink: &dyn InboundSink) -> Result<Infallible, ListenError> {
        Err(ListenError::Closed)
    }

    async fn deliver(
        &self,
        _delivery: Delivery<'_>,
        _blobs: &dyn BlobStore,
    ) -> Result<Receipt, Fault> {
        self.deliveries.fetch_add(1, Ordering::SeqCst);
        self.answer.clone()
    }

    async fn preview(&self, _chat: &ChatKey, _preview: Preview) {}

    async fn activity(&self, _chat: &ChatKey, _activity: Activity) {}

    async fn fetch(
        &self,
        _file: &FileHandle,
        _limit: u64,
        _into: &mut dyn BlobWriter,
    ) -> Result<(), DownloadError> {
        Err(DownloadError::Refused("nothing to fetch".to_owned()))
    }

    async fn identify(&self) -> Result<Identity, Fault> {
        Err(Fault::new(FaultKind::NotSent, "nobody"))
    }
}

/// What a test may choose.
pub(crate) struct Setting {
    /// What both channels, `bot` and `web`, answer.
    pub(crate) answer: Result<Receipt, Fault>,
    pub(crate) channels_crash: bool,
    pub(crate) health: HealthSink,
    pub(crate) home: HomeChat,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            answer: Ok(Receipt::new("7")),
            channels_crash: false,
            health: Arc::new(|_account, _state| {}),
            home: Arc::new(|_profile| Some(home())),
        }
    }
}

pub(crate) fn answering(kind: FaultKind) -> Setting {
    Setting {
        answer: Err(Fault::new(kind, "no")),
        ..Setting::default()
    }
}

/// A courier that runs.
pub(crate) struct World {
    pub(crate) shelf: Arc<Shelf>,
    deliveries: Arc<AtomicUsize>,
    running: JoinSet<Result<(), StoreError>>,
    stop: CancellationToken,
}

impl World {
    pub(crate) fn new(setting: Setting) -> Self {
        let shelf = Arc::new(Shelf::default());
        let deliveries = Arc::new(AtomicUsize::new(0));
        let mut channels: HashMap<AccountId, Arc<dyn ChatAdapter>> = HashMap::new();
        for name in ["bot", "web"] {
            let account: AccountId = name.parse().unwrap();
            let channel = Channel {
                account: account.clone(),
                descriptor: descriptor(),
                answer: setting.answer.clone(),
                crashes: setting.channels_crash,
                deliveries: Arc::clone(&deliveries),
            };
            channels.insert(account, Arc::new(channel));
        }
        let channels: Channels = Arc::new(channels);
        let courier = Courier::new(
            Options {
                install: "install".to_owned(),
                in_flight: 4,
                home: setting.home,
                health: setting.health,
            },
            Arc::clone(&shelf) as Arc<dyn OutboxStore>,
            Arc::new(MemoryBlobs::default()),
            channels,
            Arc::new(Ticking(Instant::now())),
            Arc::new(CountingIds::default()),
        );
        let stop = CancellationToken::new();
        let mut running = JoinSet::new();
        running.spawn(courier.run(stop.clone()));
        Self {
            shelf,
            deliveries,
            running,
            stop,
        }
    }

    pub(crate) fn put(&self, part: Claimed) {
        self.shelf.waiting.lock().unwrap().push_back(part);
        self.shelf.changed.notify_one();
    }

    /// Waits until the courier tried so often to write an end down.
    pub(crate) async fn settle_calls(&self, count: usize) {
        let reached = async {
            while self.shelf.settle_calls.load(Ordering::SeqCst) < count {
                self.shelf.called.notified().await;
            }
        };
        tokio::time::timeout(PATIENCE, reached)
            .await
            .expect("the lane is stuck: nobody tries to write the end down");
    }

    /// Puts a part in and waits for its end.
    pub(crate) async fn end_of(&self, part: Claimed) -> Settlement {
        self.put(part);
        let mut tried = 0;
        while self.shelf.ends().is_empty() {
            tried += 1;
            self.settle_calls(tried).await;
        }
        self.shelf.ends().remove(0)
    }

    pub(crate) fn deliveries(&self) -> usize {
        self.deliveries.load(Ordering::SeqCst)
    }

    /// Stops the courier; returns how long it took.
    pub(crate) async fn stopped(&mut self) -> Duration {
        let began = Instant::now();
        self.stop.cancel();
        self.running.join_next().await.unwrap().unwrap().unwrap();
        began.elapsed()
    }
}

fn descriptor() -> Descriptor {
    Descriptor {
        kind: "test".to_owned(),
        rendering: Rendering::Rich,
        text: Limit::Utf16(1_000),
        caption: None,
        file_out: 1_000,
        file_in: 1_000,
        photo: None,
        voice: Vec::new(),
        previews: false,
        typing_seconds: None,
        grade: Grade::Nothing,
    }
}
