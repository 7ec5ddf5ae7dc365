//! A courier between a store that can be broken and a channel that says what a test wants.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use chat::{
    Activity, Body, ChatAdapter, Delivery, Descriptor, Done, DownloadError, Fault, FaultKind,
    FileHandle, Found, Grade, IdempotencyKey, Identity, InboundSink, ListenError, Op, Preview,
    Rates, Receipt, Rendering, RichText, Step, Way, WhenUnknown,
};
use outbox::{
    Acted, Aside, Claimed, Claims, HealthSink, HomeChat, ListFilter, MessageKind, MessageRow,
    NewMessage, Notice, OutboxStore, PartState, QueueDepth, Settlement, StoreError, Turnstile,
    Verb,
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

/// How long the channels' platform may still be at work on a call whose answer was lost.
pub(crate) const SETTLE: Duration = Duration::from_secs(30);

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
        way: Way::Direct,
        step: None,
        key: outbox::key::part_key("install", "test", 0, 1, 0),
        rendition: 0,
        source: "test".to_owned(),
        ordinal: 0,
        came_from: PartState::Queued,
        tries: 1,
        crashes: 0,
        may_be_repeat: false,
        account_rests: false,
        when_unknown: WhenUnknown::Repeat,
        first_at: start(),
        expires_at: Timestamp::from_second(1_800_086_400).unwrap(),
    }
}

