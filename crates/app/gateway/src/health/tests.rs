use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chat::{
    Activity, Descriptor, Fault, FaultKind, Grade, Op, Preview, Rates, Rendering, WhenUnknown,
};
use outbox::{
    Acted, Aside, Claimed, Claims, ListFilter, MessageRow, NewMessage, Notice, OutboxStore, Outlet,
    QueueDepth, Settlement, StoreError, Turnstile, Verb,
};
use session::VisibleLog as _;
use testkit::clock::{CountingIds, ManualClock};
use testkit::visible::MemoryVisible;
use tokio_util::sync::CancellationToken;
use waybill::{AccountId, ChatKey, Limit, MessageId, ProfileId, Timestamp};

use super::*;

fn name(text: &str) -> AccountId {
    AccountId::parse(text).unwrap()
}

fn profile(text: &str) -> ProfileId {
    ProfileId::parse(text).unwrap()
}

fn revoked() -> Fault {
    Fault::new(FaultKind::PermAccount, "the token was revoked")
}

fn conflict() -> Fault {
    Fault::new(FaultKind::TempReject, "another program").with_code(409)
}

/// The outbox and the way out of it: what the owner was told, and which accounts were opened.
#[derive(Default)]
struct Post {
    told: Mutex<Vec<String>>,
    replaces: Mutex<Vec<Option<String>>>,
    opened: Mutex<usize>,
}

impl Post {
    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    fn opened(&self) -> usize {
        *self.opened.lock().unwrap()
    }
}

#[async_trait]
impl OutboxStore for Post {
    fn use_turnstile(&self, _turnstile: Arc<dyn Turnstile>) {}

    async fn enqueue(
        &self,
        messages: Vec<NewMessage>,
        _now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        let names = messages.iter().map(|message| message.replaces.clone());
        self.replaces.lock().unwrap().extend(names);
        for part in messages.into_iter().flat_map(|message| message.parts) {
            let Op::Text(body) = part.op else {
                panic!("{:?}", part.op);
            };
            self.told.lock().unwrap().push(body.text().to_owned());
        }
        Ok(Vec::new())
    }

    async fn open_account(&self, _account: &AccountId) -> Result<(), StoreError> {
        *self.opened.lock().unwrap() += 1;
        Ok(())
    }

    async fn claim(&self, _now: Timestamp, _most: usize) -> Result<Claims, StoreError> {
        Err(StoreError::Closed)
    }

    async fn settle(&self, _settlement: Settlement) -> Result<Vec<Claimed>, StoreError> {
        Err(StoreError::Closed)
    }

    async fn recover(
        &self,
        _now: Timestamp,
        _settle: HashMap<AccountId, Duration>,
    ) -> Result<usize, StoreError> {
        Err(StoreError::Closed)
    }

    async fn act(
        &self,
        _id: MessageId,
        _part: Option<u32>,
        _verb: Verb,
        _now: Timestamp,
    ) -> Result<Option<Acted>, StoreError> {
        Err(StoreError::Closed)
    }

    async fn set_aside(&self) -> Result<Vec<Aside>, StoreError> {
        Err(StoreError::Closed)
    }

    async fn told_of(
        &self,
        _aside: Aside,
        _notice: Option<Notice>,
        _now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        Err(StoreError::Closed)
    }

    async fn changed(&self) {}

    async fn list(&self, _filter: ListFilter) -> Result<Vec<MessageRow>, StoreError> {
        Err(StoreError::Closed)
    }

    async fn show(&self, _id: MessageId) -> Result<Option<MessageRow>, StoreError> {
        Err(StoreError::Closed)
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, StoreError> {
        Err(StoreError::Closed)
    }
}

impl Outlet for Post {
    fn descriptor(&self, _account: &AccountId) -> Option<Descriptor> {
        Some(Descriptor {
            kind: "web".to_owned(),
            rendering: Rendering::Markdown,
            text: Limit::Utf16(4096),
            caption: None,
            file_out: 0,
            file_in: 0,
            photo: None,
            voice: Vec::new(),
            previews: false,
            typing_seconds: None,
            grade: Grade::Keyed { window: None },
            settle: Duration::ZERO,
            carrier: None,
            rates: Rates::unlimited(64),
            when_unknown: WhenUnknown::Repeat,
        })
    }

