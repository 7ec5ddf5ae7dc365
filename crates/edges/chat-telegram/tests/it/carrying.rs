//! Long and heavy parts go by a placeholder that is edited.

use std::time::Duration;

use bytes::Bytes;
use chat::{
    Body, ChatAdapter, Delivery, Done, FaultKind, Grade, IdempotencyKey, Op, Receipt, RichText,
    Shape, Span, Step, Style, Way, WhenUnknown,
};
use outbox::{Attachment, Draft, Envelope, MessageKind, NewPart, compose};
use sandbox::{ArtifactRef, Taken};
use testkit::blobs::MemoryBlobs;
use testkit::clock::CountingIds;
use testkit::telegram::{Rule, Trouble, Visible};
use tidings_chat_telegram::Telegram;
use waybill::{Anchor, ChatKey, MessageId, ProfileId, ProfileScope, Timestamp, Waybill};

use crate::world::{ANN, FORUM, TOKEN, TOPIC, World, chat, topic};

fn profile() -> ProfileId {
    ProfileId::parse("work").unwrap()
}

fn artifact(blobs: &MemoryBlobs, name: &str, bytes: impl Into<Bytes>) -> ArtifactRef {
    ArtifactRef {
        profile: profile(),
        blob: blobs.put(&profile(), name, bytes),
        name: name.to_owned(),
        taken: Taken::Received,
    }
}

fn report(blobs: &MemoryBlobs) -> Op {
    Op::File {
        artifact: artifact(blobs, "report.bin", vec![7; 1_200_000]),
        shape: Shape::Document,
        caption: Some(Body::Rich(RichText::plain("as you asked"))),
    }
}

fn bold(text: &str) -> Op {
    let spans = vec![Span {
        offset: 0,
        length: 4,
        style: Style::Bold,
    }];
    Op::Text(Body::Rich(RichText {
        text: text.to_owned(),
        spans,
    }))
}

/// One part on its way, as the courier carries it: a step is followed by the next attempt; what may be repeated without harm is
/// repeated; a refusal is followed by the plainer form, and the placeholder is taken away.
struct Carrying<'a> {
    telegram: &'a Telegram,
    blobs: &'a MemoryBlobs,
    chat: ChatKey,
    anchor: Option<Anchor>,
    faults: Vec<FaultKind>,
    steps: Vec<Step>,
}

impl<'a> Carrying<'a> {
    fn new(telegram: &'a Telegram, blobs: &'a MemoryBlobs, chat: ChatKey) -> Self {
        Self {
            telegram,
            blobs,
            chat,
            anchor: None,
            faults: Vec::new(),
            steps: Vec::new(),
        }
    }

    async fn attempt(&mut self, op: &Op, way: Way, step: Option<&Step>) -> Result<Done, FaultKind> {
        let delivery = Delivery {
            chat: &self.chat,
            anchor: self.anchor.as_ref(),
            op,
            key: IdempotencyKey::new([0; 16]),
            may_be_repeat: false,
            way,
            step,
            silent: false,
        };
        let done = self.telegram.deliver(delivery, self.blobs).await;
        done.map_err(|fault| {
            self.faults.push(fault.kind.clone());
            fault.kind
        })
    }

