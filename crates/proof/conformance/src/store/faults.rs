//! What went wrong is written down with all that follows from it.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use chat::Receipt;
use outbox::{ListFilter, MessageKind, OutboxStore as _, PartState};
use waybill::Waybill;

use super::World;
use super::make::{
    Maker, account, at, chat, claim, dead, moved, next_due, recover, retry, revoked, sent,
    throttled, unknown,
};

pub async fn a_retry_waits_for_its_time_also_after_a_restart(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let message = make.message(&chat("tg", "1"), 1);
    let claimed = store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    store
        .settle(retry(&claimed[0], at(5), at(60_000), true))
        .await
        .expect("settle");
    world.close(store).await;

    let store = world.open().await;
    assert_eq!(recover(&store, at(10)).await, 0);
    assert!(claim(&store, at(59_999), 10).await.is_empty());
    assert_eq!(next_due(&store, at(59_999)).await, Some(at(60_000)));
    let again = claim(&store, at(60_000), 10).await;
    assert_eq!(again.len(), 1);
    assert_eq!(
        (again[0].came_from, again[0].attempt, again[0].tries),
        (PartState::Retry, 2, 2)
    );
    assert!(
        !again[0].may_be_repeat,
        "the platform said that it did not act"
    );
    assert_eq!(again[0].key, message.parts[0].key, "the key stays");
    assert_eq!(again[0].op, message.parts[0].op, "to the byte");
    world.close(store).await;
}

pub async fn a_try_that_does_not_count_is_not_counted(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let mut claimed = store
        .enqueue(vec![make.message(&chat("tg", "1"), 1)], at(0))
        .await
        .expect("enqueue");
    for n in 1..=3 {
        assert_eq!((claimed[0].tries, i64::from(claimed[0].attempt)), (1, n));
        store
            .settle(retry(&claimed[0], at(n), at(n + 1), false))
            .await
            .expect("settle");
        claimed = claim(&store, at(n + 1), 10).await;
    }
    store
        .settle(retry(&claimed[0], at(10), at(11), true))
        .await
        .expect("settle");
    let claimed = claim(&store, at(11), 10).await;
    assert_eq!((claimed[0].tries, claimed[0].attempt), (2, 5));
    world.close(store).await;
}

pub async fn an_account_that_must_wait_holds_its_own_lanes_alone(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let all = vec![
        make.message(&chat("tg", "1"), 1),
        make.message(&chat("tg", "2"), 2),
        make.message(&chat("web", "1"), 2),
    ];
    let claimed = store.enqueue(all, at(0)).await.expect("enqueue");
    assert_eq!(claimed.len(), 3);
    store
        .settle(throttled(&claimed[0], at(5), at(5_000)))
        .await
        .expect("settle");
    // An attempt that ran already may end, but nothing of the account follows it.
    let next = store
        .settle(sent(&claimed[1], at(6)))
        .await
        .expect("settle");
    assert!(next.is_empty());
    let next = store
        .settle(sent(&claimed[2], at(6)))
        .await
        .expect("settle");
    assert_eq!(next.len(), 1, "another account goes on");
    let born = store
        .enqueue(vec![make.message(&chat("tg", "3"), 1)], at(7))
        .await
        .expect("enqueue");
    assert!(born.is_empty(), "not even a new lane");
    let other = store
        .enqueue(vec![make.message(&chat("web", "2"), 1)], at(7))
        .await
        .expect("enqueue");
    assert_eq!(other.len(), 1);

    world.close(store).await;
    let store = world.open().await;
    recover(&store, at(8)).await;
    let claimed = claim(&store, at(4_999), 10).await;
    assert!(
        claimed
            .iter()
            .all(|part| part.waybill.account().as_str() == "web"),
        "also after a restart"
    );
    assert_eq!(claimed.len(), 2);
    assert_eq!(next_due(&store, at(4_999)).await, Some(at(5_000)));
    assert_eq!(claim(&store, at(5_000), 10).await.len(), 3);
    world.close(store).await;
}

pub async fn a_login_that_works_again_ends_its_rest_but_no_throttle(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let all = vec![
        make.message(&chat("tg", "1"), 1),
        make.message(&chat("web", "1"), 1),
    ];
    let claimed = store.enqueue(all, at(0)).await.expect("enqueue");
    store
        .settle(revoked(&claimed[0], at(5), at(15_000)))
        .await
        .expect("settle");
    store
        .settle(throttled(&claimed[1], at(5), at(9_000)))
        .await
        .expect("settle");
    assert!(claim(&store, at(6), 10).await.is_empty());
    store.open_account(&account("tg")).await.expect("open");
    store.open_account(&account("web")).await.expect("open");
    let claimed = claim(&store, at(7), 10).await;
    let accounts: Vec<_> = claimed
        .iter()
        .map(|part| part.waybill.account().as_str())
        .collect();
    assert_eq!(
        accounts,
        ["tg"],
        "what a platform asked to wait for still waits"
    );
    assert_eq!(next_due(&store, at(7)).await, Some(at(9_000)));
    world.close(store).await;
}

