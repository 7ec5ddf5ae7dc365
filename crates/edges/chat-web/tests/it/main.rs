//! The web chat as a channel: what a person and an agent see of it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chat::{
    Accepted, Activity, Body, ChatAdapter as _, Delivery, Done, DownloadError, Event, Fault,
    FaultKind, FileHandle, IdempotencyKey, InboundSink, Op, Preview, Shape, SinkError, Way,
};
use sandbox::{ArtifactRef, BlobStore as _, Taken};
use session::{ConversationRow, VisibleAuthor, VisibleLog as _};
use testkit::blobs::MemoryBlobs;
use testkit::clock::ManualClock;
use testkit::visible::MemoryVisible;
use tidings_chat_web::{Live, Options, Ports, Said, SayError, Web};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use waybill::{AccountId, ChatKey, Clock as _, Conversation, ProfileId};

/// An inbox that knows what it has, can be held up, and can fail.
struct Inbox {
    keys: Mutex<HashSet<String>>,
    events: Mutex<Vec<Event>>,
    pass: Semaphore,
    broken: AtomicBool,
}

#[async_trait]
impl InboundSink for Inbox {
    async fn accept(
        &self,
        _: &AccountId,
        events: Vec<Event>,
        _: Option<String>,
    ) -> Result<Accepted, SinkError> {
        let _pass = self.pass.acquire().await.unwrap();
        if self.broken.load(Ordering::SeqCst) {
            return Err(SinkError("the disk is full".into()));
        }
        let mut accepted = Accepted::default();
        for event in events {
            if self.keys.lock().unwrap().insert(event.key.clone()) {
                accepted.fresh += 1;
                self.events.lock().unwrap().push(event);
            } else {
                accepted.repeated += 1;
            }
        }
        Ok(accepted)
    }

    async fn cursor(&self, _: &AccountId) -> Result<Option<String>, SinkError> {
        Ok(None)
    }

    fn health(&self, _: &AccountId, _: Result<(), Fault>) {}
}

struct World {
    web: Web,
    visible: Arc<MemoryVisible>,
    blobs: Arc<MemoryBlobs>,
    inbox: Arc<Inbox>,
    chat: ChatKey,
    profile: ProfileId,
    tasks: JoinSet<()>,
}

impl World {
    async fn silent() -> Self {
        let visible = Arc::new(MemoryVisible::default());
        let blobs = Arc::new(MemoryBlobs::default());
        let clock = Arc::new(ManualClock::default());
        let account = AccountId::parse("web").unwrap();
        let options = Options {
            account: account.clone(),
            attachment_bytes: 1_000,
        };
        let ports = Ports {
            visible: visible.clone(),
            blobs: blobs.clone(),
            clock: clock.clone(),
        };
        let conversation = Conversation::new("c1").unwrap();
        let profile = ProfileId::parse("default").unwrap();
        let row = ConversationRow {
            conversation: conversation.clone(),
            profile: profile.clone(),
            title: String::new(),
            touched_at: clock.now(),
        };
        visible.open(row).await.unwrap();
        let inbox = Inbox {
            keys: Mutex::default(),
            events: Mutex::default(),
            pass: Semaphore::new(100),
            broken: AtomicBool::new(false),
        };
        let chat = ChatKey::new(account, conversation);
        let web = Web::new(options, ports);
        Self {
            web,
            visible,
            blobs,
            inbox: Arc::new(inbox),
            chat,
            profile,
            tasks: JoinSet::new(),
        }
    }

    async fn new() -> Self {
        let mut world = Self::silent().await;
        world.listen();
        world
    }

    fn listen(&mut self) {
        let (web, inbox) = (self.web.clone(), Arc::clone(&self.inbox));
        self.tasks.spawn(async move {
            let Err(_closed) = web.listen(inbox.as_ref()).await;
        });
    }

    fn said(&self, id: &str, text: &str) -> Said {
        Said {
            conversation: self.chat.conversation.clone(),
            message: id.into(),
            text: text.into(),
            files: Vec::new(),
        }
    }

