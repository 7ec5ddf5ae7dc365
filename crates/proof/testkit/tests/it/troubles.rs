//! What goes wrong, on the wire and in the ledger.

use std::time::Duration;

use serde_json::{Value, json};
use tidings_testkit::telegram::{Gate, RateLimits, Rule, Trouble, Weather, Window};

use crate::world::{ANN, GROUP, TOKEN, World};

fn words(text: &str) -> Value {
    json!({"chat_id": ANN, "text": text})
}

#[tokio::test]
async fn a_flood_is_told_in_the_header_in_the_body_or_in_both() {
    let world = World::new().await;
    for (trouble, header, body) in [
        (Trouble::Flood(7), true, true),
        (Trouble::FloodHeader(7), true, false),
        (Trouble::FloodBody(7), false, true),
    ] {
        world.fake.script(Rule::on("sendMessage"), trouble.clone());
        let answer = world.ask("sendMessage", words("x")).await.unwrap();
        assert_eq!(answer.status, 429);
        assert_eq!(
            answer.header("retry-after"),
            header.then_some("7"),
            "{trouble:?}"
        );
        let told = answer
            .json()
            .ok()
            .and_then(|body| body["parameters"]["retry_after"].as_u64());
        assert_eq!(told, body.then_some(7), "{trouble:?}");
    }
    for entry in world.book("sendMessage") {
        assert_eq!(
            (&entry["status"], &entry["retry_after"]),
            (&json!(429), &json!(7))
        );
        assert_eq!(
            (&entry["done"], &entry["scope"]),
            (&json!(false), &json!("chat"))
        );
    }
}

#[tokio::test]
async fn the_ledger_says_what_was_done_and_what_was_answered() {
    let world = World::new().await;
    let table = [
        (Trouble::AcceptThenDrop, true, Value::Null),
        (Trouble::AcceptThen500, true, json!(500)),
        (Trouble::HalfBody, true, Value::Null),
        (Trouble::Drop, false, Value::Null),
        (Trouble::Server(502), false, json!(502)),
        (Trouble::Trickle(Duration::from_millis(1)), true, json!(200)),
        (Trouble::BadRequest("no".to_owned()), false, json!(400)),
    ];
    for (trouble, done, status) in table {
        let name = format!("{trouble:?}");
        world.fake.script(Rule::on("sendMessage"), trouble);
        let before = world.fake.chat(TOKEN, ANN).len();
        // Some of these have no answer at all.
        drop(world.ask("sendMessage", words(&name)).await);
        let book = world.book("sendMessage");
        let entry = book.last().unwrap();
        assert_eq!(
            (&entry["done"], &entry["status"]),
            (&json!(done), &status),
            "{name}"
        );
        assert_eq!(entry["message"].is_i64(), done, "{name}");
        assert_eq!(entry["text"], name.as_str());
        assert_eq!(
            world.fake.chat(TOKEN, ANN).len() - before,
            usize::from(done),
            "{name}"
        );
    }
    let ledger = world.fake.ledger();
    assert_eq!(ledger["visible"].as_array().unwrap().len(), 4);
    assert_eq!(ledger["visible"][0]["bot"], 42);
    assert_eq!(world.fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn half_a_request_is_read_and_nothing_is_done() {
    let world = World::new().await;
    world
        .fake
        .script(Rule::on("sendMessage"), Trouble::HalfRequest);
    let long = "x".repeat(60_000);
    assert!(world.ask("sendMessage", words(&long)).await.is_err());
    assert!(world.book("sendMessage").is_empty());
    world.send("after").await;
}

#[tokio::test]
async fn a_held_request_is_done_even_if_nobody_waits_any_more() {
    let world = World::new().await;
    let gate = Gate::default();
    world
        .fake
        .script(Rule::on("sendMessage"), Trouble::Hold(gate.clone()));
    let ask = world.ask("sendMessage", words("late"));
    let heard = world.fake.until("the call", |fake| {
        fake.count(|call| call.method == "sendMessage") == 1
    });
    tokio::select! {
        answer = ask => panic!("it was answered: {answer:?}"),
        heard = heard => heard.unwrap(),
    }
    assert_eq!(world.book("sendMessage")[0]["done"], json!(false));
    gate.release();
    world
        .fake
        .until("it is done", |fake| fake.chat(TOKEN, ANN).len() == 1)
        .await
        .unwrap();
    assert_eq!(world.book("sendMessage")[0]["done"], json!(true));
}

#[tokio::test]
async fn updates_come_twice_backwards_and_again() {
    let world = World::new().await;
    let (first, second) = (world.say("a"), world.say("b"));
    world.fake.script(Rule::on("getUpdates"), Trouble::Twice);
    assert_eq!(world.updates(0).await, [first, first, second, second]);
    world.fake.script(Rule::on("getUpdates"), Trouble::Reversed);
    assert_eq!(world.updates(0).await, [second, first]);
    assert_eq!(world.updates(second).await, [second]);
    world.fake.script(Rule::on("getUpdates"), Trouble::Again);
    assert_eq!(world.updates(second).await, [first, second]);
}

#[tokio::test]
async fn who_speaks_too_fast_is_told_how_long_to_wait() {
    let world = World::new().await;
    let window = |calls, seconds| Window {
        calls,
        per: Duration::from_secs(seconds),
    };
    world.fake.enforce_rates(Some(RateLimits {
        chat: window(1, 5),
        group: window(2, 60),
        bot: window(4, 5),
    }));
    let to = async |chat: i64| -> (u16, Value) {
        let (status, answer) = world
            .call("sendMessage", json!({"chat_id": chat, "text": "x"}))
            .await;
        (status, answer["parameters"]["retry_after"].clone())
    };
    assert_eq!(to(ANN).await.0, 200);
    assert_eq!(to(ANN).await, (429, json!(5)));
    assert_eq!(to(GROUP).await.0, 200);
    assert_eq!(to(GROUP).await.0, 200);
    assert_eq!(to(GROUP).await, (429, json!(60)));
    world.fake.open_chat(TOKEN, 7);
    world.fake.open_chat(TOKEN, 8);
    assert_eq!(to(7).await.0, 200);
    assert_eq!(to(8).await, (429, json!(5)));
    let typing = json!({"chat_id": ANN, "action": "typing"});
    assert_eq!(world.call("sendChatAction", typing).await.0, 200);
    assert_eq!(world.fake.throttled(), 3);
    let book = world.book("sendMessage");
    let scopes: Vec<&str> = book
        .iter()
        .filter_map(|entry| entry["scope"].as_str())
        .collect();
    assert_eq!(scopes, ["chat", "chat", "bot"]);
    world.fake.enforce_rates(None);
    assert_eq!(to(ANN).await.0, 200);
}

#[tokio::test]
async fn the_same_seed_makes_the_same_weather() {
    let mut seen = Vec::new();
    for seed in [7, 7, 8] {
        let world = World::new().await;
        world.fake.weather(Weather::rough(seed));
        for number in 0..150 {
            drop(world.ask("sendMessage", words(&format!("{number}"))).await);
        }
        let book = world.book("sendMessage");
        let troubles: Vec<Value> = book.iter().map(|entry| entry["trouble"].clone()).collect();
        assert!(troubles.iter().any(|trouble| !trouble.is_null()));
        assert!(troubles.iter().any(Value::is_null));
        seen.push(troubles);
    }
    assert_eq!(seen[0], seen[1]);
    assert_ne!(seen[0], seen[2]);
}
