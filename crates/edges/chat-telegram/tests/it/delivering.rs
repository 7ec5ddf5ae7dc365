//! Sends, and what becomes of them.

use std::time::Duration;

use bytes::Bytes;
use chat::{
    Activity, Body, ChatAdapter, Delivery, Done, Fault, IdempotencyKey, Op, Receipt, RichText,
    Shape, Span, Style, Way,
};
use sandbox::{ArtifactRef, BlobError, BlobReader, BlobStore, BlobWriter, ContentHash, Taken};
use serde_json::json;
use testkit::blobs::MemoryBlobs;
use testkit::telegram::{Rule, Trouble};
use waybill::{ChatKey, ProfileId};

use crate::world::{ANN, FORUM, TOKEN, TOPIC, World, chat, topic};

/// One pixel.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00";
/// 9,000 pixels wide and 200 high.
const WIDE: &[u8] =
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x23\x28\x00\x00\x00\xc8\x08\x06\x00\x00\x00";

fn profile() -> ProfileId {
    ProfileId::parse("work").unwrap()
}

fn plain(text: &str) -> Op {
    Op::Text(Body::Rich(RichText::plain(text)))
}

fn file(
    blobs: &MemoryBlobs,
    name: &str,
    bytes: impl Into<Bytes>,
    shape: Shape,
    caption: Option<Body>,
) -> Op {
    let artifact = ArtifactRef {
        profile: profile(),
        blob: blobs.put(&profile(), name, bytes),
        name: name.to_owned(),
        taken: Taken::Received,
    };
    Op::File {
        artifact,
        shape,
        caption,
    }
}

pub(crate) fn delivery<'a>(chat: &'a ChatKey, op: &'a Op) -> Delivery<'a> {
    Delivery {
        chat,
        anchor: None,
        op,
        key: IdempotencyKey::new([0; 16]),
        may_be_repeat: false,
        way: Way::Direct,
        step: None,
        silent: false,
    }
}

/// What was made in one call.
fn all(done: Done) -> Receipt {
    match done {
        Done::All(receipt) => receipt,
        Done::Step(step) => panic!("in one call there are no steps: {step:?}"),
    }
}

async fn send(
    world: &World,
    chat: &ChatKey,
    op: &Op,
    blobs: &dyn BlobStore,
) -> Result<Receipt, Fault> {
    world
        .telegram(|_| ())
        .deliver(delivery(chat, op), blobs)
        .await
        .map(all)
}

#[tokio::test]
async fn formatting_goes_out_as_entities() {
    let world = World::new().await;
    let rich = RichText {
        text: "😀 run cmd".to_owned(),
        spans: vec![
            Span {
                offset: 3,
                length: 7,
                style: Style::Bold,
            },
            Span {
                offset: 7,
                length: 3,
                style: Style::Link("https://a.example/".to_owned()),
            },
        ],
    };
    let receipt = send(
        &world,
        &chat(ANN),
        &Op::Text(Body::Rich(rich)),
        &MemoryBlobs::default(),
    )
    .await
    .unwrap();
    let shown = world.fake.chat(TOKEN, ANN).remove(0);
    assert_eq!(receipt.as_str(), shown.message_id.to_string());
    assert_eq!(
        serde_json::to_value(&shown.entities).unwrap(),
        json!([{"type": "bold", "offset": 3, "length": 7}, {"type": "text_link", "offset": 7, "length": 3, "url": "https://a.example/"}])
    );
    let call = world.fake.calls_of("sendMessage").remove(0);
    assert_eq!(
        call.param("link_preview_options"),
        &json!({"is_disabled": true})
    );
    assert!(call.param("parse_mode").is_null());
    world.assert_clean();
}