    async fn entries(&self) -> Vec<session::Visible> {
        self.visible
            .entries(&self.chat.conversation, 0, 100)
            .await
            .unwrap()
    }

    async fn deliver(&self, op: &Op, key: u8) -> Result<chat::Receipt, Fault> {
        let key = IdempotencyKey::new([key; 16]);
        let delivery = Delivery {
            chat: &self.chat,
            anchor: None,
            op,
            key,
            may_be_repeat: false,
            way: Way::Direct,
            step: None,
            silent: false,
        };
        match self.web.deliver(delivery, self.blobs.as_ref()).await? {
            Done::All(receipt) => Ok(receipt),
            Done::Step(step) => panic!("the web chat takes no steps: {step:?}"),
        }
    }
}

fn text(words: &str) -> Op {
    Op::Text(Body::Markdown(words.into()))
}

#[tokio::test]
async fn a_message_that_is_sent_twice_is_one_message() {
    let world = World::new().await;
    let first = world.web.say(world.said("m1", "hello")).await.unwrap();
    let again = world.web.say(world.said("m1", "hello")).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(world.inbox.events.lock().unwrap().len(), 1);
    assert_eq!(world.entries().await.len(), 1);
}

#[tokio::test]
async fn a_message_that_could_not_be_stored_is_not_shown_and_goes_through_later() {
    let world = World::new().await;
    world.inbox.broken.store(true, Ordering::SeqCst);
    let refused = world.web.say(world.said("m1", "hello")).await;
    assert!(
        matches!(refused, Err(SayError::NotStored(_))),
        "{refused:?}"
    );
    assert!(world.entries().await.is_empty());
    world.inbox.broken.store(false, Ordering::SeqCst);
    world.web.say(world.said("m1", "hello")).await.unwrap();
    assert_eq!(world.entries().await.len(), 1);
}

