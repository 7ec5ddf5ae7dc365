//! The long poll under trouble.

use std::time::Duration;

use chat::{ChatAdapter, FaultKind};
use conformance::chat::{Sink, eventually};
use serde_json::json;
use testkit::telegram::{Gate, Rule, Said, Trouble};
use tidings_chat_telegram::Telegram;

use crate::world::{TOKEN, World};

/// Lets the adapter listen until the scenario is over.
async fn hear(telegram: &Telegram, sink: &Sink, scenario: impl Future<Output = ()>) {
    tokio::select! {
        () = scenario => {}
        ended = telegram.listen(sink) => panic!("{ended:?}"),
    }
}

fn kinds(sink: &Sink) -> Vec<&'static str> {
    let told = sink.health().into_iter();
    told.map(|state| state.map_or_else(|fault| fault.kind.name(), |()| "well"))
        .collect()
}

#[tokio::test]
async fn a_second_poller_is_told_once_and_listening_heals_by_itself() {
    let world = World::new().await;
    world
        .fake
        .script(Rule::on("getUpdates").nth(2).times(4), Trouble::Conflict);
    world.fake.say(TOKEN, Said::text("one"));
    let (telegram, sink) = (world.telegram(|_| ()), Sink::default());
    hear(&telegram, &sink, async {
        eventually("the conflict was told", || sink.health().len() == 2).await;
        world.fake.say(TOKEN, Said::text("two"));
        eventually("it heals", || {
            sink.health().len() == 3 && sink.texts().len() == 2
        })
        .await;
    })
    .await;
    assert_eq!(kinds(&sink), ["well", "temp_reject", "well"]);
    let told = sink.health().remove(1).unwrap_err();
    assert_eq!(told.code.as_deref(), Some("409"));
    assert!(told.text.contains("another program"), "{}", told.text);
    world.assert_clean();
}

#[tokio::test]
async fn a_real_second_poller_pushes_us_out_and_we_come_back() {
    let world = World::new().await;
    let telegram = world.telegram(|options| options.poll = Duration::from_secs(1));
    let sink = Sink::default();
    let client = net::Client::new(net::Options::default()).unwrap();
    let other = format!("{}/bot{TOKEN}/getUpdates", world.fake.api_base());
    hear(&telegram, &sink, async {
        eventually("we poll", || sink.health().len() == 1).await;
        world
            .fake
            .until("a long poll", |fake| fake.calls_of("getUpdates").len() == 2)
            .await
            .unwrap();
        client
            .post(&other)
            .json(&json!({"timeout": 0}))
            .send()
            .await
            .unwrap();
        eventually("told and healed", || {
            kinds(&sink) == ["well", "temp_reject", "well"]
        })
        .await;
        world.fake.say(TOKEN, Said::text("still there?"));
        eventually("we hear", || sink.texts() == ["still there?"]).await;
    })
    .await;
}

#[tokio::test]
async fn a_second_poller_that_comes_back_at_once_is_told_once() {
    let world = World::new().await;
    let of_kind = |waits: bool| {
        move |call: &testkit::telegram::Call| (call.param("timeout") != &json!(0)) == waits
    };
    // As Telegram does it: a poll that does not wait always wins, one that waits is ended by the other program.
    world.fake.script(
        Rule::on("getUpdates").when(of_kind(true)).times(6),
        Trouble::Conflict,
    );
    let telegram = world.telegram(|options| options.poll = Duration::from_secs(1));
    let sink = Sink::default();
    hear(&telegram, &sink, async {
        world
            .fake
            .until("the other one has won six times", |fake| {
                let polls = fake.calls_of("getUpdates");
                polls.iter().filter(|call| of_kind(true)(call)).count() > 6
            })
            .await
            .unwrap();
        assert_eq!(kinds(&sink), ["well", "temp_reject"]);
        eventually("a poll that waited in peace heals", || {
            sink.health().len() == 3
        })
        .await;
    })
    .await;
    assert_eq!(kinds(&sink), ["well", "temp_reject", "well"]);
}

#[tokio::test]
async fn another_bot_under_the_same_name_is_heard_from_its_beginning() {
    let world = World::new().await;
    // Its updates have smaller numbers, its chats and messages the same ones.
    let other = "777000:BBother-SECRET_token";
    world.fake.add_bot(other, "other_bot");
    world.fake.say(TOKEN, Said::text("to the first"));
    let sink = Sink::default();
    hear(
        &world.telegram(|_| ()),
        &sink,
        eventually("the first hears", || sink.texts().len() == 1),
    )
    .await;
    world.fake.say(other, Said::text("to the second"));
    let second = world.telegram(|options| options.token = waybill::Secret::new(other.to_owned()));
    hear(
        &second,
        &sink,
        eventually("the second hears", || sink.texts().len() == 2),
    )
    .await;
    assert_eq!(sink.texts(), ["to the first", "to the second"]);
    let again = world.fake.calls_of("getUpdates");
    let first = again
        .iter()
        .find(|call| call.token == other)
        .map(|call| call.param("offset").as_i64());
    assert_eq!(first, Some(None), "the first bot's cursor was used");
}

