//! Messages as they come over the wire, and their files.

use bytes::Bytes;
use chat::{ChatAdapter, DownloadError, Inbound, Place};
use conformance::chat::{Sink, eventually};
use sandbox::BlobStore;
use serde_json::json;
use testkit::blobs::MemoryBlobs;
use testkit::telegram::{Rule, Said, Trouble};
use waybill::ProfileId;

use crate::world::{ANN, FORUM, TOKEN, TOPIC, World, chat};

async fn heard(world: &World, count: usize) -> Vec<Inbound> {
    let (telegram, sink) = (world.telegram(|_| ()), Sink::default());
    tokio::select! {
        () = eventually("they are heard", || sink.inbound().len() >= count) => {}
        ended = telegram.listen(&sink) => panic!("{ended:?}"),
    }
    assert!(sink.events().iter().all(|event| event.parsed.is_ok()));
    sink.inbound()
}

#[tokio::test]
async fn formatting_sits_on_the_right_letters() {
    let world = World::new().await;
    let entities = json!([{"type": "code", "offset": 7, "length": 3}, {"type": "bold", "offset": 11, "length": 3}]);
    world
        .fake
        .say(TOKEN, Said::text("😀 run cmd now").entities(entities));
    assert_eq!(heard(&world, 1).await[0].text, "😀 run `cmd` **now**");
}

#[tokio::test]
async fn a_forum_topic_a_mention_and_a_reply() {
    let world = World::new().await;
    let mention = json!([{"type": "mention", "offset": 0, "length": 12}]);
    world.fake.say(
        TOKEN,
        Said::text("talk")
            .by(ANN, "Ann")
            .in_group(FORUM)
            .topic(TOPIC),
    );
    let asked = world.fake.say(
        TOKEN,
        Said::text("@tidings_bot hi")
            .entities(mention)
            .in_group(FORUM)
            .topic(TOPIC),
    );
    world.fake.say(
        TOKEN,
        Said::text("who?")
            .by(222, "Bo")
            .in_group(FORUM)
            .topic(TOPIC)
            .replying_to(asked.message_id),
    );
    let heard = heard(&world, 3).await;
    let places: Vec<Place> = heard.iter().map(|inbound| inbound.place).collect();
    let group = |addressed| Place::Group { addressed };
    assert_eq!(places, [group(false), group(true), group(false)]);
    assert!(
        heard
            .iter()
            .all(|inbound| inbound.chat.to_string() == format!("home-bot:{FORUM}:{TOPIC}"))
    );
    assert_eq!(
        heard[0].quoted, None,
        "the message that made the topic is nobody's words"
    );
    let quoted = heard[2].quoted.clone().unwrap();
    assert_eq!(
        (quoted.author.as_deref(), quoted.text.as_str()),
        (Some("Ann"), "@tidings_bot hi")
    );
}

#[tokio::test]
async fn an_answer_to_our_own_message_is_meant_for_us() {
    let world = World::new().await;
    world.fake.open_chat(TOKEN, -45);
    let telegram = world.telegram(|_| ());
    let op = chat::Op::Text(chat::Body::Rich(chat::RichText::plain("shall I?")));
    let place = chat(-45);
    let delivery = chat::Delivery {
        chat: &place,
        anchor: None,
        op: &op,
        key: chat::IdempotencyKey::new([0; 16]),
        may_be_repeat: false,
        way: chat::Way::Direct,
        step: None,
        silent: false,
    };
    let receipt = telegram
        .deliver(delivery, &MemoryBlobs::default())
        .await
        .unwrap();
    let chat::Done::All(receipt) = receipt else {
        panic!("in one call there are no steps: {receipt:?}");
    };
    let ours = receipt.as_str().parse().unwrap();
    world
        .fake
        .say(TOKEN, Said::text("yes").in_group(-45).replying_to(ours));
    let inbound = heard(&world, 1).await.remove(0);
    assert_eq!(inbound.place, Place::Group { addressed: true });
    assert_eq!(inbound.quoted.unwrap().text, "shall I?");
}

