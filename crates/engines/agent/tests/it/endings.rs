//! A turn always ends in something said: in an answer, or in a sentence that says why not.

use std::sync::Arc;
use std::time::Duration;

use model::{Content, Cost, Facts, Message, ModelError, Price, Reply, StopReason, Usage};
use serde_json::json;
use session::{Busy, TurnLine as _};

use crate::scripted::{Scripted, failed};
use crate::world::{House, calls, message, says};

/// One turn of these models; what the person read, the turn's end last.
async fn turn(models: &[&Arc<Scripted>]) -> (House, String) {
    let house = House::asking(models);
    let said = more(&house, 1).await;
    (house, said)
}

async fn more(house: &House, id: i64) -> String {
    let before = house.ended();
    house
        .run(async |handle| {
            handle.enqueue(message(id, "what is it?", Busy::Queue));
            house
                .until("the turn has ended", |house| house.ended() > before)
                .await;
        })
        .await;
    let sent = house.sent();
    let end = house.happened().pop().unwrap();
    format!("{:?} {end}", sent.last().map(|sent| &sent.parts))
}

fn cut(text: &str) -> Reply {
    Reply {
        stop: StopReason::Length,
        ..says(text)
    }
}

fn thinks(text: &str) -> Reply {
    Reply {
        reasoning: text.to_owned(),
        ..says("")
    }
}

fn refuses() -> Reply {
    Reply {
        stop: StopReason::Refused,
        ..says("")
    }
}

