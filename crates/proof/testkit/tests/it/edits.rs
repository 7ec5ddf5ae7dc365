//! Edits and deletions, and the sentences with which the platform refuses them.

use serde_json::{Value, json};

use crate::world::{ANN, GROUP, TOKEN, World};

fn refused(answer: (u16, Value), sentence: &str) {
    let (status, answer) = answer;
    let told = answer["description"].as_str().unwrap_or_default();
    assert_eq!(status, 400, "{answer}");
    assert!(
        told.starts_with(&format!("Bad Request: {sentence}")),
        "{told}"
    );
}

#[tokio::test]
async fn a_placeholder_becomes_words_and_then_stays() {
    let world = World::new().await;
    let id = world.send("⏳").await;
    let edit = json!({"chat_id": ANN, "message_id": id, "text": "the answer"});
    let (status, answer) = world.call("editMessageText", edit.clone()).await;
    assert_eq!(
        (status, &answer["result"]["text"]),
        (200, &json!("the answer"))
    );
    refused(
        world.call("editMessageText", edit).await,
        "message is not modified",
    );
    let shown = world.fake.chat(TOKEN, ANN);
    assert_eq!((shown.len(), shown[0].text.as_str()), (1, "the answer"));
    assert!(shown[0].edited);
    assert_eq!(world.fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_placeholder_becomes_a_file() {
    let world = World::new().await;
    let id = world.send("⏳").await.to_string();
    let media = json!({"type": "document", "media": "attach://doc", "caption": "see"}).to_string();
    let chat = ANN.to_string();
    let fields = [
        ("chat_id", chat.as_str()),
        ("message_id", id.as_str()),
        ("media", media.as_str()),
    ];
    let (status, answer) = world
        .upload("editMessageMedia", &fields, ("doc", "a.txt", b"bytes"))
        .await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["result"]["document"]["file_name"], "a.txt");
    assert_eq!(answer["result"]["text"], Value::Null);
    let shown = world.fake.chat(TOKEN, ANN);
    let file = shown[0].file.clone().unwrap();
    assert_eq!(
        (file.name.as_str(), file.bytes.as_ref()),
        ("a.txt", &b"bytes"[..])
    );
    assert_eq!(file.caption.as_deref(), Some("see"));
    let message = shown[0].message_id;
    refused(
        world
            .call(
                "editMessageText",
                json!({"chat_id": ANN, "message_id": message, "text": "x"}),
            )
            .await,
        "there is no text in the message to edit",
    );
    let caption = json!({"chat_id": ANN, "message_id": message, "caption": "look"});
    assert_eq!(
        world.call("editMessageCaption", caption.clone()).await.0,
        200
    );
    refused(
        world.call("editMessageCaption", caption).await,
        "message is not modified",
    );
    assert_eq!(world.fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_voice_note_can_not_be_put_into_a_message() {
    let world = World::new().await;
    let id = world.send("⏳").await;
    for (kind, sentence) in [
        (
            "voice",
            "can't parse InputMedia: type \"voice\" is unsupported",
        ),
        (
            "voice_note",
            "can't parse InputMedia: type \"voice_note\" is not allowed",
        ),
    ] {
        let media = json!({"type": kind, "media": "attach://v"});
        let edit = json!({"chat_id": ANN, "message_id": id, "media": media});
        refused(world.call("editMessageMedia", edit).await, sentence);
    }
}

#[tokio::test]
async fn what_is_not_there_or_not_mine_is_not_changed() {
    let world = World::new().await;
    let edit = |id: i64| json!({"chat_id": ANN, "message_id": id, "text": "x"});
    refused(
        world.call("editMessageText", edit(99)).await,
        "message to edit not found",
    );
    let said = world.fake.say(
        TOKEN,
        tidings_testkit::telegram::Said::text("mine").by(ANN, "Ann"),
    );
    refused(
        world.call("editMessageText", edit(said.message_id)).await,
        "message can't be edited",
    );
    let words = world.send("words").await;
    refused(
        world
            .call(
                "editMessageCaption",
                json!({"chat_id": ANN, "message_id": words, "caption": "x"}),
            )
            .await,
        "there is no caption in the message to edit",
    );
    refused(
        world
            .call("deleteMessage", json!({"chat_id": ANN, "message_id": 99}))
            .await,
        "message to delete not found",
    );
    let group = world.fake.say(
        TOKEN,
        tidings_testkit::telegram::Said::text("theirs").in_group(GROUP),
    );
    let theirs = json!({"chat_id": GROUP, "message_id": group.message_id});
    refused(
        world.call("deleteMessage", theirs).await,
        "message can't be deleted",
    );
    let mine = json!({"chat_id": ANN, "message_id": words});
    assert_eq!(world.call("deleteMessage", mine).await.0, 200);
    assert!(world.fake.chat(TOKEN, ANN).is_empty());
}

#[tokio::test]
async fn an_edit_that_no_careful_client_sends_is_a_violation() {
    let world = World::new().await;
    let id = world.send("⏳").await;
    for (method, parameters) in [
        ("editMessageText", json!({"chat_id": ANN, "text": "x"})),
        (
            "editMessageCaption",
            json!({"chat_id": ANN, "message_id": id, "text": "x"}),
        ),
        (
            "editMessageMedia",
            json!({"chat_id": ANN, "message_id": id, "media": {"type": "photo", "media": "attach://p", "file": 1}}),
        ),
    ] {
        assert_eq!(world.call(method, parameters).await.0, 400, "{method}");
    }
    assert_eq!(world.fake.violations().len(), 3);
}
