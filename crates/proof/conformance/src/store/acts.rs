//! What the owner wants with a parcel.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use outbox::{Acted, OutboxStore as _, PartState, Verb};
use waybill::MessageId;

use super::World;
use super::make::{
    Maker, at, chat, claim, dead, held, moved, next_due, recover, retry, sent, unknown,
};

const DAY: i64 = 86_400_000;

async fn act(
    store: &impl outbox::OutboxStore,
    id: MessageId,
    part: Option<u32>,
    verb: Verb,
    when: i64,
) -> Acted {
    let acted = store.act(id, part, verb, at(when)).await.expect("act");
    acted.expect("there is such a message")
}

pub async fn what_was_taken_back_is_never_sent(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let messages = vec![make.message(&here, 3), make.message(&here, 1)];
    let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
    let claimed = store.enqueue(messages, at(0)).await.expect("enqueue");
    let acted = act(&store, ids[0], None, Verb::Cancel, 1).await;
    assert_eq!(
        acted,
        Acted {
            changed: vec![(2, PartState::Cancelled), (3, PartState::Cancelled)],
            left: vec![(1, PartState::Sending)],
        },
        "what is on the wire can't be taken back"
    );
    // It fails for now: the owner takes it back before its time comes, and the gateway dies at once.
    store
        .settle(retry(&claimed[0], at(2), at(100), true))
        .await
        .expect("settle");
    act(&store, ids[0], Some(1), Verb::Cancel, 3).await;
    world.close(store).await;

    let store = world.open().await;
    assert_eq!(recover(&store, at(4)).await, 0);
    let mut seen = Vec::new();
    let mut next = claim(&store, at(200), 10).await;
    while let Some(part) = next.pop() {
        seen.push((part.message, part.part));
        next.extend(store.settle(sent(&part, at(200))).await.expect("settle"));
    }
    assert_eq!(seen, [(ids[1], 1)]);
    let row = store.show(ids[0]).await.expect("show").expect("there");
    assert!(
        row.parts
            .iter()
            .all(|part| part.state == PartState::Cancelled)
    );
    world.close(store).await;
}

pub async fn what_is_sent_again_goes_to_the_end_and_is_as_young_as_a_new_one(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let messages = vec![make.message(&here, 2), make.message(&here, 1)];
    let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
    let claimed = store.enqueue(messages, at(0)).await.expect("enqueue");
    store
        .settle(retry(&claimed[0], at(1), at(1), true))
        .await
        .expect("settle");
    let claimed = claim(&store, at(1), 10).await;
    let next = store
        .settle(dead(&claimed[0], at(1), false, None))
        .await
        .expect("settle");
    let acted = act(&store, ids[0], Some(1), Verb::Retry, DAY + 5).await;
    assert_eq!(acted.changed, [(1, PartState::Queued)]);
    let mut seen = Vec::new();
    let mut next = next;
    while let Some(part) = next.pop() {
        seen.push((part.message, part.part));
        if (part.message, part.part) == (ids[0], 1) {
            assert_eq!((part.tries, part.attempt), (1, 3), "all its tries are new");
            assert_eq!(part.expires_at, at(2 * DAY + 5));
            assert_eq!(part.came_from, PartState::Queued);
            assert!(!part.may_be_repeat, "it was refused");
        }
        next.extend(
            store
                .settle(sent(&part, at(DAY + 6)))
                .await
                .expect("settle"),
        );
    }
    assert_eq!(seen, [(ids[0], 2), (ids[1], 1), (ids[0], 1)]);

    // A lane that was idle is woken.
    let gone = make.message(&chat("tg", "2"), 1);
    let id = gone.id;
    let claimed = store.enqueue(vec![gone], at(0)).await.expect("enqueue");
    store
        .settle(dead(&claimed[0], at(1), true, None))
        .await
        .expect("settle");
    store.changed().await;
    act(&store, id, None, Verb::Retry, 2).await;
    store.changed().await;
    assert_eq!(claim(&store, at(2), 10).await[0].message, id);
    world.close(store).await;
}

pub async fn what_is_sent_again_goes_to_where_the_chat_lives_now(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let (old, new) = (chat("tg", "1"), chat("tg", "-1001"));
    let messages = vec![make.message(&old, 1), make.message(&old, 1)];
    let dead_one = messages[0].id;
    let claimed = store.enqueue(messages, at(0)).await.expect("enqueue");
    let next = store
        .settle(dead(&claimed[0], at(1), false, None))
        .await
        .expect("settle");
    let next = store
        .settle(moved(&next[0], at(2), &new))
        .await
        .expect("settle");
    store.settle(sent(&next[0], at(3))).await.expect("settle");
    act(&store, dead_one, None, Verb::Retry, 4).await;
    let again = claim(&store, at(4), 10).await;
    assert_eq!(
        (again[0].message, again[0].waybill.chat()),
        (dead_one, &new)
    );
    world.close(store).await;
}