    fn carry(&self, _claimed: Vec<Claimed>) {}

    fn preview(&self, _chat: &ChatKey, _preview: Preview) {}

    fn activity(&self, _chat: &ChatKey, _activity: Activity) {}
}

fn herald(post: &Arc<Post>, visible: &Arc<MemoryVisible>) -> Herald {
    Herald {
        profiles: [(name("bot"), profile("work"))].into(),
        homes: BTreeSet::from([profile("work"), profile("routed")]),
        outbox: post.clone(),
        crier: Arc::new(Crier {
            install: "test".to_owned(),
            web: name("web"),
            first: Some(profile("work")),
            outbox: post.clone(),
            visible: visible.clone(),
            outlet: post.clone(),
            clock: Arc::new(ManualClock::default()),
            ids: Arc::new(CountingIds::default()),
        }),
        ids: Arc::new(CountingIds::default()),
    }
}

/// An account as its owner sees it.
struct Seen {
    board: Board,
    post: Arc<Post>,
}

impl Seen {
    fn sign(&self, side: Side, state: Result<(), Fault>) {
        self.board.sink(side)(&name("bot"), state);
    }

    /// Time for the herald; the clock is the test's.
    async fn after(&self, seconds: u64) -> Vec<String> {
        tokio::time::sleep(Duration::from_millis(seconds * 1000 + 1)).await;
        let told = self.post.told();
        let word = |text: &String| match text {
            text if text.contains("works again") => "well".to_owned(),
            text if text.contains("revoked") => "revoked".to_owned(),
            text if text.contains("another program") => "conflict".to_owned(),
            text => text.clone(),
        };
        told.iter().map(word).collect()
    }
}

async fn watched<F: Future<Output = ()>>(scenario: impl FnOnce(Seen) -> F) {
    let (board, changes) = Board::new();
    let post = Arc::new(Post::default());
    let herald = herald(&post, &Arc::default());
    tokio::select! {
        () = scenario(Seen { board, post }) => {}
        () = herald.run(changes, CancellationToken::new()) => panic!("the herald ended"),
    }
}

#[tokio::test(start_paused = true)]
async fn trouble_is_told_at_once_and_its_end_when_it_has_lasted() {
    watched(|seen| async move {
        seen.sign(Side::Hears, Ok(()));
        assert_eq!(seen.after(100).await, [] as [&str; 0]);
        seen.sign(Side::Hears, Err(revoked()));
        seen.sign(Side::Speaks, Err(revoked()));
        assert_eq!(seen.after(0).await, ["revoked"]);
        seen.sign(Side::Hears, Ok(()));
        seen.sign(Side::Speaks, Ok(()));
        assert_eq!(seen.after(59).await, ["revoked"]);
        assert_eq!(seen.after(1).await, ["revoked", "well"]);
        assert_eq!(seen.after(3600).await, ["revoked", "well"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn of_words_about_an_account_that_wait_the_newest_wins() {
    watched(|seen| async move {
        seen.sign(Side::Hears, Err(revoked()));
        seen.after(0).await;
        seen.sign(Side::Hears, Ok(()));
        assert_eq!(seen.after(60).await, ["revoked", "well"]);
        let names = seen.post.replaces.lock().unwrap().clone();
        let name = Some("account:bot".to_owned());
        assert_eq!(names, [name.clone(), name]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_flaps_for_an_hour_is_told_once() {
    watched(|seen| async move {
        for _ in 0..360 {
            seen.sign(Side::Hears, Err(conflict()));
            seen.after(5).await;
            seen.sign(Side::Hears, Ok(()));
            seen.after(5).await;
        }
        assert_eq!(seen.after(0).await, ["conflict"]);
        assert_eq!(seen.after(60).await, ["conflict", "well"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn new_trouble_within_five_minutes_is_told_when_they_are_over_and_if_it_is_still_there() {
    watched(|seen| async move {
        seen.sign(Side::Hears, Err(conflict()));
        seen.after(0).await;
        seen.sign(Side::Hears, Ok(()));
        assert_eq!(seen.after(70).await, ["conflict", "well"]);
        seen.sign(Side::Hears, Err(conflict()));
        seen.after(50).await;
        seen.sign(Side::Hears, Ok(()));
        assert_eq!(seen.after(80).await, ["conflict", "well"]);
        seen.sign(Side::Hears, Err(revoked()));
        assert_eq!(seen.after(90).await, ["conflict", "well"]);
        assert_eq!(seen.after(20).await, ["conflict", "well", "revoked"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_delivery_does_not_make_a_deaf_account_well() {
    watched(|seen| async move {
        seen.sign(Side::Hears, Err(conflict()));
        seen.sign(Side::Speaks, Ok(()));
        assert_eq!(seen.after(600).await, ["conflict"]);
        assert!(seen.board.of(&name("bot")).unwrap().is_err());
        seen.sign(Side::Hears, Ok(()));
        assert_eq!(seen.after(60).await, ["conflict", "well"]);
        // And the reverse.
        seen.sign(Side::Speaks, Err(revoked()));
        assert_eq!(seen.after(600).await, ["conflict", "well", "revoked"]);
        seen.sign(Side::Hears, Ok(()));
        assert_eq!(seen.after(600).await, ["conflict", "well", "revoked"]);
        seen.sign(Side::Speaks, Ok(()));
        assert_eq!(
            seen.after(60).await,
            ["conflict", "well", "revoked", "well"]
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn parts_go_at_once_when_a_side_works_again_and_not_for_each_sign() {
    watched(|seen| async move {
        seen.sign(Side::Hears, Ok(()));
        seen.sign(Side::Speaks, Ok(()));
        seen.after(0).await;
        assert_eq!(seen.post.opened(), 2);
        for _ in 0..100 {
            seen.sign(Side::Speaks, Ok(()));
        }
        seen.sign(Side::Hears, Err(revoked()));
        seen.sign(Side::Speaks, Err(revoked()));
        seen.after(0).await;
        assert_eq!(seen.post.opened(), 2);
        seen.sign(Side::Hears, Ok(()));
        seen.after(0).await;
        assert_eq!(seen.post.opened(), 3, "the other side tries at once");
    })
    .await;
}

#[test]
fn the_worse_of_two_sides_is_shown() {
    let (board, mut changes) = Board::new();
    let bot = name("bot");
    let (hears, speaks) = (board.sink(Side::Hears), board.sink(Side::Speaks));
    let mut change = || changes.try_recv().ok().and_then(|change| change.state);
    assert_eq!(board.of(&bot), None);
    speaks(&bot, Ok(()));
    assert_eq!(change(), Some(Ok(())));
    hears(&bot, Err(conflict()));
    assert_eq!(change(), Some(Err(conflict())));
    speaks(&bot, Err(revoked()));
    assert_eq!(change(), Some(Err(revoked())));
    hears(&bot, Ok(()));
    assert_eq!(change(), None);
    assert_eq!(board.of(&bot), Some(Err(revoked())));
    speaks(&bot, Ok(()));
    assert_eq!(change(), Some(Ok(())));
    assert_eq!(board.of(&name("other")), None);
}

#[tokio::test]
async fn every_profile_that_answers_somewhere_has_a_home() {
    let (post, visible) = (Arc::default(), Arc::default());
    let herald = herald(&post, &visible);
    herald.prepare().await.unwrap();
    for owner in ["work", "routed"] {
        let chat = home_chat(&name("web"), &profile(owner)).unwrap();
        let row = visible.conversation(&chat.conversation).await.unwrap();
        assert_eq!(row.unwrap().profile, profile(owner));
    }
}