#[tokio::test]
async fn a_foreign_webhook_is_removed_once_and_said_so() {
    let world = World::new().await;
    world
        .fake
        .set_webhook(TOKEN, "https://elsewhere.example/hook");
    world.fake.say(TOKEN, Said::text("one"));
    let (telegram, sink) = (world.telegram(|_| ()), Sink::default());
    hear(&telegram, &sink, async {
        eventually("updates come", || sink.texts() == ["one"]).await;
        assert!(!world.fake.has_webhook(TOKEN));
        world
            .fake
            .set_webhook(TOKEN, "https://elsewhere.example/again");
        let before = sink.health().len();
        eventually("told again", || sink.health().len() > before).await;
        let polls = world.fake.calls_of("getUpdates").len();
        world
            .fake
            .until("polls go on", |fake| {
                fake.calls_of("getUpdates").len() > polls + 2
            })
            .await
            .unwrap();
    })
    .await;
    let removals = world.fake.calls_of("deleteWebhook");
    assert_eq!(removals.len(), 1, "the second time somebody else wants it");
    assert_eq!(removals[0].param("drop_pending_updates"), &json!(false));
    assert!(world.fake.has_webhook(TOKEN));
    let told: Vec<String> = sink
        .health()
        .into_iter()
        .filter_map(|state| state.err().map(|fault| fault.text))
        .collect();
    assert!(
        told.iter().any(|text| text.contains("was removed")),
        "{told:?}"
    );
    world.assert_clean();
}

#[tokio::test]
async fn a_poll_that_hangs_is_given_up() {
    let world = World::new().await;
    let gate = Gate::default();
    world
        .fake
        .script(Rule::on("getUpdates").nth(2), Trouble::Hold(gate.clone()));
    let telegram = world.telegram(|options| {
        options.poll = Duration::from_secs(1);
        options.poll_grace = Duration::from_millis(100);
    });
    let sink = Sink::default();
    hear(&telegram, &sink, async {
        world
            .fake
            .until("it hangs", |fake| fake.calls_of("getUpdates").len() == 2)
            .await
            .unwrap();
        world.fake.say(TOKEN, Said::text("hello?"));
        eventually("it is heard all the same", || sink.texts() == ["hello?"]).await;
    })
    .await;
    gate.release();
}

#[tokio::test]
async fn two_polls_without_an_answer_are_told() {
    let world = World::new().await;
    let gate = Gate::default();
    world.fake.script(
        Rule::on("getUpdates").nth(2).times(2),
        Trouble::Hold(gate.clone()),
    );
    let telegram = world.telegram(|options| {
        options.poll = Duration::ZERO;
        options.poll_grace = Duration::from_millis(200);
    });
    let sink = Sink::default();
    hear(
        &telegram,
        &sink,
        eventually("told and healed", || sink.health().len() == 3),
    )
    .await;
    assert_eq!(kinds(&sink), ["well", "temp_reject", "well"]);
    gate.release();
}

#[tokio::test]
async fn a_network_that_stumbles_twice_alarms_nobody() {
    let world = World::new().await;
    world
        .fake
        .script(Rule::on("getUpdates").nth(2).times(2), Trouble::Drop);
    let (telegram, sink) = (world.telegram(|_| ()), Sink::default());
    hear(&telegram, &sink, async {
        world
            .fake
            .until("polls go on", |fake| fake.calls_of("getUpdates").len() > 3)
            .await
            .unwrap();
        world.fake.say(TOKEN, Said::text("one"));
        eventually("it is heard", || sink.texts() == ["one"]).await;
    })
    .await;
    assert_eq!(kinds(&sink), ["well"]);
}

#[tokio::test]
async fn a_network_that_stays_away_is_told_once() {
    let world = World::new().await;
    world
        .fake
        .script(Rule::on("getUpdates").nth(2).times(9), Trouble::Drop);
    let (telegram, sink) = (world.telegram(|_| ()), Sink::default());
    hear(&telegram, &sink, async {
        eventually("told and healed", || sink.health().len() == 3).await;
    })
    .await;
    assert_eq!(kinds(&sink), ["well", "temp_reject", "well"]);
}