pub async fn what_may_have_arrived_stays_unknown_when_it_is_sent_again(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let messages = vec![
        make.message(&chat("tg", "1"), 1),
        make.message(&chat("tg", "2"), 1),
    ];
    let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
    let claimed = store.enqueue(messages, at(0)).await.expect("enqueue");
    store
        .settle(unknown(&claimed[0], at(1), at(60_000)))
        .await
        .expect("settle");
    store
        .settle(held(&claimed[1], at(1), None))
        .await
        .expect("settle");
    let acted = act(&store, ids[0], None, Verb::Retry, 2).await;
    assert_eq!(acted.changed, [(1, PartState::Unknown)]);
    assert_eq!(
        next_due(&store, at(2)).await,
        Some(at(60_000)),
        "the platform may still be at work on it"
    );
    let again = claim(&store, at(60_000), 10).await;
    assert_eq!(again.len(), 1);
    assert_eq!(
        (again[0].came_from, again[0].may_be_repeat),
        (PartState::Unknown, true),
        "so that it is asked for, or marked"
    );
    world.close(store).await;
}

pub async fn what_was_seen_to_arrive_holds_its_lane_no_longer(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let message = make.message(&chat("tg", "1"), 2);
    let claimed = store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    store
        .settle(unknown(&claimed[0], at(1), at(60_000)))
        .await
        .expect("settle");
    assert_eq!(next_due(&store, at(2)).await, Some(at(60_000)));
    act(&store, message.id, Some(1), Verb::MarkSent, 2).await;
    let next = claim(&store, at(2), 10).await;
    assert_eq!(next[0].part, 2);
    store.settle(sent(&next[0], at(3))).await.expect("settle");
    let row = store.show(message.id).await.expect("show").expect("there");
    assert_eq!(row.state(), PartState::Sent);
    assert_eq!(row.parts[0].receipt, None, "nobody knows its id");
    world.close(store).await;
}

pub async fn what_was_done_about_a_death_is_written_down_until_it_dies_again(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let message = make.message(&chat("tg", "1"), 3);
    let mut claimed = store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    for n in 1..=3 {
        let end = if n == 3 {
            held(&claimed[0], at(n), None)
        } else {
            dead(&claimed[0], at(n), false, None)
        };
        claimed = store.settle(end).await.expect("settle");
    }
    act(&store, message.id, Some(1), Verb::MarkSent, 10).await;
    act(&store, message.id, Some(2), Verb::Retry, 11).await;
    act(&store, message.id, Some(3), Verb::Cancel, 12).await;
    let resolved = async |store: &_| -> Vec<_> {
        let row = outbox::OutboxStore::show(store, message.id).await;
        let row = row.expect("show").expect("there");
        let deaths = row.parts.into_iter().map(|part| part.death);
        deaths
            .map(|death| death.expect("it died").resolved)
            .collect()
    };
    let told = |verb: Verb, when| Some((verb.name().to_owned(), at(when)));
    assert_eq!(
        resolved(&store).await,
        [
            told(Verb::MarkSent, 10),
            told(Verb::Retry, 11),
            told(Verb::Cancel, 12),
        ]
    );
    let again = claim(&store, at(13), 10).await;
    store
        .settle(dead(&again[0], at(14), false, None))
        .await
        .expect("settle");
    assert_eq!(
        resolved(&store).await,
        [told(Verb::MarkSent, 10), None, told(Verb::Cancel, 12)],
        "what dies again waits for the owner again"
    );
    world.close(store).await;
}

pub async fn a_wish_that_can_not_be_done_changes_nothing(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let message = make.message(&chat("tg", "1"), 2);
    let claimed = store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    store
        .settle(sent(&claimed[0], at(1)))
        .await
        .expect("settle");
    let before = store.show(message.id).await.expect("show");
    for verb in Verb::ALL {
        let acted = act(&store, message.id, None, verb, 2).await;
        assert_eq!(acted.changed, []);
        assert_eq!(acted.left, [(1, PartState::Sent), (2, PartState::Sending)]);
    }
    assert_eq!(store.show(message.id).await.expect("show"), before);
    let nobody = make.message(&chat("tg", "1"), 1).id;
    for (id, part) in [(nobody, None), (nobody, Some(1)), (message.id, Some(3))] {
        let acted = store.act(id, part, Verb::Retry, at(3)).await.expect("act");
        assert_eq!(acted, None);
    }
    world.close(store).await;
}

pub async fn a_chat_that_was_told_to_wait_waits_though_its_part_is_taken_back_or_asked_for_again(
    world: impl World,
) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let messages = vec![make.message(&here, 1), make.message(&here, 1)];
    let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
    let claimed = store.enqueue(messages, at(0)).await.expect("enqueue");
    let mut wait = retry(&claimed[0], at(1), at(9_001), false);
    let after = std::time::Duration::from_secs(9);
    let scope = chat::ThrottleScope::Lane;
    wait.fault = Some(chat::Fault::new(
        chat::FaultKind::Throttled { after, scope },
        "too many",
    ));
    store.settle(wait).await.expect("settle");
    act(&store, ids[0], None, Verb::Retry, 2).await;
    assert_eq!(claim(&store, at(3), 10).await, []);
    act(&store, ids[0], None, Verb::Cancel, 4).await;
    assert_eq!(claim(&store, at(9_000), 10).await, []);
    assert_eq!(next_due(&store, at(9_000)).await, Some(at(9_001)));
    world.close(store).await;

    let store = world.open().await;
    assert_eq!(claim(&store, at(9_000), 10).await, []);
    let claimed = claim(&store, at(9_001), 10).await;
    assert_eq!(claimed[0].message, ids[1]);
    world.close(store).await;
}