/// The last message of a request.
fn last(model: &Scripted) -> String {
    let asked = model.asked();
    match asked.last().unwrap().messages.last().unwrap() {
        Message::User { content } => match content.last().unwrap() {
            Content::Text { text } => text.clone(),
            Content::Image { .. } => "a picture".to_owned(),
        },
        other @ (Message::Assistant { .. } | Message::Tool { .. }) => format!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_asked_for_again_then_spoken_to_and_the_nudge_is_not_kept() {
    let model = Scripted::new("m", [Ok(says("")), Ok(thinks("hm")), Ok(says("There."))]);
    let (house, said) = turn(&[&model]).await;
    assert!(
        said.contains("There.") && said.ends_with("answered"),
        "{said}"
    );
    assert!(last(&model).contains("nothing that the person can read"));
    assert!(!house.read().contains("nothing that the person can read"));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_says_nothing_at_all_ends_in_a_sentence() {
    for (reply, why) in [
        (says(""), "the model gave an empty answer"),
        (thinks("hm"), "the model thought, but gave no answer"),
        (
            cut(""),
            "the model ran out of output tokens before it said anything",
        ),
        (refuses(), "the model refused to answer"),
    ] {
        let model = Scripted::new("m", std::iter::repeat_n(Ok(reply), 9));
        let (_, said) = turn(&[&model]).await;
        assert!(said.contains(why) && said.ends_with("failed"), "{said}");
        assert!(model.calls() <= 3, "{}", model.calls());
    }
}

#[tokio::test(start_paused = true)]
async fn words_beside_a_call_are_never_taken_for_the_answer() {
    let mut call = calls("read_file", json!({ "path": "/workspace/none" }));
    call.text = "Let me look.".to_owned();
    let silence = std::iter::repeat_n(Ok(says("")), 5);
    let model = Scripted::new("m", std::iter::once(Ok(call)).chain(silence));
    let (_, said) = turn(&[&model]).await;
    assert!(
        said.contains("Let me look.") && said.contains("empty answer"),
        "{said}"
    );
    assert!(said.ends_with("failed"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_cut_answer_is_gone_on_with_and_reads_as_one() {
    let model = Scripted::new(
        "m",
        [
            Ok(cut("The answer is for")),
            Ok(cut("ty-t")),
            Ok(says("wo.")),
        ],
    );
    let (house, said) = turn(&[&model]).await;
    assert!(
        said.contains("The answer is forty-two.") && said.ends_with("answered"),
        "{said}"
    );
    assert!(!said.contains("was cut"));
    assert!(house.read().contains("The answer is forty-two."));
    assert!(last(&model).contains("Go on exactly where it stopped"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_cut_again_and_again_says_so() {
    let model = Scripted::new("m", std::iter::repeat_n(Ok(cut("more ")), 9));
    let (_, said) = turn(&[&model]).await;
    assert!(
        said.contains("more more more more") && said.contains("The answer was cut"),
        "{said}"
    );
    assert_eq!(model.calls(), 4);
    // What was said before the provider failed is kept.
    let model = Scripted::new("m", [Ok(cut("The first half"))]);
    let (_, said) = turn(&[&model]).await;
    assert!(
        said.contains("The first half") && said.contains("The answer was cut"),
        "{said}"
    );
}

#[tokio::test]
async fn a_directive_that_the_limit_cuts_is_still_one() {
    let file = |path: &str, content: &str| {
        let arguments = json!({ "path": path, "content": content });
        Ok(calls("write_file", arguments))
    };
    let house = House::with_a_shell_and(Scripted::new(
        "m",
        [
            file("/workspace/report.txt", "whole"),
            file("/workspace/report", "wrong"),
            Ok(cut("Here it is:\nMEDIA:/workspace/report")),
            Ok(says(".txt\nThat was all.")),
        ],
    ));
    let said = more(&house, 1).await;
    assert!(
        said.contains("report.txt") && said.contains("That was all."),
        "{said}"
    );
    assert!(
        !said.contains("name: \"report\"") && !said.contains("MEDIA"),
        "{said}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_next_model_answers_when_the_first_fails_and_the_person_is_told_once() {
    let first = Scripted::new("acme/a", []);
    let second = Scripted::new("beta/b", [Ok(says("Yes.")), Ok(says("Yes again."))]);
    let house = House::asking(&[&first, &second]);
    let told = |id: usize| format!("{:?}", house.sent().get(id).map(|sent| &sent.parts));
    house
        .run(async |handle| {
            for id in 1..=2 {
                handle.enqueue(message(id, "well?", Busy::Queue));
            }
            house
                .until("both turns have ended", |house| house.ended() == 2)
                .await;
        })
        .await;
    let said = told(0);
    assert!(
        said.contains("Yes.") && said.contains("beta/b answered instead"),
        "{said}"
    );
    assert!(said.contains("the script is over"), "{said}");
    // The first one rests now, and nobody is told twice.
    assert_eq!(first.calls(), 2);
    let said = told(1);
    assert!(
        said.contains("Yes again.") && !said.contains("instead"),
        "{said}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_a_long_wait_is_named_with_the_time() {
    let wait = |seconds| {
        Err(ModelError::Throttled {
            provider: "acme".to_owned(),
            cause: "slow down".to_owned(),
            after: Some(Duration::from_secs(seconds)),
        })
    };
    let model = Scripted::new("m", [wait(1200)]);
    let (_, said) = turn(&[&model]).await;
    assert!(
        said.contains("acme says wait 20 minutes: slow down"),
        "{said}"
    );
    assert_eq!(model.calls(), 1);
    let model = Scripted::new("m", [wait(20), Ok(says("Done."))]);
    let (_, said) = turn(&[&model]).await;
    assert!(said.contains("Done."), "{said}");
}

#[tokio::test(start_paused = true)]
async fn an_empty_purse_is_not_knocked_at_twice() {
    let model = Scripted::new(
        "m",
        [Err(ModelError::NoMoney {
            provider: "acme".to_owned(),
            cause: "quota".to_owned(),
        })],
    );
    let (_, said) = turn(&[&model]).await;
    assert!(said.contains("no credit is left at acme"), "{said}");
    assert_eq!(model.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_steps_left_sums_up_and_runs_nothing_more() {
    let call = || {
        let path = json!({ "path": "/workspace/none" });
        Ok(calls("list_files", path))
    };
    // Each fails in another way than the one before, so that nobody takes it for a circle.
    let lines = (0..30).map(|n| match n % 2 {
        0 => call(),
        _ => Ok(calls("read_file", json!({ "path": "/workspace/none" }))),
    });
    let model = Scripted::new(
        "m",
        lines.chain([Ok(says("I looked, and there is more to do."))]),
    );
    let (_, said) = turn(&[&model]).await;
    assert!(
        said.contains("I looked, and there is more to do."),
        "{said}"
    );
    assert!(
        said.contains("30 steps") && said.ends_with("steps_exhausted"),
        "{said}"
    );
    assert!(last(&model).contains("Sum up for the person"));
}

#[tokio::test(start_paused = true)]
async fn what_each_model_took_is_added_up_and_an_unknown_price_is_no_zero() {
    let usage = Some(Usage {
        input: 1_000,
        cached: 0,
        output: 100,
    });
    let priced = Facts {
        price: Some(Price {
            input: 1_000_000,
            cached: 0,
            output: 10_000_000,
        }),
        ..Facts::default()
    };
    let asks = |text: &str| Reply {
        usage,
        ..says(text)
    };
    let first = Scripted::with("acme/a", priced, [Ok(asks("")), Ok(asks("")), Ok(asks(""))]);
    let second = Scripted::new("beta/b", [Ok(asks("Yes."))]);
    let (house, said) = turn(&[&first, &second]).await;
    assert!(said.contains("Yes."), "{said}");
    let spent = house.spent();
    let seen: Vec<_> = spent
        .iter()
        .map(|spent| {
            (
                spent.route.as_str(),
                spent.calls,
                spent.usage.input,
                spent.cost,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("acme/a", 3, 3_000, Some(Cost(6_000))),
            ("beta/b", 1, 1_000, None)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_begins_as_the_one_before_it_to_the_byte() {
    let lines = (0..4).map(|n| {
        let command = json!({ "path": format!("/workspace/{n}") });
        Ok(calls("read_file", command))
    });
    let model = Scripted::new(
        "m",
        lines.chain([Ok(says("Done.")), Ok(says("Done again."))]),
    );
    let (house, _) = turn(&[&model]).await;
    more(&house, 2).await;
    let asked = model.asked();
    assert_eq!(asked.len(), 6);
    for pair in asked.windows(2) {
        let [before, after] = pair else {
            unreachable!()
        };
        assert_eq!(before.system, after.system);
        assert_eq!(before.tools, after.tools);
        assert!(after.messages.starts_with(&before.messages));
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_one_call_is_charged_to_nobody_else() {
    let first = Scripted::new(
        "acme/a",
        [Err(failed("overloaded")), Ok(says("Better now."))],
    );
    let second = Scripted::new("beta/b", []);
    let (_, said) = turn(&[&first, &second]).await;
    assert!(
        said.contains("Better now.") && !said.contains("instead"),
        "{said}"
    );
    assert_eq!(second.calls(), 0);
}
