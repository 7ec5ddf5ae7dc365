//! The end of an attempt is written down, whatever fails.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chat::FaultKind;
use outbox::{Decision, MessageKind, PartState};

use crate::world::{Panics, Setting, World, answering, chat, part, start};

#[tokio::test(start_paused = true)]
async fn an_end_that_a_full_disk_held_up_for_an_hour_is_stored_when_there_is_room() {
    let world = World::new(Setting::default());
    world.shelf.break_for(Duration::from_secs(3600));
    let end = world
        .end_of(part(MessageKind::Reply, chat("bot", "1")))
        .await;
    assert!(
        matches!(end.decision, Decision::Sent { .. }),
        "{:?}",
        end.decision
    );
    assert!(
        end.at >= start() + Duration::from_secs(3600),
        "what is claimed with it begins when it is stored: {}",
        end.at
    );
    assert_eq!(world.deliveries(), 1, "sent again");
    let calls = world.shelf.settle_calls.load(Ordering::SeqCst);
    assert!(
        (100..200).contains(&calls),
        "{calls} tries in an hour: about two a minute are wanted"
    );
}

#[tokio::test(start_paused = true)]
async fn a_courier_that_is_told_to_stop_leaves_an_end_that_cant_be_stored_to_the_next_start() {
    let mut world = World::new(Setting::default());
    world.shelf.break_for(Duration::from_secs(24 * 3600));
    world.put(part(MessageKind::Reply, chat("bot", "1")));
    world.settle_calls(12).await;
    let took = world.stopped().await;
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert!(world.shelf.ends().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_crashes_on_an_end_is_asked_again() {
    let world = World::new(Setting::default());
    world.shelf.crash_once();
    let end = world
        .end_of(part(MessageKind::Reply, chat("bot", "1")))
        .await;
    assert!(matches!(end.decision, Decision::Sent { .. }));
    assert_eq!(world.deliveries(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_crash_before_the_platforms_answer_is_an_unknown_end_that_says_so() {
    let world = World::new(Setting {
        panics: Panics::Describing,
        ..Setting::default()
    });
    let end = world
        .end_of(part(MessageKind::Reply, chat("bot", "1")))
        .await;
    assert!(
        matches!(end.decision, Decision::Unknown { at } if at > start()),
        "{:?}",
        end.decision
    );
    let fault = end.fault.unwrap();
    assert_eq!(fault.kind, FaultKind::Unknown);
    assert!(fault.text.contains("crashed"), "{}", fault.text);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_crashes_on_good_news_makes_no_repeat_of_what_arrived() {
    let world = World::new(Setting {
        health: Arc::new(|_account, _state| panic!("the test wants a crash")),
        ..Setting::default()
    });
    let end = world
        .end_of(part(MessageKind::Reply, chat("bot", "1")))
        .await;
    assert!(
        matches!(end.decision, Decision::Sent { .. }),
        "{:?}",
        end.decision
    );
}

#[tokio::test(start_paused = true)]
async fn a_notice_that_crashes_while_it_is_made_leaves_no_lane_stuck() {
    let world = World::new(Setting {
        home: Arc::new(|_profile| panic!("the test wants a crash")),
        ..answering(FaultKind::PermChat)
    });
    let end = world
        .end_of(part(MessageKind::Reply, chat("bot", "1")))
        .await;
    assert_eq!(
        end.decision,
        Decision::Dead {
            state: PartState::Failed,
            lane: true
        }
    );
    assert_eq!(end.notice, None);
}