#[tokio::test]
async fn photos_voice_notes_and_documents_go_each_by_their_way() {
    let world = World::new().await;
    let blobs = MemoryBlobs::default();
    let caption = Body::Rich(RichText {
        text: "a bold word".to_owned(),
        spans: vec![Span {
            offset: 2,
            length: 4,
            style: Style::Bold,
        }],
    });
    for op in [
        file(&blobs, "chart.png", PNG, Shape::Photo, Some(caption)),
        file(&blobs, "note.ogg", &b"OggS"[..], Shape::Voice, None),
        file(
            &blobs,
            "we \"quote\".txt",
            &b"hello"[..],
            Shape::Document,
            None,
        ),
        file(&blobs, "plain.bin", &b"hello"[..], Shape::Auto, None),
    ] {
        send(&world, &chat(ANN), &op, &blobs).await.unwrap();
    }
    let shown: Vec<_> = world
        .fake
        .chat(TOKEN, ANN)
        .into_iter()
        .map(|shown| shown.file.unwrap())
        .collect();
    let kinds: Vec<(&str, &str, Option<&str>)> = shown
        .iter()
        .map(|file| (file.kind.as_str(), file.name.as_str(), file.mime.as_deref()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("photo", "chart.png", Some("image/png")),
            ("voice", "note.ogg", Some("audio/ogg")),
            ("document", "we 'quote'.txt", Some("text/plain")),
            ("document", "plain.bin", Some("application/octet-stream")),
        ]
    );
    assert_eq!(shown[0].caption.as_deref(), Some("a bold word"));
    assert_eq!(world.fake.chat(TOKEN, ANN)[0].entities.len(), 1);
    assert!(
        world.fake.calls().iter().all(|call| call.length.is_some()),
        "every length is known beforehand"
    );
    world.assert_clean();
}

