//! Programs as a channel: what comes in, who reads what, and what is kept.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chat::{
    Accepted, Activity, Body, ChatAdapter as _, Delivery, Done, Event, Fault, FaultKind,
    IdempotencyKey, Inbound, InboundSink, Op, Preface, Preview, SinkError, Way,
};
use model::Usage;
use outbox::PartState;
use session::{AnswerPart, Progress, TurnAnswer, TurnEnd};
use testkit::blobs::MemoryBlobs;
use testkit::clock::{CountingIds, ManualClock};
use testkit::programs::MemoryPrograms;
use tidings_chat_api::{Api, AskError, News, Options, Ports, Request, RequestKey, Waiting};
use tokio::task::JoinSet;
use waybill::{AccountId, Anchor, ChatKey, Timestamp, TurnId};

#[derive(Default)]
struct Inbox {
    keys: Mutex<HashSet<String>>,
    heard: Mutex<Vec<Inbound>>,
    broken: Mutex<bool>,
}

#[async_trait]
impl InboundSink for Inbox {
    async fn accept(
        &self,
        _: &AccountId,
        events: Vec<Event>,
        _: Option<String>,
    ) -> Result<Accepted, SinkError> {
        if *self.broken.lock().unwrap() {
            return Err(SinkError("the disk is full".to_owned()));
        }
        for event in events {
            if self.keys.lock().unwrap().insert(event.key) {
                self.heard.lock().unwrap().extend(event.parsed.unwrap());
            }
        }
        Ok(Accepted::default())
    }

    async fn cursor(&self, _: &AccountId) -> Result<Option<String>, SinkError> {
        Ok(None)
    }

    fn health(&self, _: &AccountId, _: Result<(), Fault>) {}
}

struct World {
    api: Api,
    inbox: Arc<Inbox>,
    programs: Arc<MemoryPrograms>,
    blobs: Arc<MemoryBlobs>,
    _listening: JoinSet<()>,
}

impl World {
    fn new() -> Self {
        let programs = Arc::new(MemoryPrograms::default());
        let blobs = Arc::new(MemoryBlobs::default());
        let api = Api::new(
            Options {
                account: "api".parse().unwrap(),
                attachment_bytes: 1_000,
            },
            Ports {
                answers: programs.clone(),
                blobs: blobs.clone(),
                clock: Arc::new(ManualClock::default()),
                ids: Arc::new(CountingIds::default()),
            },
        );
        let inbox = Arc::new(Inbox::default());
        let mut listening = JoinSet::new();
        let (ear, sink) = (api.clone(), Arc::clone(&inbox));
        listening.spawn(async move {
            let Err(_closed) = ear.listen(sink.as_ref()).await;
        });
        Self {
            api,
            inbox,
            programs,
            blobs,
            _listening: listening,
        }
    }

