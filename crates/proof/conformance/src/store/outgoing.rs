//! Messages take their places in lanes and are claimed from their heads.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use std::time::Duration;

use outbox::{ListFilter, OutboxStore as _, PartState};

use super::World;
use super::make::{Maker, at, chat, claim, next_due, retry, sent};

pub async fn the_first_part_of_an_idle_lane_is_claimed_at_birth(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let message = make.message(&here, 2);
    let claimed = store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    assert_eq!(claimed.len(), 1);
    let first = &claimed[0];
    assert_eq!(
        (first.message, first.part, first.attempt, first.tries),
        (message.id, 1, 1, 1)
    );
    assert_eq!(first.came_from, PartState::Queued);
    assert!(!first.may_be_repeat);
    assert_eq!(
        (&first.op, first.key),
        (&message.parts[0].op, message.parts[0].key)
    );
    assert_eq!(
        (&first.waybill, first.kind),
        (&message.waybill, message.kind)
    );
    assert_eq!(first.expires_at, message.expires_at);
    let row = store.show(message.id).await.expect("show").expect("there");
    assert_eq!(row.parts[0].state, PartState::Sending);
    assert_eq!(row.parts[0].attempts.len(), 1, "its attempt is durable");
    assert_eq!(row.parts[0].attempts[0].started_at, at(0));
    assert!(
        claim(&store, at(1_000), 10).await.is_empty(),
        "never two in a lane"
    );
    assert_eq!(next_due(&store, at(1_000)).await, None);
    world.close(store).await;
}

pub async fn a_message_behind_another_waits_for_it(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let (here, there) = (chat("tg", "1"), chat("tg", "2"));
    let messages = vec![
        make.message(&here, 1),
        make.message(&here, 1),
        make.message(&there, 1),
    ];
    let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
    let claimed = store.enqueue(messages, at(0)).await.expect("enqueue");
    let born: Vec<_> = claimed.iter().map(|claimed| claimed.message).collect();
    assert_eq!(born, [ids[0], ids[2]], "one for each lane that was idle");
    let waiting = store
        .enqueue(vec![make.message(&here, 1)], at(1))
        .await
        .expect("enqueue");
    assert!(waiting.is_empty());
    // A head that waits for its time holds the lane too.
    store
        .settle(retry(&claimed[0], at(1), at(500), true))
        .await
        .expect("settle");
    let waiting = store
        .enqueue(vec![make.message(&here, 1)], at(2))
        .await
        .expect("enqueue");
    assert!(waiting.is_empty());
    assert!(claim(&store, at(499), 10).await.is_empty());
    let again = claim(&store, at(500), 10).await;
    assert_eq!(
        again
            .iter()
            .map(|claimed| claimed.message)
            .collect::<Vec<_>>(),
        [ids[0]]
    );
    world.close(store).await;
}

pub async fn a_step_that_runs_twice_is_stored_once(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let message = make.message(&chat("tg", "1"), 1);
    assert_eq!(
        store
            .enqueue(vec![message.clone()], at(0))
            .await
            .expect("enqueue")
            .len(),
        1
    );
    world.close(store).await;
    let store = world.open().await;
    let mut again = make.message(&chat("tg", "1"), 1);
    again.source.clone_from(&message.source);
    let mut next = make.message(&chat("tg", "9"), 1);
    next.source.clone_from(&message.source);
    next.ordinal = 1;
    let claimed = store
        .enqueue(vec![again.clone(), next.clone()], at(1))
        .await
        .expect("enqueue");
    assert_eq!(claimed.len(), 1, "another ordinal is another message");
    assert_eq!(claimed[0].message, next.id);
    assert_eq!(store.show(again.id).await.expect("show"), None);
    assert_eq!(
        store.list(ListFilter::default()).await.expect("list").len(),
        2
    );
    world.close(store).await;
}

pub async fn the_next_part_is_claimed_with_the_receipt(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let messages = vec![make.message(&here, 2), make.message(&here, 1)];
    let (first, second) = (messages[0].id, messages[1].id);
    let mut claimed = store.enqueue(messages, at(0)).await.expect("enqueue");
    let mut seen = Vec::new();
    while let Some(part) = claimed.pop() {
        assert!(claimed.is_empty(), "one at a time");
        seen.push((part.message, part.part));
        claimed = store.settle(sent(&part, at(1))).await.expect("settle");
    }
    assert_eq!(seen, [(first, 1), (first, 2), (second, 1)]);
    world.close(store).await;
}

pub async fn a_waiting_store_is_told_of_what_comes(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let claimed = store
        .enqueue(vec![make.message(&here, 1)], at(0))
        .await
        .expect("enqueue");
    let waiter = store.clone();
    let told = async move {
        waiter.changed().await;
        next_due(&waiter, at(2)).await
    };
    let settled = store.settle(retry(&claimed[0], at(1), at(70), true));
    let (due, settled) = tokio::join!(tokio::time::timeout(Duration::from_secs(10), told), settled);
    settled.expect("settle");
    assert_eq!(due.expect("told in time"), Some(at(70)));
    // Told also when nobody waited at that moment.
    let claimed = claim(&store, at(70), 1).await;
    store
        .settle(retry(&claimed[0], at(71), at(90), true))
        .await
        .expect("settle");
    tokio::time::timeout(Duration::from_secs(10), store.changed())
        .await
        .expect("told in time");
    world.close(store).await;
}

pub async fn accounts_take_turns(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let mut claimed = Vec::new();
    for n in 0..6 {
        let busy = vec![make.message(&chat("busy", &n.to_string()), 1)];
        claimed.extend(store.enqueue(busy, at(0)).await.expect("enqueue"));
    }
    claimed.extend(
        store
            .enqueue(vec![make.message(&chat("calm", "1"), 1)], at(9))
            .await
            .expect("enqueue"),
    );
    for (n, part) in (0..).zip(&claimed) {
        store
            .settle(retry(part, at(10), at(20 + n), true))
            .await
            .expect("settle");
    }
    assert_eq!(next_due(&store, at(10)).await, Some(at(20)));
    let two = claim(&store, at(100), 2).await;
    let accounts: Vec<_> = two
        .iter()
        .map(|part| part.waybill.account().as_str())
        .collect();
    assert_eq!(accounts, ["busy", "calm"]);
    let rest = claim(&store, at(100), 3).await;
    let chats: Vec<_> = rest
        .iter()
        .map(|part| part.waybill.chat().conversation.as_str())
        .collect();
    assert_eq!(chats, ["1", "2", "3"], "the one that waited longest first");
    world.close(store).await;
}