#[tokio::test]
async fn each_refusal_is_told_apart() {
    let html = |status| Trouble::Raw {
        status,
        mime: "text/html",
        body: format!("<html>/bot{TOKEN}/</html>"),
    };
    let refused = |text: &str| Trouble::BadRequest(text.to_owned());
    let table = [
        (Trouble::Flood(149), "throttled"),
        (Trouble::Unauthorized, "perm_account"),
        (
            Trouble::Forbidden("bot was blocked by the user".to_owned()),
            "perm_chat",
        ),
        (refused("chat not found"), "perm_chat"),
        (refused("message thread not found"), "perm_chat"),
        (refused("message is too long"), "perm_item"),
        (refused("message is not modified"), "no_change"),
        (Trouble::Migrated(-1_009_000_000_001), "moved"),
        (Trouble::Conflict, "temp_reject"),
        (Trouble::Server(502), "unknown"),
        (Trouble::AcceptThen500, "unknown"),
        (Trouble::AcceptThenDrop, "unknown"),
        (Trouble::Drop, "unknown"),
        (Trouble::HalfBody, "unknown"),
        (html(413), "perm_item"),
        (html(403), "temp_reject"),
        (html(502), "unknown"),
        (html(200), "unknown"),
        (refused(&format!("strange /bot{TOKEN}/")), "perm_item"),
    ];
    for (trouble, expected) in table {
        let blobs = MemoryBlobs::default();
        for (method, op) in [
            ("sendMessage", plain("hello")),
            (
                "sendDocument",
                file(&blobs, "a.txt", "hello", Shape::Document, None),
            ),
        ] {
            let world = World::new().await;
            world.fake.script(Rule::on(method), trouble.clone());
            let fault = send(&world, &chat(ANN), &op, &blobs).await.unwrap_err();
            assert_eq!(
                fault.kind.name(),
                expected,
                "{method} {trouble:?}: {fault:?}"
            );
            assert!(!format!("{fault:?}").contains("SECRET"), "{fault:?}");
            assert_eq!(
                world.fake.calls().len(),
                1,
                "no retry of our own: {trouble:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_message_that_is_taken_and_shown_later_has_an_empty_receipt() {
    let world = World::new().await;
    let later = Trouble::Raw {
        status: 200,
        mime: "application/json",
        body: json!({"ok": true, "result": {"message_id": 0, "date": 1}}).to_string(),
    };
    world.fake.script(Rule::on("sendMessage"), later);
    let receipt = send(&world, &chat(ANN), &plain("hello"), &MemoryBlobs::default())
        .await
        .unwrap();
    assert_eq!(receipt.as_str(), "");
}

#[tokio::test]
async fn a_picture_that_can_be_no_photo_is_the_parts_fault() {
    let world = World::new().await;
    let blobs = MemoryBlobs::default();
    for (name, bytes) in [("wide.png", WIDE), ("fake.png", b"no picture at all")] {
        let fault = send(
            &world,
            &chat(ANN),
            &file(&blobs, name, bytes, Shape::Photo, None),
            &blobs,
        )
        .await
        .unwrap_err();
        assert_eq!(fault.kind.name(), "perm_item", "{fault:?}");
    }
}

#[tokio::test]
async fn a_file_above_the_limit_is_refused_before_it_is_uploaded() {
    let world = World::new().await;
    let blobs = MemoryBlobs::default();
    let telegram = world.telegram(|options| options.file_out = 10);
    let (place, op) = (
        chat(ANN),
        file(&blobs, "big.bin", vec![0; 11], Shape::Document, None),
    );
    let fault = telegram
        .deliver(delivery(&place, &op), &blobs)
        .await
        .unwrap_err();
    assert_eq!(fault.kind.name(), "perm_item");
    assert!(
        fault.text.contains("big.bin") && fault.text.contains("10 bytes"),
        "{}",
        fault.text
    );
    assert!(world.fake.calls().is_empty());
}

#[tokio::test]
async fn the_general_topic_is_the_chat_itself() {
    let world = World::new().await;
    world.fake.add_topic(TOKEN, FORUM, TOPIC);
    send(
        &world,
        &topic(FORUM, 1),
        &plain("to all"),
        &MemoryBlobs::default(),
    )
    .await
    .unwrap();
    assert_eq!(world.fake.chat(TOKEN, FORUM)[0].thread, None);
    world
        .telegram(|_| ())
        .activity(&topic(FORUM, 1), Activity::Typing)
        .await;
    assert_eq!(
        world.fake.calls_of("sendChatAction")[0].param("message_thread_id"),
        &json!(1)
    );
    world.assert_clean();
}

#[tokio::test]
async fn a_topic_that_was_deleted_leaks_nothing_into_the_main_chat() {
    let world = World::new().await;
    world.fake.add_topic(TOKEN, FORUM, TOPIC);
    world.fake.delete_topic(TOKEN, FORUM, TOPIC);
    let fault = send(
        &world,
        &topic(FORUM, TOPIC),
        &plain("secret plan"),
        &MemoryBlobs::default(),
    )
    .await
    .unwrap_err();
    assert_eq!(fault.kind.name(), "perm_chat");
    assert!(fault.text.contains("topic is gone"), "{}", fault.text);
    assert!(world.fake.chat(TOKEN, FORUM).is_empty());
}

#[tokio::test]
async fn two_bots_same_person_each_writes_in_its_own_chat() {
    let world = World::new().await;
    let other = "777002:BBother-SECRET_token";
    world.fake.add_bot(other, "other_bot");
    world.fake.open_chat(other, ANN);
    let (place, op) = (chat(ANN), plain("from the second"));
    let second = world.telegram(|options| options.token = waybill::Secret::new(other.to_owned()));
    second
        .deliver(delivery(&place, &op), &MemoryBlobs::default())
        .await
        .unwrap();
    assert!(world.fake.chat(TOKEN, ANN).is_empty());
    assert_eq!(world.fake.chat(other, ANN)[0].author, "other_bot");
}

#[tokio::test]
async fn what_is_no_telegram_chat_is_refused_here() {
    let world = World::new().await;
    for key in ["home-bot:kitchen", "home-bot:111:kitchen"] {
        let fault = send(
            &world,
            &key.parse().unwrap(),
            &plain("hello"),
            &MemoryBlobs::default(),
        )
        .await
        .unwrap_err();
        assert_eq!(fault.kind.name(), "perm_chat", "{fault:?}");
    }
    assert!(world.fake.calls().is_empty());
}

#[tokio::test]
async fn a_silent_message_does_not_ring() {
    let world = World::new().await;
    let (place, op) = (chat(ANN), plain("psst"));
    let silent = Delivery {
        silent: true,
        ..delivery(&place, &op)
    };
    world
        .telegram(|_| ())
        .deliver(silent, &MemoryBlobs::default())
        .await
        .unwrap();
    assert!(world.fake.chat(TOKEN, ANN)[0].silent);
}

/// Breaks after its first piece, or runs for `pieces` pieces of 64 KiB.
struct Odd {
    breaks: bool,
    pieces: usize,
}

#[async_trait::async_trait]
impl BlobStore for Odd {
    async fn create(&self, _profile: &ProfileId) -> Result<Box<dyn BlobWriter>, BlobError> {
        Err(BlobError::Missing)
    }
    async fn open(
        &self,
        _profile: &ProfileId,
        _hash: &ContentHash,
    ) -> Result<(u64, Box<dyn BlobReader>), BlobError> {
        let reader = Odd {
            breaks: self.breaks,
            pieces: self.pieces,
        };
        Ok(((self.pieces << 16) as u64, Box::new(reader)))
    }
}

#[async_trait::async_trait]
impl BlobReader for Odd {
    async fn next(&mut self) -> Result<Option<Bytes>, BlobError> {
        if self.pieces == 0 {
            return Ok(None);
        }
        self.pieces -= 1;
        if self.breaks && self.pieces == 0 {
            return Err(BlobError::Io(std::io::Error::other("the disk broke")));
        }
        Ok(Some(Bytes::from_static(&[7; 1 << 16])))
    }
}

#[tokio::test]
async fn a_file_that_breaks_on_our_side_shows_nothing_and_may_be_tried_again() {
    let world = World::new().await;
    let op = file(&MemoryBlobs::default(), "a.bin", "x", Shape::Document, None);
    let fault = send(
        &world,
        &chat(ANN),
        &op,
        &Odd {
            breaks: true,
            pieces: 40,
        },
    )
    .await
    .unwrap_err();
    assert_eq!(fault.kind.name(), "temp_reject", "{fault:?}");
    assert!(world.fake.chat(TOKEN, ANN).is_empty());
}

#[tokio::test]
async fn thirty_megabytes_arrive_whole() {
    let world = World::new().await;
    let op = file(&MemoryBlobs::default(), "a.bin", "x", Shape::Document, None);
    send(
        &world,
        &chat(ANN),
        &op,
        &Odd {
            breaks: false,
            pieces: 480,
        },
    )
    .await
    .unwrap();
    let shown = world.fake.chat(TOKEN, ANN).remove(0);
    assert_eq!(shown.file.unwrap().bytes.len(), 480 << 16);
}

#[tokio::test]
async fn typing_rests_for_as_long_as_the_platform_said() {
    let world = World::new().await;
    world
        .fake
        .script(Rule::on("sendChatAction"), Trouble::Flood(30));
    let telegram = world.telegram(|_| ());
    let count = || world.fake.calls_of("sendChatAction").len();
    for _ in 0..3 {
        telegram.activity(&chat(ANN), Activity::Typing).await;
    }
    assert_eq!(count(), 1);
    world.clock.advance(Duration::from_secs(29));
    telegram.activity(&chat(ANN), Activity::Typing).await;
    assert_eq!(count(), 1);
    world.clock.advance(Duration::from_secs(2));
    telegram.activity(&chat(ANN), Activity::Typing).await;
    telegram.activity(&chat(ANN), Activity::Idle).await;
    assert_eq!(count(), 2);
    world.fake.revoke(TOKEN);
    for _ in 0..9 {
        telegram.activity(&chat(ANN), Activity::Typing).await;
    }
    assert_eq!(count(), 3, "a revoked token is not hammered");
    world.assert_clean();
}