#[tokio::test]
async fn a_gateway_that_answers_in_html_does_not_stop_the_ears() {
    let world = World::new().await;
    let html = |status| Trouble::Raw {
        status,
        mime: "text/html",
        body: "<html><h1>502 Bad Gateway</h1></html>".to_owned(),
    };
    world.fake.script(Rule::on("getUpdates"), html(502));
    world.fake.script(Rule::on("getUpdates"), html(200));
    world.fake.script(Rule::on("getMe"), html(503));
    world.fake.say(TOKEN, Said::text("one"));
    let (telegram, sink) = (world.telegram(|_| ()), Sink::default());
    hear(
        &telegram,
        &sink,
        eventually("it is heard", || sink.texts() == ["one"]),
    )
    .await;
}

#[tokio::test]
async fn the_offset_stays_while_the_store_fails() {
    let world = World::new().await;
    let first = world.fake.say(TOKEN, Said::text("one")).update_id;
    let (telegram, sink) = (world.telegram(|_| ()), Sink::default());
    sink.refuse(3);
    hear(&telegram, &sink, async {
        world
            .fake
            .until("it is acknowledged", |fake| fake.pending(TOKEN) == 0)
            .await
            .unwrap();
    })
    .await;
    let offsets: Vec<_> = world
        .fake
        .calls_of("getUpdates")
        .iter()
        .map(|call| call.param("offset").as_i64())
        .collect();
    assert_eq!(offsets, [None, None, None, None, Some(first + 1)]);
    world.assert_clean();
}

#[tokio::test]
async fn only_what_we_understand_is_asked_for() {
    let world = World::new().await;
    let (telegram, sink) = (world.telegram(|_| ()), Sink::default());
    hear(&telegram, &sink, async {
        world
            .fake
            .until("a long poll", |fake| fake.calls_of("getUpdates").len() == 2)
            .await
            .unwrap();
        world
            .fake
            .update(TOKEN, json!({"channel_post": {"message_id": 1}}));
        world.fake.say(TOKEN, Said::text("one"));
        eventually("it is heard", || sink.texts() == ["one"]).await;
        world.fake.say(TOKEN, Said::text("two"));
        eventually("the next one too", || sink.texts().len() == 2).await;
    })
    .await;
    assert_eq!(kinds(&sink), ["well"], "health is told when it changes");
    assert_eq!(sink.events().len(), 2);
    let polls = world.fake.calls_of("getUpdates");
    assert_eq!(
        polls[1].param("allowed_updates"),
        &json!(["message", "edited_message", "callback_query"])
    );
    assert_eq!(polls[1].param("timeout"), &json!(5));
    world.assert_clean();
}

#[tokio::test]
async fn a_server_that_does_not_wait_is_not_asked_in_circles() {
    let world = World::new().await;
    let empty = Trouble::Raw {
        status: 200,
        mime: "application/json",
        body: json!({"ok": true, "result": []}).to_string(),
    };
    world
        .fake
        .script(Rule::on("getUpdates").nth(2).times(1), empty);
    let pause = Duration::from_millis(150);
    let telegram = world.telegram(|options| options.pace.network_first = pause);
    let sink = Sink::default();
    hear(&telegram, &sink, async {
        world
            .fake
            .until("a third poll", |fake| {
                fake.calls_of("getUpdates").len() == 3
            })
            .await
            .unwrap();
    })
    .await;
    let polls = world.fake.calls_of("getUpdates");
    assert!(polls[2].at - polls[1].at >= pause);
}

#[tokio::test]
async fn two_bots_hear_each_their_own() {
    let world = World::new().await;
    let other = "777002:BBother-SECRET_token";
    world.fake.add_bot(other, "other_bot");
    world.fake.say(TOKEN, Said::text("to the first"));
    world.fake.say(other, Said::text("to the second"));
    let first = world.telegram(|_| ());
    let second = world.telegram(|options| options.token = waybill::Secret::new(other.to_owned()));
    let (one, two) = (Sink::default(), Sink::default());
    let both = async {
        eventually("both hear", || {
            one.texts().len() == 1 && two.texts().len() == 1
        })
        .await;
    };
    hear(&first, &one, hear(&second, &two, both)).await;
    assert_eq!(one.texts(), ["to the first"]);
    assert_eq!(two.texts(), ["to the second"]);
}

#[tokio::test]
async fn a_token_shows_in_nothing_that_is_told() {
    let world = World::new().await;
    let echo = Trouble::Raw {
        status: 400,
        mime: "application/json",
        body: json!({"ok": false, "error_code": 400, "description": format!("Bad Request: /bot{TOKEN}/getUpdates")}).to_string(),
    };
    world.fake.script(Rule::on("getUpdates").times(3), echo);
    let (telegram, sink) = (world.telegram(|_| ()), Sink::default());
    hear(
        &telegram,
        &sink,
        eventually("told", || sink.health().len() == 2),
    )
    .await;
    let told = format!("{:?} {telegram:?}", sink.health());
    assert!(!told.contains("SECRET"), "{told}");
    assert!(matches!(&sink.health()[0], Err(fault) if fault.kind == FaultKind::PermItem));
}