#[tokio::test]
async fn a_message_that_was_taken_but_not_shown_is_shown_when_it_is_sent_again() {
    let world = World::new().await;
    world.visible.break_down(true);
    assert!(world.web.say(world.said("m1", "hello")).await.is_err());
    world.visible.break_down(false);
    world.web.say(world.said("m1", "hello")).await.unwrap();
    assert_eq!(world.inbox.events.lock().unwrap().len(), 1);
    assert_eq!(world.entries().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_does_not_listen_yet_answers_with_a_sentence() {
    let world = World::silent().await;
    let refused = world.web.say(world.said("m1", "hello")).await;
    assert_eq!(refused, Err(SayError::Unknown));
    assert!(world.entries().await.is_empty());
}

#[tokio::test]
async fn an_answer_never_stands_above_its_question() {
    let world = World::new().await;
    let held = world.inbox.pass.acquire_many(100).await.unwrap();
    let question = world.web.say(world.said("m1", "question"));
    let op = text("answer");
    let answer = async {
        // The question waits inside the inbox by now, as its answer would find it.
        while world.inbox.pass.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        let delivered = world.deliver(&op, 1);
        let release = async { drop(held) };
        tokio::join!(delivered, release).0
    };
    let (question, answer) = tokio::join!(question, answer);
    question.unwrap();
    answer.unwrap();
    let authors: Vec<_> = world
        .entries()
        .await
        .iter()
        .map(|entry| entry.author)
        .collect();
    assert_eq!(authors, [VisibleAuthor::Person, VisibleAuthor::Agent]);
}

#[tokio::test]
async fn a_part_that_is_delivered_twice_shows_once() {
    let world = World::new().await;
    let receipt = world.deliver(&text("hello"), 7).await.unwrap();
    let again = world.deliver(&text("hello"), 7).await.unwrap_err();
    assert_eq!(
        again.kind,
        FaultKind::Duplicate {
            receipt: Some(receipt)
        }
    );
    assert_eq!(world.entries().await.len(), 1);
}

#[tokio::test]
async fn what_can_not_be_shown_is_refused_with_the_reason() {
    let world = World::new().await;
    assert_eq!(
        world
            .deliver(&text(" \u{200b}\n"), 1)
            .await
            .unwrap_err()
            .kind,
        FaultKind::PermItem
    );

    let blob = world
        .blobs
        .put(&ProfileId::parse("other").unwrap(), "a.png", "bytes");
    let artifact = ArtifactRef {
        profile: world.profile.clone(),
        blob,
        name: "a.png".into(),
        taken: Taken::Received,
    };
    let picture = Op::File {
        artifact,
        shape: Shape::Photo,
        caption: None,
    };
    let gone = world.deliver(&picture, 2).await.unwrap_err();
    assert_eq!(gone.kind, FaultKind::PermItem);
    assert!(gone.text.contains("a.png"), "{}", gone.text);

    let mut nowhere = World::new().await;
    nowhere.chat.conversation = Conversation::new("c2").unwrap();
    assert_eq!(
        nowhere.deliver(&text("hello"), 3).await.unwrap_err().kind,
        FaultKind::PermChat
    );

    world.visible.break_down(true);
    assert_eq!(
        world.deliver(&text("hello"), 4).await.unwrap_err().kind,
        FaultKind::TempReject
    );
    assert!(
        world
            .visible
            .entries(&world.chat.conversation, 0, 9)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn who_looks_sees_the_answer_grow_and_then_stand() {
    let world = World::new().await;
    let mut looking = world.web.subscribe(&world.chat.conversation);
    world.web.say(world.said("m1", "hi")).await.unwrap();
    world.web.activity(&world.chat, Activity::Typing).await;
    world
        .web
        .preview(&world.chat, Preview::Text("Hel".into()))
        .await;
    world.web.preview(&world.chat, Preview::Clear).await;
    world.deliver(&text("Hello"), 1).await.unwrap();
    world.web.activity(&world.chat, Activity::Idle).await;
    assert!(matches!(looking.next().await, Live::Entry { message: Some(id), .. } if id == "m1"));
    assert_eq!(looking.next().await, Live::Busy { after: 1 });
    assert_eq!(looking.next().await, Live::Preview("Hel".into()));
    assert_eq!(looking.next().await, Live::Clear);
    assert!(matches!(
        looking.next().await,
        Live::Entry { message: None, .. }
    ));
    assert_eq!(looking.next().await, Live::Idle);
}

#[tokio::test]
async fn an_uploaded_file_is_fetched_by_its_handle_up_to_the_limit() {
    let world = World::new().await;
    let blob = world.blobs.put(&world.profile, "a.txt", "0123456789");
    let handle = FileHandle::new(format!("{}/{}", world.profile, blob.hash));
    let mut into = world.blobs.create(&world.profile).await.unwrap();
    world.web.fetch(&handle, 10, into.as_mut()).await.unwrap();
    assert_eq!(into.finish("b.txt").await.unwrap().hash, blob.hash);

    let mut into = world.blobs.create(&world.profile).await.unwrap();
    let large = world.web.fetch(&handle, 9, into.as_mut()).await;
    assert!(matches!(large, Err(DownloadError::TooLarge { limit: 9 })));
    for wrong in ["", "../etc/passwd", "default/00"] {
        let refused = world
            .web
            .fetch(&FileHandle::new(wrong), 9, into.as_mut())
            .await;
        assert!(matches!(refused, Err(DownloadError::Refused(_))), "{wrong}");
    }
}

#[tokio::test]
async fn listening_goes_on_after_it_was_interrupted() {
    let mut world = World::new().await;
    world.web.say(world.said("m1", "one")).await.unwrap();
    world.tasks.shutdown().await;
    world.listen();
    let second = tokio::time::timeout(
        Duration::from_secs(10),
        world.web.say(world.said("m2", "two")),
    )
    .await;
    second.unwrap().unwrap();
    assert_eq!(world.entries().await.len(), 2);
}