    async fn carry(&mut self, op: &Op, way: Way) -> Receipt {
        let (mut op, mut way, mut step) = (op.clone(), way, None::<Step>);
        for _ in 0..10 {
            match self.attempt(&op, way, step.as_ref()).await {
                Ok(Done::All(receipt)) => return receipt,
                Ok(Done::Step(next)) => {
                    self.steps.push(next.clone());
                    step = Some(next);
                }
                Err(FaultKind::Unknown) if way == Way::Carried => {}
                Err(FaultKind::TempReject) => {}
                Err(FaultKind::PermItem) if way == Way::Carried => {
                    if let Some(step) = step.take() {
                        self.telegram.withdraw(&self.chat, &step).await;
                    }
                    way = Way::Direct;
                    op = op.plainer().unwrap_or(op);
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        panic!("it never arrives: {:?}", self.faults)
    }
}

fn texts(shown: &[Visible]) -> Vec<&str> {
    shown.iter().map(|shown| shown.text.as_str()).collect()
}

fn composed(telegram: &Telegram, draft: Draft) -> Vec<NewPart> {
    let waybill = Waybill::operator(&ProfileScope::enter(profile()), chat(ANN));
    let message = compose(
        Envelope {
            id: MessageId::fresh(&CountingIds::default()),
            install: "here",
            waybill: &waybill,
            kind: MessageKind::Reply,
            source: "turn:1",
            ordinal: 0,
            descriptor: telegram.descriptor(),
            now: Timestamp::from_second(1_800_000_000).unwrap(),
        },
        draft,
    );
    message.unwrap().parts
}

#[tokio::test]
async fn a_large_document_comes_by_a_placeholder_that_says_what_comes() {
    let world = World::new().await;
    let (telegram, blobs) = (world.telegram(|_| ()), MemoryBlobs::default());
    let parts = composed(
        &telegram,
        Draft {
            text: String::new(),
            attachments: vec![Attachment {
                artifact: artifact(&blobs, "report.bin", vec![7; 1_200_000]),
                shape: Shape::Auto,
                caption: Some("as you asked".to_owned()),
            }],
            notes: Vec::new(),
        },
    );
    assert_eq!(parts[0].way, Way::Carried);
    let mut way = Carrying::new(&telegram, &blobs, chat(ANN));
    let done = way.attempt(&parts[0].op, Way::Carried, None).await.unwrap();
    let Done::Step(step) = done else {
        panic!("{done:?}")
    };
    let shown = world.fake.chat(TOKEN, ANN);
    assert!(
        shown[0].text.contains("report.bin") && shown[0].text.contains("(1 MB)"),
        "{}",
        shown[0].text
    );
    let done = way
        .attempt(&parts[0].op, Way::Carried, Some(&step))
        .await
        .unwrap();
    assert_eq!(done, Done::All(Receipt::new(step.as_str())));
    let shown = world.fake.chat(TOKEN, ANN);
    assert_eq!(shown.len(), 1, "the placeholder became the document");
    let file = shown[0].file.as_ref().unwrap();
    assert_eq!(
        (file.kind.as_str(), file.name.as_str()),
        ("document", "report.bin")
    );
    assert_eq!(file.bytes.len(), 1_200_000);
    assert_eq!(file.caption.as_deref(), Some("as you asked"));
    world.assert_clean();
}

#[tokio::test]
async fn an_answer_of_four_parts_comes_by_four_placeholders_in_order() {
    let world = World::new().await;
    let (telegram, blobs) = (world.telegram(|_| ()), MemoryBlobs::default());
    let text: String = (0..2_500).map(|n| format!("word{n:03} ")).collect();
    let parts = composed(
        &telegram,
        Draft {
            text,
            ..Draft::default()
        },
    );
    assert!(parts.len() >= 4, "{}", parts.len());
    let mut way = Carrying::new(&telegram, &blobs, chat(ANN));
    let mut wanted = Vec::new();
    for part in &parts {
        assert_eq!(part.way, Way::Carried);
        way.carry(&part.op, part.way).await;
        let Op::Text(body) = &part.op else {
            panic!("{:?}", part.op)
        };
        wanted.push(body.text());
    }
    assert_eq!(texts(&world.fake.chat(TOKEN, ANN)), wanted);
    assert_eq!(way.faults, []);
    assert_eq!(way.steps.len(), parts.len());
    world.assert_clean();
}

#[tokio::test]
async fn a_lost_answer_to_the_placeholder_leaves_an_empty_one_and_the_content_once() {
    let world = World::new().await;
    let (telegram, blobs) = (world.telegram(|_| ()), MemoryBlobs::default());
    world
        .fake
        .script(Rule::on("sendMessage"), Trouble::AcceptThenDrop);
    let mut way = Carrying::new(&telegram, &blobs, chat(ANN));
    way.carry(&bold("long words"), Way::Carried).await;
    assert_eq!(way.faults, [FaultKind::Unknown]);
    let shown = world.fake.chat(TOKEN, ANN);
    assert_eq!(texts(&shown), ["…", "long words"], "and no mark");
    world.assert_clean();
}

#[tokio::test]
async fn a_lost_answer_to_the_edit_shows_the_content_once() {
    for trouble in [
        Trouble::AcceptThenDrop,
        Trouble::AcceptThen500,
        Trouble::HalfBody,
        Trouble::Drop,
    ] {
        for (method, heavy) in [("editMessageText", false), ("editMessageMedia", true)] {
            let world = World::new().await;
            let (telegram, blobs) = (world.telegram(|_| ()), MemoryBlobs::default());
            let op = if heavy {
                report(&blobs)
            } else {
                bold("long words")
            };
            world.fake.script(Rule::on(method), trouble.clone());
            let mut way = Carrying::new(&telegram, &blobs, chat(ANN));
            way.carry(&op, Way::Carried).await;
            assert_eq!(way.faults, [FaultKind::Unknown], "{trouble:?}");
            let shown = world.fake.chat(TOKEN, ANN);
            assert_eq!(shown.len(), 1, "{trouble:?} {method}: {:?}", texts(&shown));
            if heavy {
                assert!(shown[0].file.is_some());
            } else {
                assert_eq!(texts(&shown), ["long words"]);
            }
            world.assert_clean();
        }
    }
}

#[tokio::test]
async fn a_placeholder_that_somebody_deleted_is_sent_anew_directly() {
    let world = World::new().await;
    let (telegram, blobs) = (world.telegram(|_| ()), MemoryBlobs::default());
    for op in [bold("long words"), report(&blobs)] {
        let before = world.fake.chat(TOKEN, ANN).len();
        let mut way = Carrying::new(&telegram, &blobs, chat(ANN));
        let done = way.attempt(&op, Way::Carried, None).await.unwrap();
        let Done::Step(step) = done else {
            panic!("{done:?}")
        };
        telegram.withdraw(&chat(ANN), &step).await;
        assert_eq!(world.fake.chat(TOKEN, ANN).len(), before, "it is gone");
        let refused = way.attempt(&op, Way::Carried, Some(&step)).await;
        assert_eq!(refused, Err(FaultKind::PermItem));
        way.carry(&op.plainer().unwrap_or(op), Way::Direct).await;
        assert_eq!(world.fake.chat(TOKEN, ANN).len(), before + 1);
    }
}

#[tokio::test]
async fn an_edit_that_is_refused_is_followed_by_the_plainer_form_and_no_placeholder_stays() {
    let world = World::new().await;
    let (telegram, blobs) = (world.telegram(|_| ()), MemoryBlobs::default());
    world.fake.script(
        Rule::on("editMessageText"),
        Trouble::BadRequest("can't parse entities".to_owned()),
    );
    let mut way = Carrying::new(&telegram, &blobs, chat(ANN));
    way.carry(&bold("long words"), Way::Carried).await;
    assert_eq!(way.faults, [FaultKind::PermItem]);
    let shown = world.fake.chat(TOKEN, ANN);
    assert_eq!(texts(&shown), ["long words"]);
    assert_eq!(shown[0].entities.len(), 0);
    assert_eq!(world.fake.calls_of("deleteMessage").len(), 1);
    world.assert_clean();
}

#[tokio::test]
async fn a_placeholder_answers_its_anchor_in_its_topic() {
    let world = World::new().await;
    let (telegram, blobs) = (world.telegram(|_| ()), MemoryBlobs::default());
    world.fake.add_topic(TOKEN, FORUM, TOPIC);
    let asked = world.fake.say(
        TOKEN,
        testkit::telegram::Said::text("well?")
            .in_group(FORUM)
            .topic(TOPIC),
    );
    let mut way = Carrying::new(&telegram, &blobs, topic(FORUM, TOPIC));
    way.anchor = Some(Anchor::new(asked.message_id.to_string()));
    for op in [bold("long words"), report(&blobs)] {
        way.carry(&op, Way::Carried).await;
    }
    let shown = world.fake.chat(TOKEN, FORUM);
    assert_eq!(shown.len(), 2);
    for shown in &shown {
        assert_eq!(shown.thread, Some(TOPIC));
        assert_eq!(shown.reply_to, Some(asked.message_id));
    }
    for edit in ["editMessageText", "editMessageMedia"] {
        let call = world.fake.calls_of(edit).remove(0);
        assert!(call.param("reply_parameters").is_null(), "{edit}");
        assert!(call.param("message_thread_id").is_null(), "{edit}");
    }
    world.assert_clean();
}

#[tokio::test]
async fn what_the_owner_wants_and_what_the_platform_publishes_is_told() {
    let world = World::new().await;
    let telegram = world.telegram(|options| options.when_unknown = WhenUnknown::Hold);
    let descriptor = telegram.descriptor();
    assert_eq!(descriptor.when_unknown, WhenUnknown::Hold);
    assert_eq!(descriptor.grade, Grade::TwoPhase);
    assert_eq!(descriptor.settle, Duration::from_secs(2));
    for (rates, name) in [
        (&descriptor.rates.account, "account"),
        (&descriptor.rates.direct, "direct"),
        (&descriptor.rates.group, "group"),
    ] {
        assert!(!rates.is_empty(), "{name}");
    }
    use chat::Readers::{One, Several};
    for (id, readers) in [("111", One), ("-45", Several), ("@news", Several)] {
        let chat = ChatKey::new(
            crate::world::account(),
            waybill::Conversation::new(id).unwrap(),
        );
        assert_eq!(telegram.readers(&chat), readers, "{id}");
    }
}
