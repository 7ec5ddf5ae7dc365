//! The fake judged by a client that we did not write, and by the platform's rules.

use frankenstein::types::{Message, User};
use frankenstein::updates::Update;
use serde::Deserialize;
use serde_json::{Value, json};
use testkit::telegram::{Rule, Said, Trouble};

use crate::world::{ANN, FORUM, TOKEN, TOPIC, World};

async fn call(world: &World, method: &str, parameters: Value) -> (u16, Value) {
    let client = net::Client::new(net::Options::default()).unwrap();
    let url = format!("{}/bot{TOKEN}/{method}", world.fake.api_base());
    let answer = client.post(&url).json(&parameters).send().await.unwrap();
    (answer.status(), answer.json_limited(1 << 20).await.unwrap())
}

fn read<T: for<'de> Deserialize<'de>>(answer: (u16, Value)) -> T {
    assert_eq!(answer.0, 200, "{}", answer.1);
    serde_json::from_value(answer.1["result"].clone())
        .unwrap_or_else(|error| panic!("{error}: {}", answer.1))
}

#[tokio::test]
async fn another_client_understands_what_the_fake_says() {
    let world = World::new().await;
    let bold = json!([{"type": "bold", "offset": 0, "length": 2}]);
    let text = world
        .fake
        .say(TOKEN, Said::text("hi there").entities(bold.clone()));
    world.fake.say(
        TOKEN,
        Said::photo(&b"\xff\xd8\xff"[..])
            .caption("see")
            .replying_to(text.message_id),
    );
    world.fake.say(
        TOKEN,
        Said::document("a.pdf", "application/pdf", &b"%PDF"[..]),
    );
    world.fake.say(TOKEN, Said::voice(&b"OggS"[..]));
    world
        .fake
        .say(TOKEN, Said::text("hi all").edits(text.message_id));
    world
        .fake
        .say(TOKEN, Said::text("topic").in_group(FORUM).topic(TOPIC));
    world.fake.say(TOKEN, Said::text("group").in_group(-45));
    let updates: Vec<Update> = read(call(&world, "getUpdates", json!({})).await);
    assert_eq!(updates.len(), 7);
    let me: User = read(call(&world, "getMe", json!({})).await);
    assert!(me.is_bot);
    let sent: Message = read(call(&world, "sendMessage", json!({"chat_id": ANN, "text": "well", "entities": bold, "reply_parameters": {"message_id": text.message_id}})).await);
    assert_eq!(sent.text.as_deref(), Some("well"));
    assert_eq!(
        sent.reply_to_message
            .map(|target| i64::from(target.message_id)),
        Some(text.message_id)
    );
    let edited: Message = read(
        call(
            &world,
            "editMessageText",
            json!({"chat_id": ANN, "message_id": sent.message_id, "text": "better"}),
        )
        .await,
    );
    assert_eq!(edited.text.as_deref(), Some("better"));
    assert!(world.fake.chat(TOKEN, ANN)[0].edited);
    let _deleted: bool = read(
        call(
            &world,
            "deleteMessage",
            json!({"chat_id": ANN, "message_id": sent.message_id}),
        )
        .await,
    );
    assert!(world.fake.chat(TOKEN, ANN).is_empty());
    world.assert_clean();
}

#[tokio::test]
async fn an_offset_confirms_what_is_before_it() {
    let world = World::new().await;
    let ids: Vec<i64> = ["a", "b", "c"]
        .map(|text| world.fake.say(TOKEN, Said::text(text)).update_id)
        .to_vec();
    let seen = async |parameters: Value| -> Vec<i64> {
        let answer = call(&world, "getUpdates", parameters).await.1;
        answer["result"]
            .as_array()
            .unwrap()
            .iter()
            .map(|update| update["update_id"].as_i64().unwrap())
            .collect()
    };
    assert_eq!(seen(json!({})).await, ids);
    assert_eq!(seen(json!({"limit": 2})).await, ids[..2]);
    assert_eq!(seen(json!({"offset": ids[1]})).await, ids[1..]);
    assert_eq!(seen(json!({})).await, ids[1..]);
    assert_eq!(seen(json!({"offset": ids[2] + 1})).await, [] as [i64; 0]);
    assert_eq!(world.fake.pending(TOKEN), 0);
}