pub(crate) fn words(notice: &NewMessage) -> &str {
    match &notice.parts[0].op {
        Op::Text(body) | Op::Question { body, .. } => body.text(),
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
    asides: Mutex<Vec<Aside>>,
    /// What the next word about one of these claims.
    claims_on_telling: Mutex<Vec<Claimed>>,
    fails_on_telling_of: Mutex<Option<i64>>,
    pub(crate) told: Mutex<Vec<(Aside, Option<Notice>)>>,
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

    /// The next word about a part that was set aside claims this.
    pub(crate) fn claim_on_telling(&self, part: Claimed) {
        self.claims_on_telling.lock().unwrap().push(part);
    }

    /// Refuses to write down that somebody was told of this one.
    pub(crate) fn fail_on_telling_of(&self, row: i64) {
        *self.fails_on_telling_of.lock().unwrap() = Some(row);
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

    fn use_turnstile(&self, _turnstile: Arc<dyn Turnstile>) {}

    async fn claim(&self, _now: Timestamp, most: usize) -> Result<Claims, StoreError> {
        let mut waiting = self.waiting.lock().unwrap();
        let most = most.min(waiting.len());
        Ok(Claims {
            parts: waiting.drain(..most).collect(),
            ..Claims::default()
        })
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

    async fn recover(
        &self,
        _now: Timestamp,
        _settle: HashMap<AccountId, Duration>,
    ) -> Result<usize, StoreError> {
        Ok(0)
    }

    async fn open_account(&self, _account: &AccountId) -> Result<(), StoreError> {
        Ok(())
    }

    async fn changed(&self) {
        self.changed.notified().await;
    }

    async fn act(
        &self,
        _id: MessageId,
        _part: Option<u32>,
        _verb: Verb,
        _now: Timestamp,
    ) -> Result<Option<Acted>, StoreError> {
        Ok(None)
    }

    async fn set_aside(&self) -> Result<Vec<Aside>, StoreError> {
        Ok(std::mem::take(&mut *self.asides.lock().unwrap()))
    }

    async fn told_of(
        &self,
        aside: Aside,
        notice: Option<Notice>,
        _now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        if *self.fails_on_telling_of.lock().unwrap() == Some(aside.row) {
            return Err(StoreError::Failed("the test broke it".into()));
        }
        self.told.lock().unwrap().push((aside, notice));
        self.called.notify_one();
        Ok(std::mem::take(&mut *self.claims_on_telling.lock().unwrap()))
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, StoreError> {
        Ok(Vec::new())
    }

    async fn list(&self, _filter: ListFilter) -> Result<Vec<MessageRow>, StoreError> {
        Ok(Vec::new())
    }

    async fn show(&self, _id: MessageId) -> Result<Option<MessageRow>, StoreError> {
        Ok(None)
    }
}

/// What a channel was asked to put on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) op: Op,
    pub(crate) key: IdempotencyKey,
    pub(crate) may_be_repeat: bool,
    pub(crate) way: Way,
    pub(crate) step: Option<Step>,
}

/// What became known of the channels' work.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) seen: Vec<Seen>,
    /// Questions what became of an attempt.
    pub(crate) asked: usize,
    pub(crate) withdrawn: Vec<Step>,
}

/// What goes wrong on our own side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Panics {
    #[default]
    Nowhere,
    /// When the channel is asked what it can do, after the courier's start.
    Describing,
    /// While it delivers.
    Delivering,
    /// When it is asked what became of an attempt.
    Finding,
}

/// A channel that answers each delivery in the same way.
struct Channel {
    account: AccountId,
    descriptor: Descriptor,
    answer: Result<Done, Fault>,
    found: Result<Found, Fault>,
    panics: Panics,
    described: AtomicUsize,
    book: Arc<Mutex<Book>>,
}

/// How often the courier asks a channel what it can do before it carries anything.
const CALLS_AT_START: usize = 2;

#[async_trait]
impl ChatAdapter for Channel {
    fn descriptor(&self) -> &Descriptor {
        let calls = self.described.fetch_add(1, Ordering::SeqCst);
        let armed = self.panics == Panics::Describing && calls >= CALLS_AT_START;
        assert!(!armed, "the test wants a crash");
        &self.descriptor
    }

    fn account(&self) -> &AccountId {
        &self.account
    }

    async fn listen(&self, _sink: &dyn InboundSink) -> Result<Infallible, ListenError> {
        Err(ListenError::Closed)
    }

    async fn deliver(&self, delivery: Delivery<'_>, _blobs: &dyn BlobStore) -> Result<Done, Fault> {
        self.book.lock().unwrap().seen.push(Seen {
            op: delivery.op.clone(),
            key: delivery.key,
            may_be_repeat: delivery.may_be_repeat,
            way: delivery.way,
            step: delivery.step.cloned(),
        });
        assert!(self.panics != Panics::Delivering, "the test wants a crash");
        self.answer.clone()
    }

    async fn find(&self, _delivery: Delivery<'_>) -> Result<Found, Fault> {
        self.book.lock().unwrap().asked += 1;
        assert!(self.panics != Panics::Finding, "the test wants a crash");
        self.found.clone()
    }

    async fn withdraw(&self, _chat: &ChatKey, step: &Step) {
        self.book.lock().unwrap().withdrawn.push(step.clone());
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
    pub(crate) answer: Result<Done, Fault>,
    /// What they say when they are asked what became of an attempt.
    pub(crate) found: Result<Found, Fault>,
    pub(crate) grade: Grade,
    pub(crate) panics: Panics,
    pub(crate) health: HealthSink,
    pub(crate) home: HomeChat,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            answer: Ok(Done::All(Receipt::new("7"))),
            found: Ok(Found::Unclear),
            grade: Grade::Nothing,
            panics: Panics::Nowhere,
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
    book: Arc<Mutex<Book>>,
    running: JoinSet<()>,
    stop: CancellationToken,
}

impl World {
    pub(crate) fn new(setting: Setting) -> Self {
        let shelf = Arc::new(Shelf::default());
        let book = Arc::default();
        let mut channels: HashMap<AccountId, Arc<dyn ChatAdapter>> = HashMap::new();
        for name in ["bot", "web"] {
            let account: AccountId = name.parse().unwrap();
            let channel = Channel {
                account: account.clone(),
                descriptor: descriptor(setting.grade),
                answer: setting.answer.clone(),
                found: setting.found.clone(),
                panics: setting.panics,
                described: AtomicUsize::new(0),
                book: Arc::clone(&book),
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
            book,
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
        self.book().seen.len()
    }

    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }

    /// Waits until so many placeholders were taken away.
    pub(crate) async fn withdrawn(&self, count: usize) {
        let gone = async {
            while self.book().withdrawn.len() < count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), gone)
            .await
            .expect("a placeholder was left behind");
    }

    /// Sets a part aside, and waits until somebody was told of it, or there was nobody to tell.
    pub(crate) async fn told_of(&self, aside: Aside) -> Option<Notice> {
        self.told_of_all(vec![aside]).await
    }

    /// The same for several in one look, until the first was told of.
    pub(crate) async fn told_of_all(&self, asides: Vec<Aside>) -> Option<Notice> {
        self.shelf.asides.lock().unwrap().extend(asides);
        let told = async {
            loop {
                if let Some((_, notice)) = self.shelf.told.lock().unwrap().pop() {
                    return notice;
                }
                self.shelf.called.notified().await;
            }
        };
        tokio::time::timeout(PATIENCE, told)
            .await
            .expect("nobody asks for what was set aside")
    }

    /// Stops the courier; returns how long it took.
    pub(crate) async fn stopped(&mut self) -> Duration {
        let began = Instant::now();
        self.stop.cancel();
        self.running.join_next().await.unwrap().unwrap();
        began.elapsed()
    }
}

fn descriptor(grade: Grade) -> Descriptor {
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
        grade,
        settle: SETTLE,
        carrier: None,
        rates: Rates::unlimited(4),
        when_unknown: WhenUnknown::Repeat,
    }
}