#[tokio::test]
async fn an_edit_comes_as_an_edit() {
    let world = World::new().await;
    let said = world.fake.say(TOKEN, Said::text("/restart"));
    world
        .fake
        .say(TOKEN, Said::text("/restart").edits(said.message_id));
    let heard = heard(&world, 2).await;
    assert_eq!(heard[0].anchor, heard[1].anchor);
    assert_eq!(heard[1].kind, chat::InboundKind::Edit);
}

struct Fetched {
    result: Result<Bytes, DownloadError>,
}

async fn fetch(world: &World, said: Said, limit: u64, trouble: impl FnOnce(&World)) -> Fetched {
    world.fake.say(TOKEN, said);
    let inbound = heard(world, 1).await.remove(0);
    trouble(world);
    let (blobs, profile) = (MemoryBlobs::default(), ProfileId::parse("work").unwrap());
    let mut writer = blobs.create(&profile).await.unwrap();
    let result = match world
        .telegram(|_| ())
        .fetch(&inbound.files[0].handle, limit, writer.as_mut())
        .await
    {
        Ok(()) => {
            let blob = writer.finish("x.bin").await.unwrap();
            Ok(blobs.get(&profile, &blob.hash).unwrap())
        }
        Err(error) => Err(error),
    };
    Fetched { result }
}

#[tokio::test]
async fn a_voice_note_and_the_largest_photo_are_fetched() {
    let world = World::new().await;
    let voice = fetch(&world, Said::voice(&b"OggS..."[..]), 100, |_| ()).await;
    assert_eq!(voice.result.unwrap(), &b"OggS..."[..]);
    let world = World::new().await;
    let photo = fetch(
        &world,
        Said::photo(&b"\xff\xd8\xff..."[..]).caption("see"),
        100,
        |_| (),
    )
    .await;
    assert_eq!(photo.result.unwrap(), &b"\xff\xd8\xff..."[..]);
}

#[tokio::test]
async fn a_file_above_the_bot_limit_names_the_limit() {
    let world = World::new().await;
    let said = Said::document("film.mkv", "video/x-matroska", &b"x"[..])
        .claiming(300_000_000)
        .caption("check this");
    let told = fetch(&world, said, u64::MAX, |_| ())
        .await
        .result
        .unwrap_err();
    assert!(
        matches!(told, DownloadError::TooLarge { limit: 20_000_000 }),
        "{told}"
    );
}

#[tokio::test]
async fn a_download_that_breaks_is_no_file() {
    let bytes = || Said::document("a.bin", "application/octet-stream", vec![5; 100_000]);
    let world = World::new().await;
    let cut = fetch(&world, bytes(), 1 << 20, |world| {
        world
            .fake
            .script(Rule::on("file").always(), Trouble::HalfBody)
    })
    .await;
    assert!(matches!(cut.result, Err(DownloadError::Refused(_))));

    let world = World::new().await;
    let empty = Trouble::Raw {
        status: 200,
        mime: "image/png",
        body: String::new(),
    };
    let empty = fetch(&world, bytes(), 1 << 20, |world| {
        world.fake.script(Rule::on("file").always(), empty)
    })
    .await;
    assert!(
        matches!(empty.result, Err(DownloadError::Refused(_))),
        "an empty answer is no empty file"
    );

    let world = World::new().await;
    let html = Trouble::Raw {
        status: 200,
        mime: "image/png",
        body: "<html>not found</html>".to_owned(),
    };
    let html = fetch(&world, bytes(), 1 << 20, |world| {
        world.fake.script(Rule::on("file").always(), html)
    })
    .await;
    assert!(
        matches!(html.result, Err(DownloadError::Refused(_))),
        "an error page is no file"
    );
}

#[tokio::test]
async fn a_link_that_ran_out_is_asked_for_anew() {
    let world = World::new().await;
    let gone = Trouble::Raw {
        status: 404,
        mime: "application/json",
        body: r#"{"ok":false,"error_code":404,"description":"Not Found"}"#.to_owned(),
    };
    let fetched = fetch(
        &world,
        Said::document("a.txt", "text/plain", &b"hello"[..]),
        100,
        |world| {
            world.fake.script(Rule::on("file"), gone);
            world.fake.script(Rule::on("file"), Trouble::Drop);
        },
    )
    .await;
    assert_eq!(fetched.result.unwrap(), &b"hello"[..]);
    assert_eq!(world.fake.calls_of("getFile").len(), 3);
    world.assert_clean();
}