#[tokio::test]
async fn the_fake_refuses_what_the_platform_refuses() {
    let world = World::new().await;
    let said = world.fake.say(TOKEN, Said::text("hello"));
    let long = "x".repeat(4097);
    let table = [
        (
            "sendMessage",
            json!({"chat_id": ANN, "text": " \n"}),
            "message text is empty",
        ),
        (
            "sendMessage",
            json!({"chat_id": ANN, "text": long}),
            "message is too long",
        ),
        (
            "sendMessage",
            json!({"chat_id": 5, "text": "x"}),
            "chat not found",
        ),
        (
            "sendMessage",
            json!({"chat_id": ANN, "text": "x", "message_thread_id": 5}),
            "message thread not found",
        ),
        (
            "sendMessage",
            json!({"chat_id": ANN, "text": "x", "reply_parameters": {"message_id": 999}}),
            "message to be replied not found",
        ),
        (
            "sendPhoto",
            json!({"chat_id": ANN, "photo": "nothing"}),
            "wrong remote file identifier",
        ),
        (
            "editMessageText",
            json!({"chat_id": ANN, "message_id": 999, "text": "x"}),
            "message to edit not found",
        ),
        (
            "editMessageText",
            json!({"chat_id": ANN, "message_id": said.message_id, "text": "x"}),
            "message can't be edited",
        ),
        ("getFile", json!({"file_id": "nothing"}), "wrong file_id"),
    ];
    for (method, parameters, expected) in table {
        let (status, answer) = call(&world, method, parameters).await;
        assert_eq!(status, 400, "{method}");
        assert!(
            answer["description"].as_str().unwrap().contains(expected),
            "{answer}"
        );
    }
    assert!(world.fake.chat(TOKEN, ANN).is_empty());
    world.assert_clean();
}

#[tokio::test]
async fn what_no_careful_client_sends_is_written_down() {
    let text = |entities: Value| json!({"chat_id": ANN, "text": "😀 ab", "entities": entities});
    let table = [
        (
            "sendMessage",
            json!({"chat_id": ANN, "text": "x", "wobble": 1}),
        ),
        ("sendMessage", json!({"chat_id": ANN})),
        ("sendMessage", json!({"chat_id": ANN, "text": 5})),
        (
            "sendMessage",
            json!({"chat_id": ANN, "text": "x", "parse_mode": "HTML"}),
        ),
        (
            "sendMessage",
            json!({"chat_id": ANN, "text": "x", "reply_parameters": {"message": 1}}),
        ),
        (
            "sendMessage",
            text(json!([{"type": "bold", "offset": 1, "length": 1}])),
        ),
        (
            "sendMessage",
            text(json!([{"type": "bold", "offset": 0, "length": 6}])),
        ),
        (
            "sendMessage",
            text(json!([{"type": "bold", "offset": 0, "length": 0}])),
        ),
        (
            "sendMessage",
            text(json!([{"type": "loud", "offset": 0, "length": 2}])),
        ),
        (
            "sendMessage",
            text(json!([{"type": "text_link", "offset": 0, "length": 2}])),
        ),
        (
            "sendMessage",
            text(
                json!([{"type": "bold", "offset": 0, "length": 4}, {"type": "italic", "offset": 3, "length": 2}]),
            ),
        ),
        (
            "sendChatAction",
            json!({"chat_id": ANN, "action": "dancing"}),
        ),
        ("getUpdates", json!({"offset": -1})),
        ("sendCarrierPigeon", json!({"chat_id": ANN})),
    ];
    for (method, parameters) in table {
        let world = World::new().await;
        let (status, answer) = call(&world, method, parameters.clone()).await;
        assert!(
            status >= 400 || method == "getUpdates",
            "{method} {parameters}: {answer}"
        );
        assert_eq!(world.fake.violations().len(), 1, "{method} {parameters}");
    }
}

#[tokio::test]
async fn a_rule_strikes_the_nth_that_fits() {
    let world = World::new().await;
    world.fake.script(
        Rule::on("sendMessage")
            .nth(2)
            .when(|call| call.param("text") == "hit"),
        Trouble::Forbidden("no".to_owned()),
    );
    let mut statuses = Vec::new();
    for text in ["hit", "miss", "hit", "hit"] {
        statuses.push(
            call(&world, "sendMessage", json!({"chat_id": ANN, "text": text}))
                .await
                .0,
        );
    }
    assert_eq!(statuses, [200, 200, 403, 200]);
}