pub async fn an_attempt_cut_off_by_a_crash_is_unknown_and_marked(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let message = make.message(&chat("tg", "1"), 2);
    store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    world.close(store).await;

    let store = world.open().await;
    assert!(
        claim(&store, at(50), 10).await.is_empty(),
        "not before it was recovered"
    );
    assert_eq!(recover(&store, at(50)).await, 1);
    let row = store.show(message.id).await.expect("show").expect("there");
    assert_eq!(row.parts[0].state, PartState::Unknown);
    assert!(row.parts[0].may_be_repeat);
    assert_eq!(
        row.parts[0].attempts[0].ended_at, None,
        "nobody knows how it ended"
    );
    assert_eq!(row.parts[0].attempts[0].outcome, None);
    assert_eq!(row.parts[1].state, PartState::Queued);
    let claimed = claim(&store, at(50), 10).await;
    assert_eq!(claimed.len(), 1);
    assert_eq!(
        (claimed[0].part, claimed[0].came_from, claimed[0].attempt),
        (1, PartState::Unknown, 2)
    );
    assert!(claimed[0].may_be_repeat);

    // An unknown end waits until it has settled, and the mark stays for good.
    store
        .settle(unknown(&claimed[0], at(51), at(2_051)))
        .await
        .expect("settle");
    assert!(claim(&store, at(2_050), 10).await.is_empty());
    let claimed = claim(&store, at(2_051), 10).await;
    assert!(claimed[0].may_be_repeat);
    store
        .settle(retry(&claimed[0], at(2_052), at(3_000), true))
        .await
        .expect("settle");
    assert!(claim(&store, at(3_000), 10).await[0].may_be_repeat);
    world.close(store).await;
}

pub async fn a_dead_part_and_its_notice_are_written_together(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let message = make.message(&here, 3);
    let claimed = store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    let second = store
        .settle(sent(&claimed[0], at(1)))
        .await
        .expect("settle");
    let notice = || make.with(Waybill::about(&message.waybill), MessageKind::Notice, 1);

    // A notice that can't be stored takes the death back with it.
    let mut broken = notice();
    broken.id = message.id;
    store
        .settle(dead(&second[0], at(2), false, Some(broken)))
        .await
        .expect_err("an id that is taken");
    let row = store.show(message.id).await.expect("show").expect("there");
    assert_eq!(row.parts[1].state, PartState::Sending);

    let word = notice();
    let next = store
        .settle(dead(&second[0], at(2), false, Some(word.clone())))
        .await
        .expect("settle");
    assert_eq!(next.len(), 1, "the lane moves on");
    assert_eq!((next[0].message, next[0].part), (message.id, 3));
    let row = store.show(message.id).await.expect("show").expect("there");
    let states: Vec<_> = row.parts.iter().map(|part| part.state).collect();
    assert_eq!(
        states,
        [PartState::Sent, PartState::Failed, PartState::Sending]
    );
    let told = store.settle(sent(&next[0], at(3))).await.expect("settle");
    assert_eq!(
        told[0].message, word.id,
        "the notice comes behind what waited before it"
    );
    world.close(store).await;
}

pub async fn a_dead_chat_takes_all_that_waits_there_with_it(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let (gone, home) = (chat("tg", "1"), chat("tg", "7"));
    let messages = vec![
        make.message(&gone, 2),
        make.message(&gone, 1),
        make.message(&chat("tg", "2"), 2),
    ];
    let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
    let claimed = store.enqueue(messages, at(0)).await.expect("enqueue");
    let notice = make.message(&home, 1);
    let word = notice.id;
    let next = store
        .settle(dead(&claimed[0], at(1), true, Some(notice)))
        .await
        .expect("settle");
    assert_eq!(
        next.iter().map(|part| part.message).collect::<Vec<_>>(),
        [word],
        "claimed at birth elsewhere"
    );
    for id in &ids[..2] {
        let row = store.show(*id).await.expect("show").expect("there");
        for part in row.parts {
            assert_eq!(part.state, PartState::Failed);
            assert_eq!(part.fault.expect("a fault").text, "refused");
        }
    }
    let other = store.show(ids[2]).await.expect("show").expect("there");
    assert_eq!(
        other.parts[0].state,
        PartState::Sending,
        "another chat is untouched"
    );
    assert_eq!(
        store
            .enqueue(vec![make.message(&gone, 1)], at(2))
            .await
            .expect("enqueue")
            .len(),
        1,
        "it may come back"
    );
    world.close(store).await;
}

