//! Events while the store fails, and events that nobody may decide on yet.

use std::time::Duration;

use session::InboxState;
use tokio_util::sync::CancellationToken;

use crate::world::{House, OWNER, row, said, say};

#[tokio::test(start_paused = true)]
async fn a_store_that_stumbles_loses_nothing_and_keeps_each_chats_order() {
    let house = House::default();
    house.fail("current a", 1);
    house
        .while_open(async |handle| {
            say(&handle, "1", said("a", OWNER, "a1")).await;
            say(&handle, "2", said("a", OWNER, "a2")).await;
            say(&handle, "3", said("b", OWNER, "b1")).await;
            say(&handle, "4", said("a", OWNER, "a3")).await;
            house
                .until("all are in line", |house| house.happened().len() == 4)
                .await;
            assert_eq!(
                house.happened(),
                ["line: b1", "line: a1", "line: a2", "line: a3"]
            );
            say(&handle, "5", said("a", OWNER, "a4")).await;
            house
                .until("the chat goes on", |house| house.happened().len() == 5)
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_store_is_asked_again_ever_more_seldom() {
    let house = House::default();
    house.fail("current a", 8);
    house
        .while_open(async |handle| {
            say(&handle, "1", said("a", OWNER, "a1")).await;
            house
                .until("it is in line", |house| house.happened() == ["line: a1"])
                .await;
            assert_eq!(house.gaps("current a"), [1, 2, 4, 8, 16, 30, 30, 30]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_command_is_not_obeyed_again_because_its_answer_was_not_stored() {
    let house = House::default();
    house.fail("admit", 3);
    house
        .while_open(async |handle| {
            say(&handle, "1", said("a", OWNER, "/new")).await;
            say(&handle, "2", said("a", OWNER, "and now?")).await;
            house
                .until("it went on", |house| {
                    house.happened().contains(&"line: and now?".to_owned())
                })
                .await;
            assert_eq!(
                house.happened(),
                ["stop", "reset", "told 1: 1", "line: and now?"]
            );
            house.fail("admit", 2);
            say(&handle, "3", said("b", OWNER, "/stop")).await;
            house
                .until("it was told", |house| house.state(3) == InboxState::Told)
                .await;
            let stops = house.happened().iter().filter(|did| *did == "stop").count();
            assert_eq!(stops, 2, "one for each command");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_new_that_did_not_happen_happens_later() {
    let house = House::default();
    house.fail("reset", 1);
    house
        .while_open(async |handle| {
            say(&handle, "1", said("a", OWNER, "/new")).await;
            house
                .until("it was told", |house| house.state(1) == InboxState::Told)
                .await;
            assert_eq!(house.happened(), ["stop", "stop", "reset", "told 1: 1"]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_message_in_line_is_put_there_once_though_its_admission_was_not_stored() {
    let house = House::default();
    house.keep_busy();
    house.fail("admit", 2);
    house
        .while_open(async |handle| {
            say(&handle, "1", said("a", OWNER, "a1")).await;
            house
                .until("it is written down", |house| {
                    house.state(1) == InboxState::Admitted
                })
                .await;
            assert_eq!(house.happened(), ["line: a1", "admitted: 1"]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_route_that_cant_be_read_is_not_a_route_that_is_missing() {
    let house = House::default();
    house.fail("route a", 2);
    house
        .while_open(async |handle| {
            say(&handle, "1", said("a", OWNER, "a1")).await;
            house
                .until("it is decided on", |house| !house.happened().is_empty())
                .await;
            assert_eq!(house.happened(), ["line: a1"]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_left_at_the_stop_waits_for_the_next_start() {
    let house = House::default();
    house.fail("current a", usize::MAX);
    let intake = house.intake();
    let (handle, stop) = (intake.handle(), CancellationToken::new());
    let scenario = async {
        say(&handle, "1", said("a", OWNER, "a1")).await;
        say(&handle, "2", said("a", OWNER, "a2")).await;
        tokio::time::sleep(Duration::from_secs(90)).await;
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(intake.run(stop.clone()), scenario);
    ended.unwrap();
    assert_eq!(house.happened(), [] as [String; 0]);
    house.fail("current a", 0);
    house
        .while_open(async |_handle| {
            house
                .until("they are taken up", |house| house.happened().len() == 4)
                .await;
        })
        .await;
    assert_eq!(
        house.happened(),
        ["line: a1", "admitted: 1", "line: a2", "admitted: 2"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_disabled_account_keeps_its_events_and_a_stranger_stays_ignored() {
    let house = House::default();
    house.left(row(1, "gone", said("a", OWNER, "hello?"), InboxState::New));
    house.left(row(2, "bot", said("a", "666", "hello?"), InboxState::New));
    house.left(row(3, "bot", said("a", OWNER, "hello"), InboxState::New));
    house
        .while_open(async |_handle| {
            house
                .until("the others are decided on", |house| {
                    house.happened().len() == 3
                })
                .await;
        })
        .await;
    assert_eq!(
        house.happened(),
        ["ignored: 2", "line: hello", "admitted: 3"]
    );
    assert_eq!(house.state(1), InboxState::New);
}
