//! Questions on the page: buttons, taps, and what became of them.

use chat::{Activity, Body, ChatAdapter as _, Choice, InboundKind, Op};
use serde_json::{Value, json};
use testkit::http::Ask;

use crate::world::World;

fn question(id: &str) -> Op {
    let choice = |place: usize, label: &str| Choice {
        token: format!("{id}.{place}"),
        label: label.to_owned(),
    };
    Op::Question {
        body: Body::Markdown("May I?".to_owned()),
        question: id.to_owned(),
        choices: vec![choice(0, "Allow"), choice(1, "<b>Deny</b>")],
    }
}

fn data(event: &testkit::http::StreamEvent) -> Value {
    serde_json::from_str(&event.data).unwrap()
}

#[tokio::test]
async fn a_tap_is_stored_and_its_page_reads_what_came_of_it() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let chat = world.chat(&conversation);
    world
        .deliver(&conversation, &question("abc"), 1)
        .await
        .unwrap();
    let entries = world.entries(&cookie, &conversation).await;
    assert_eq!(entries[0]["question"]["id"], "abc");
    assert_eq!(entries[0]["question"]["choices"][1]["label"], "<b>Deny</b>");
    let path = format!("/api/conversations/{conversation}/taps");
    let tap = |id: &str| {
        let body = json!({ "id": id, "entry": entries[0]["id"], "token": "abc.0" });
        Ask::post(&path).header("cookie", &cookie).json(&body)
    };
    let answering = async {
        loop {
            let heard = world.heard();
            if let Some(event) = heard.first() {
                let InboundKind::Tap { token, id } = &event.kind else {
                    panic!("{event:?}");
                };
                assert_eq!(
                    (token.as_str(), event.sender.id.as_str()),
                    ("abc.0", "owner")
                );
                let says = "Allowed once".to_owned();
                let told = Activity::Tapped {
                    id: id.clone(),
                    says,
                    over: None,
                };
                world.web.activity(&chat, told).await;
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let (answer, ()) = tokio::join!(world.send(tap("t1")), answering);
    assert_eq!(answer.status, 202);
    assert_eq!(
        answer.json().unwrap(),
        json!({ "says": "Allowed once", "over": false })
    );
    // The same tap again is no other one.
    let answer = world.send(tap("t1")).await;
    assert_eq!((answer.status, world.heard().len()), (202, 1));
    let nobody = Ask::post(&path).json(&json!({}));
    assert_eq!(world.send(nobody).await.status, 401);
}

#[tokio::test]
async fn a_page_knows_which_questions_are_open_and_how_the_others_ended() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let chat = world.chat(&conversation);
    let look = async || {
        let ask =
            Ask::get(format!("/api/conversations/{conversation}/events")).header("cookie", &cookie);
        ask.listen(world.address).await.unwrap()
    };
    let mut stream = look().await;
    assert_eq!(
        data(&stream.until("questions").await.unwrap()),
        json!({ "questions": [] })
    );
    world
        .deliver(&conversation, &question("abc"), 1)
        .await
        .unwrap();
    // Before its entry, so that its buttons can be tapped as soon as they are seen.
    let open = json!({ "questions": [{ "id": "abc", "outcome": null }] });
    assert_eq!(
        data(&stream.next().await.unwrap().unwrap())
            .get("run")
            .map(|_| ()),
        Some(())
    );
    assert_eq!(data(&stream.until("questions").await.unwrap()), open);
    let answered = Activity::Answered {
        question: "abc".to_owned(),
        outcome: "Denied by Ann".to_owned(),
    };
    world.web.activity(&chat, answered).await;
    let over = json!({ "questions": [{ "id": "abc", "outcome": "Denied by Ann" }] });
    assert_eq!(data(&stream.until("questions").await.unwrap()), over);
    // Who comes later reads the same.
    let mut late = look().await;
    assert_eq!(data(&late.until("questions").await.unwrap()), over);
}