pub async fn a_late_end_is_kept_as_evidence_and_changes_nothing(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let message = make.message(&chat("tg", "1"), 2);
    let first = store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    recover(&store, at(10)).await;
    let late = store
        .settle(dead(
            &first[0],
            at(11),
            true,
            Some(make.message(&chat("tg", "2"), 1)),
        ))
        .await;
    assert!(late.expect("settle").is_empty());
    let row = store.show(message.id).await.expect("show").expect("there");
    assert_eq!(row.parts[0].state, PartState::Unknown, "no state changes");
    assert_eq!(row.parts[1].state, PartState::Queued);
    assert_eq!(
        row.parts[0].attempts[0].ended_at,
        Some(at(11)),
        "but the end is kept"
    );
    assert_eq!(
        row.parts[0].attempts[0].outcome.as_deref(),
        Some("perm_chat")
    );
    assert_eq!(
        store.list(ListFilter::default()).await.expect("list").len(),
        1,
        "no notice either"
    );

    let second = claim(&store, at(12), 10).await;
    assert!(
        store
            .settle(sent(&first[0], at(13)))
            .await
            .expect("settle")
            .is_empty()
    );
    let row = store.show(message.id).await.expect("show").expect("there");
    assert_eq!(
        row.parts[0].state,
        PartState::Sending,
        "the second attempt is the running one"
    );
    assert_eq!(
        row.parts[0].attempts[0].outcome.as_deref(),
        Some("perm_chat"),
        "the first word stays"
    );
    let next = store
        .settle(sent(&second[0], at(14)))
        .await
        .expect("settle");
    assert_eq!(next[0].part, 2);
    assert!(
        store
            .settle(sent(&second[0], at(15)))
            .await
            .expect("settle")
            .is_empty(),
        "an end counts once"
    );
    let row = store.show(message.id).await.expect("show").expect("there");
    assert_eq!(row.parts[0].receipt, Some(Receipt::new("r1")));
    assert_eq!(row.parts[0].attempts[1].ended_at, Some(at(14)));
    world.close(store).await;
}

pub async fn a_chat_that_moved_takes_its_messages_along_in_order(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let (old, new) = (chat("tg", "1"), chat("tg", "-1001"));
    let messages = vec![make.message(&old, 2), make.message(&old, 1)];
    let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
    let claimed = store.enqueue(messages, at(0)).await.expect("enqueue");
    let mut next = store
        .settle(moved(&claimed[0], at(1), &new))
        .await
        .expect("settle");
    store
        .enqueue(vec![make.message(&new, 1)], at(2))
        .await
        .expect("enqueue");
    // Who does not know yet that the chat moved still writes to the old one.
    let later = make.message(&old, 1);
    let last = later.id;
    assert!(
        store
            .enqueue(vec![later], at(3))
            .await
            .expect("enqueue")
            .is_empty()
    );

    world.close(store).await;
    let store = world.open().await;
    let mut seen = Vec::new();
    while let Some(part) = next.pop() {
        assert_eq!(part.waybill.chat(), &new);
        seen.push((part.message, part.part));
        next = store.settle(sent(&part, at(4))).await.expect("settle");
    }
    assert_eq!(seen.len(), 5);
    assert_eq!(&seen[..3], [(ids[0], 1), (ids[0], 2), (ids[1], 1)]);
    assert_eq!(seen[4].0, last);
    let row = store.show(ids[0]).await.expect("show").expect("there");
    assert_eq!(row.waybill.chat(), &old, "the waybill stays as it was made");
    assert_eq!(row.parts[0].attempts.len(), 2);

    // Another account never carries it.
    let claimed = store
        .enqueue(vec![make.message(&chat("tg", "5"), 1)], at(5))
        .await
        .expect("enqueue");
    assert!(
        store
            .settle(moved(&claimed[0], at(6), &chat("web", "5")))
            .await
            .expect("settle")
            .is_empty()
    );
    let due = next_due(&store, at(6)).await.expect("it waits");
    let again = claim(&store, due, 10).await;
    assert_eq!(again[0].waybill.chat(), &chat("tg", "5"));
    world.close(store).await;
}
