//! Questions with buttons: shown, answered, over.

use chat::{
    Activity, Body, ChatAdapter as _, Choice, Done, Op, Receipt, RichText, Span, Style, Way,
};
use testkit::blobs::MemoryBlobs;
use waybill::Anchor;

use crate::delivering::delivery;
use crate::world::{ANN, TOKEN, World, chat};

fn question() -> Op {
    let choice = |token: &str, label: &str| Choice {
        token: token.to_owned(),
        label: label.to_owned(),
    };
    Op::Question {
        body: Body::Rich(RichText {
            text: "May I? rm".to_owned(),
            spans: vec![Span {
                offset: 7,
                length: 2,
                style: Style::Code,
            }],
        }),
        question: "abc".to_owned(),
        // As long as tokens are.
        choices: vec![
            choice(&format!("{}.0", "0".repeat(32)), "✅ Allow once"),
            choice("abc.1", "❌ Deny"),
        ],
    }
}

#[tokio::test]
async fn buttons_stand_under_the_question_and_its_outcome_takes_their_place() {
    let world = World::new().await;
    let telegram = world.telegram(|_| ());
    let (op, blobs) = (question(), MemoryBlobs::default());
    let done = telegram
        .deliver(delivery(&chat(ANN), &op), &blobs)
        .await
        .unwrap();
    let Done::All(receipt) = done else {
        panic!("{done:?}");
    };
    let seen = world.fake.chat(TOKEN, ANN);
    let labels: Vec<Vec<&str>> = seen[0]
        .buttons
        .iter()
        .map(|row| row.iter().map(|button| button.text.as_str()).collect())
        .collect();
    assert_eq!(labels, [["✅ Allow once"], ["❌ Deny"]]);
    assert_eq!(receipt, Receipt::new(seen[0].message_id.to_string()));
    let answered = |outcome: &str| Activity::Answered {
        question: "abc".to_owned(),
        outcome: outcome.to_owned(),
    };
    telegram
        .activity(&chat(ANN), answered("✅ Allowed once by Ann"))
        .await;
    let seen = world.fake.chat(TOKEN, ANN);
    assert_eq!(seen[0].text, "May I? rm\n\n✅ Allowed once by Ann");
    assert_eq!(seen[0].entities[0].kind, "code");
    assert_eq!(
        seen[0].buttons,
        Vec::<Vec<testkit::telegram::Button>>::new()
    );
    // Once: the question is forgotten then.
    let calls = world.fake.calls().len();
    telegram.activity(&chat(ANN), answered("over")).await;
    assert_eq!(world.fake.calls().len(), calls);
    assert_eq!(world.fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_tap_is_answered_once_and_the_buttons_of_a_question_that_is_over_go() {
    let world = World::new().await;
    let telegram = world.telegram(|_| ());
    let (op, blobs) = (question(), MemoryBlobs::default());
    telegram
        .deliver(delivery(&chat(ANN), &op), &blobs)
        .await
        .unwrap();
    let message = world.fake.chat(TOKEN, ANN)[0].message_id;
    let tap = async |says: &str, over| {
        let id = world.fake.tap(TOKEN, ANN, message, (ANN, "Ann"), "abc.1");
        let says = says.to_owned();
        telegram
            .activity(&chat(ANN), Activity::Tapped { id, says, over })
            .await;
    };
    tap("❌ Denied by Ann", None).await;
    assert_eq!(world.fake.chat(TOKEN, ANN)[0].buttons.len(), 2);
    let long = "x".repeat(300);
    tap(&long, Some(Anchor::new(message.to_string()))).await;
    assert!(world.fake.chat(TOKEN, ANN)[0].buttons.is_empty());
    let taps = world.fake.taps();
    assert_eq!(taps[0].answer.as_deref(), Some("❌ Denied by Ann"));
    assert!(!taps[0].alert);
    assert_eq!(
        taps[1].answer.as_ref().map(|says| says.chars().count()),
        Some(200)
    );
    assert!(taps[1].alert);
    // The platform has forgotten the tap by now: nothing comes of it.
    let id = taps[0].id.clone();
    let says = "late".to_owned();
    telegram
        .activity(
            &chat(ANN),
            Activity::Tapped {
                id,
                says,
                over: None,
            },
        )
        .await;
    assert_eq!(world.fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_question_that_may_be_a_repeat_has_its_buttons_too() {
    let world = World::new().await;
    let (op, blobs) = (question(), MemoryBlobs::default());
    let (ann, mut again) = (chat(ANN), Way::Direct);
    for way in [Way::Direct, Way::Carried] {
        again = way;
        let mut delivery = delivery(&ann, &op);
        delivery.may_be_repeat = true;
        delivery.way = way;
        let telegram = world.telegram(|_| ());
        let step = match telegram.deliver(delivery.clone(), &blobs).await.unwrap() {
            Done::All(_) => continue,
            Done::Step(step) => step,
        };
        delivery.step = Some(&step);
        telegram.deliver(delivery, &blobs).await.unwrap();
    }
    assert_eq!(again, Way::Carried);
    let seen = world.fake.chat(TOKEN, ANN);
    assert_eq!(seen.len(), 2);
    for message in seen {
        assert_eq!(message.buttons.len(), 2);
        assert!(
            message.text.starts_with("↻ may be a repeat\n"),
            "{}",
            message.text
        );
    }
    assert_eq!(world.fake.violations(), Vec::<String>::new());
}
