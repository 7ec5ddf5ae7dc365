//! Events that make the gateway fail.

use std::time::Duration;

use chat::{Event, InboundSink as _};
use intake::IntakeHandle;
use session::InboxState;
use tidings_intake as intake;

use crate::world::{House, OWNER, account, row, said, say};

fn is_poisoned(house: &House, id: i64) -> bool {
    matches!(house.state(id), InboxState::Poisoned { .. })
}

#[tokio::test(start_paused = true)]
async fn an_event_that_makes_us_panic_is_put_aside_after_three_tries_and_the_next_one_is_handled() {
    let house = House::default();
    house.panic_at("route a", usize::MAX);
    house
        .while_open(async |handle| {
            say(&handle, "1", said("a", OWNER, "a1")).await;
            say(&handle, "2", said("b", OWNER, "b1")).await;
            house
                .until("b1 is in line", |house| house.happened() == ["line: b1"])
                .await;
            assert!(is_poisoned(&house, 1));
            assert_eq!(house.gaps("route a").len() + 1, 3);
            house
                .until("the owner is told", |house| house.notices().len() == 1)
                .await;
        })
        .await;
    let notice = house.notices().concat();
    assert!(notice.contains("number 1 of the inbox"), "{notice}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_that_does_not_come_again_costs_nothing() {
    let house = House::default();
    house.panic_at("route a", 2);
    house
        .while_open(async |handle| {
            say(&handle, "1", said("a", OWNER, "a1")).await;
            house
                .until("a1 is in line", |house| house.happened() == ["line: a1"])
                .await;
        })
        .await;
    assert_eq!(house.notices(), [] as [String; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_was_taken_three_times_is_not_taken_again() {
    let house = House::default();
    for (id, taken) in [(1, 3), (2, 1)] {
        let mut row = row(id, "bot", said("a", OWNER, "hello"), InboxState::New);
        row.taken = taken;
        house.left(row);
    }
    house
        .while_open(async |_handle| {
            house
                .until("the owner is told", |house| house.notices().len() == 1)
                .await;
        })
        .await;
    assert!(is_poisoned(&house, 1));
    assert_eq!(house.happened(), ["line: hello", "admitted: 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_at_every_start_poisons_nothing() {
    let house = House::default();
    house.left(row(1, "bot", said("a", OWNER, "hello"), InboxState::New));
    for _start in 0..5 {
        house.fail("route a", 1_000);
        house
            .while_open(async |_handle| tokio::time::sleep(Duration::from_secs(60)).await)
            .await;
    }
    house.fail("route a", 0);
    house
        .while_open(async |_handle| {
            house
                .until("it is written down", |house| {
                    house.state(1) == InboxState::Admitted
                })
                .await;
        })
        .await;
    assert_eq!(house.notices(), [] as [String; 0]);
}

async fn odd(handle: &IntakeHandle, key: &str) {
    let event = Event {
        key: key.to_owned(),
        raw: "?".to_owned(),
        parsed: Err("no JSON".to_owned()),
    };
    handle.accept(&account(), vec![event], None).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_owner_is_told_of_what_cant_be_understood_at_once_and_then_seldom() {
    let house = House::default();
    house
        .while_open(async |handle| {
            odd(&handle, "1").await;
            house
                .until("the owner is told", |house| house.notices().len() == 1)
                .await;
            for key in 2..=9 {
                odd(&handle, &key.to_string()).await;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            assert_eq!(house.notices().len(), 1);
            house
                .until("the rest is told", |house| house.notices().len() == 2)
                .await;
            assert_eq!(house.gaps("tell"), [300]);
        })
        .await;
    let second = house.notices().pop().unwrap();
    assert!(
        second.contains("8 events") && second.contains("… and 3 more"),
        "{second}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_notice_that_could_not_be_stored_comes_later() {
    let house = House::default();
    house.fail("tell", 2);
    house
        .while_open(async |handle| {
            odd(&handle, "1").await;
            house
                .until("the owner is told", |house| house.notices().len() == 1)
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_event_that_meets_a_damaged_row_is_put_aside_and_the_next_one_is_handled() {
    let house = House::default();
    house.damage("current a");
    house
        .while_open(async |handle| {
            say(&handle, "1", said("a", OWNER, "a1")).await;
            say(&handle, "2", said("b", OWNER, "b1")).await;
            house
                .until("the owner is told", |house| house.notices().len() == 1)
                .await;
        })
        .await;
    assert_eq!(house.happened(), ["put aside: 1", "line: b1"]);
    let notice = house.notices().concat();
    assert!(notice.contains("row 5"), "{notice}");
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_meets_a_damaged_row_is_put_aside() {
    let house = House::default();
    house.damage("admit");
    house
        .while_open(async |handle| {
            say(&handle, "1", said("a", OWNER, "/help")).await;
            house
                .until("the owner is told", |house| house.notices().len() == 1)
                .await;
        })
        .await;
    assert_eq!(house.happened(), ["put aside: 1"]);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_could_be_told_of_is_told_later() {
    let house = House::default();
    house.give_home(false);
    house
        .while_open(async |handle| {
            odd(&handle, "1").await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(house.notices(), [] as [String; 0]);
            house.give_home(true);
            house
                .until("the owner is told", |house| house.notices().len() == 1)
                .await;
        })
        .await;
}