    async fn ask(&self, request: Request) -> Waiting {
        self.api
            .ask(request)
            .await
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// The events so far.
    fn heard(&self) -> Vec<Inbound> {
        self.inbox.heard.lock().unwrap().clone()
    }

    fn chat(&self, waiting: &Waiting) -> ChatKey {
        let heard = self.heard();
        let event = heard
            .iter()
            .find(|event| event.anchor.as_str() == waiting.request());
        event.unwrap().chat.clone()
    }

    async fn deliver(
        &self,
        waiting: &Waiting,
        op: &Op,
        key: IdempotencyKey,
    ) -> Result<Done, Fault> {
        let chat = self.chat(waiting);
        let anchor = Anchor::new(waiting.request());
        let delivery = Delivery {
            chat: &chat,
            anchor: Some(&anchor),
            op,
            key,
            may_be_repeat: false,
            way: Way::Direct,
            step: None,
            silent: false,
        };
        self.api.deliver(delivery, self.blobs.as_ref()).await
    }
}

fn request(text: &str, session: Option<&str>) -> Request {
    Request {
        client: "program".parse().unwrap(),
        session: session.map(str::to_owned),
        text: text.to_owned(),
        files: Vec::new(),
        preface: Preface::default(),
        key: None,
    }
}

fn text(words: &str) -> Op {
    Op::Text(Body::Markdown(words.to_owned()))
}

fn key(number: u8) -> IdempotencyKey {
    IdempotencyKey::new([number; 16])
}

fn ended(parts: &[(u8, PartState)]) -> Progress {
    let parts = parts.iter().map(|(number, state)| AnswerPart {
        key: key(*number),
        op: text(&format!("part {number}")),
        state: *state,
        fault: None,
        forgotten: false,
    });
    Progress::Ended(Box::new(TurnAnswer {
        turn: TurnId::fresh(&CountingIds::default()),
        end: TurnEnd::Answered,
        usage: Usage::default(),
        parts: parts.collect(),
        at: Timestamp::UNIX_EPOCH,
    }))
}

fn runs() -> Progress {
    Progress::Runs {
        turn: TurnId::fresh(&CountingIds::default()),
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_read_when_its_last_part_was_delivered_and_not_before() {
    let world = World::new();
    let mut waiting = world.ask(request("hi", None)).await;
    let id = waiting.request().to_owned();
    world.programs.stands(
        &id,
        ended(&[(1, PartState::Sending), (2, PartState::Queued)]),
    );
    world
        .deliver(&waiting, &text("part 1"), key(1))
        .await
        .unwrap();
    let early = tokio::time::timeout(std::time::Duration::from_secs(60), waiting.next()).await;
    assert!(
        early.is_err(),
        "it was read before its second part was delivered"
    );
    world
        .deliver(&waiting, &text("part 2"), key(2))
        .await
        .unwrap();
    let Ok(News::Answer(answer)) = waiting.next().await else {
        panic!("no answer");
    };
    assert_eq!(answer.parts.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn parts_that_were_given_up_are_not_waited_for_even_if_no_sign_comes() {
    let world = World::new();
    let mut waiting = world.ask(request("hi", None)).await;
    let id = waiting.request().to_owned();
    world
        .programs
        .stands(&id, ended(&[(1, PartState::Sent), (2, PartState::Failed)]));
    assert!(matches!(waiting.next().await, Ok(News::Answer(_))));
    world.programs.stands(
        &id,
        Progress::Refused {
            reason: "gone".to_owned(),
        },
    );
    let mut again = world.ask(request("hi", None)).await;
    world.programs.stands(
        again.request(),
        Progress::Refused {
            reason: "gone".to_owned(),
        },
    );
    assert!(again.next().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn words_are_shown_early_once_the_requests_own_turn_runs() {
    let world = World::new();
    let mut waiting = world.ask(request("hi", Some("s"))).await;
    let chat = world.chat(&waiting);
    world.programs.stands(waiting.request(), Progress::Waits);
    world.api.activity(&chat, Activity::Typing).await;
    world
        .api
        .preview(&chat, Preview::Text("whose?".to_owned()))
        .await;
    let early = tokio::time::timeout(std::time::Duration::from_secs(1), waiting.next()).await;
    assert!(
        early.is_err(),
        "words of a turn that the store does not know"
    );
    world.programs.stands(waiting.request(), runs());
    world
        .api
        .preview(&chat, Preview::Text("its own".to_owned()))
        .await;
    let Ok(News::SoFar(words)) = waiting.next().await else {
        panic!("no words");
    };
    assert_eq!(&*words, "its own");
}

#[tokio::test(start_paused = true)]
async fn a_part_that_nobody_waits_for_counts_as_delivered() {
    let world = World::new();
    let waiting = world.ask(request("hi", None)).await;
    let (chat, anchor) = (world.chat(&waiting), Anchor::new(waiting.request()));
    drop(waiting);
    let op = text("late");
    let delivery = Delivery {
        chat: &chat,
        anchor: Some(&anchor),
        op: &op,
        key: key(1),
        may_be_repeat: false,
        way: Way::Direct,
        step: None,
        silent: false,
    };
    for _repeat in 0..2 {
        let done = world
            .api
            .deliver(delivery.clone(), world.blobs.as_ref())
            .await;
        assert!(matches!(done, Ok(Done::All(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_shown_or_answered_is_refused() {
    let world = World::new();
    let waiting = world.ask(request("hi", None)).await;
    let question = Op::Question {
        body: Body::Markdown("May I?".to_owned()),
        question: "q".to_owned(),
        choices: Vec::new(),
    };
    for op in [text(" \n"), question] {
        let fault = world.deliver(&waiting, &op, key(1)).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::PermItem);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_with_a_key_is_one_event_and_another_with_it_is_refused() {
    let world = World::new();
    let keyed = |text: &str, asks: u8| Request {
        key: Some(RequestKey {
            key: [1; 32],
            asks: [asks; 32],
        }),
        ..request(text, None)
    };
    let first = world.ask(keyed("do it", 1)).await;
    let mut again = world.ask(keyed("do it", 1)).await;
    assert_eq!(first.request(), again.request());
    assert_eq!(world.heard().len(), 1);
    assert!(matches!(
        world.api.ask(keyed("or that", 2)).await.err(),
        Some(AskError::OtherRequest)
    ));
    // It may have ended long ago.
    world
        .programs
        .stands(first.request(), ended(&[(1, PartState::Sent)]));
    assert!(matches!(again.next().await, Ok(News::Answer(_))));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_not_stored_is_not_waited_for() {
    let world = World::new();
    *world.inbox.broken.lock().unwrap() = true;
    let refused = world.api.ask(request("hi", Some("s"))).await.err();
    assert!(
        matches!(refused, Some(AskError::NotStored(_))),
        "{refused:?}"
    );
    for wrong in [request(" ", None), request("hi", Some("a/b"))] {
        assert!(world.api.ask(wrong).await.is_err());
    }
    assert!(world.heard().is_empty());
}

#[tokio::test(start_paused = true)]
async fn requests_of_a_session_share_a_conversation_and_others_have_one_each() {
    let world = World::new();
    for session in [Some("s"), Some("s"), None, None] {
        world.ask(request("hi", session)).await;
    }
    let heard = world.heard();
    let conversations: HashSet<_> = heard
        .iter()
        .map(|event| event.chat.conversation.as_str())
        .collect();
    assert_eq!(conversations.len(), 3);
    assert!(conversations.contains("program/s"));
}
