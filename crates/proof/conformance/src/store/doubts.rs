//! What nobody knows, what goes in several phases or in another form.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use std::collections::HashMap;
use std::time::Duration;

use chat::{Body, Op, RichText, Step, Way};
use outbox::{OutboxStore as _, PartState};

use super::World;
use super::make::{
    Maker, account, at, chat, claim, crashed, held, next_due, plainer, recover, retry, sent,
    stepped, unknown, words,
};

pub async fn what_a_crash_cut_off_waits_until_its_platform_must_be_done_with_it(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let all = vec![
        make.message(&chat("tg", "1"), 1),
        make.message(&chat("web", "1"), 1),
    ];
    let ids: Vec<_> = all.iter().map(|message| message.id).collect();
    assert_eq!(store.enqueue(all, at(0)).await.expect("enqueue").len(), 2);
    world.close(store).await;

    let store = world.open().await;
    let settle = HashMap::from([(account("tg"), Duration::from_millis(2_000))]);
    let found = store.recover(at(500), settle.clone()).await;
    assert_eq!(found.expect("recover"), 2);
    let now = claim(&store, at(500), 10).await;
    let now: Vec<_> = now.iter().map(|part| part.message).collect();
    assert_eq!(now, [ids[1]], "of an account that is not named, at once");
    assert_eq!(
        next_due(&store, at(1_999)).await,
        Some(at(2_000)),
        "from when the attempt began"
    );
    assert_eq!(claim(&store, at(2_000), 10).await.len(), 1);

    // With a clock that was set back by an hour it waits as long as the platform needs, and no longer.
    let found = store.recover(at(-3_600_000), settle).await;
    assert_eq!(found.expect("recover"), 2);
    let tg = claim(&store, at(-3_598_000), 10).await;
    assert_eq!(tg.len(), 2);
    world.close(store).await;
}

pub async fn a_part_that_is_held_lets_its_lane_go_on(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let message = make.message(&chat("tg", "1"), 2);
    let notice = make.message(&chat("web", "home"), 1);
    let word = notice.id;
    let claimed = store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    store
        .settle(unknown(&claimed[0], at(1), at(2)))
        .await
        .expect("settle");
    let again = claim(&store, at(2), 10).await;
    let next = store
        .settle(held(&again[0], at(3), Some(notice)))
        .await
        .expect("settle");
    let mut names: Vec<_> = next.iter().map(|part| (part.message, part.part)).collect();
    names.sort_unstable();
    let mut expected = [(message.id, 2), (word, 1)];
    expected.sort_unstable();
    assert_eq!(names, expected, "the next part, and the word to the owner");
    for part in &next {
        store.settle(sent(part, at(4))).await.expect("settle");
    }
    world.close(store).await;

    let store = world.open().await;
    recover(&store, at(5)).await;
    assert_eq!(
        next_due(&store, at(90_000_000)).await,
        None,
        "it waits for the owner alone"
    );
    let row = store.show(message.id).await.expect("show").expect("there");
    assert_eq!(row.parts[0].state, PartState::Held);
    assert!(row.parts[0].may_be_repeat);
    assert_eq!(row.parts[1].state, PartState::Sent);
    let death = row.parts[0].death.as_ref().expect("it is written down");
    assert_eq!((death.at, death.notice), (at(3), Some(word)));
    assert_eq!(death.resolved, None);
    let depths = store.depths().await.expect("depths");
    let tg = depths.iter().find(|depth| depth.account == account("tg"));
    assert_eq!(tg.expect("it has a queue").open.get("held"), Some(&1));
    world.close(store).await;
}

pub async fn a_step_is_durable_and_the_next_attempt_goes_on_from_it(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let mut message = make.message(&chat("tg", "1"), 2);
    message.parts[0].way = Way::Carried;
    let claimed = store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    assert_eq!((claimed[0].way, &claimed[0].step), (Way::Carried, &None));
    let next = store
        .settle(stepped(&claimed[0], at(1), "81"))
        .await
        .expect("settle");
    assert_eq!(next.len(), 1, "it goes on at once");
    assert_eq!(
        (next[0].part, next[0].attempt, next[0].tries, &next[0].step),
        (1, 2, 1, &Some(Step::new("81"))),
        "a step costs no try"
    );
    world.close(store).await;

    // Cut off while it is filled, it is filled again.
    let store = world.open().await;
    assert_eq!(recover(&store, at(2)).await, 1);
    let again = claim(&store, at(2), 10).await;
    assert_eq!(
        (again[0].part, again[0].attempt, &again[0].step),
        (1, 3, &Some(Step::new("81")))
    );
    let next = store.settle(sent(&again[0], at(3))).await.expect("settle");
    assert_eq!((next[0].part, next[0].way), (2, Way::Direct));
    let row = store.show(message.id).await.expect("show").expect("there");
    let outcomes: Vec<_> = row.parts[0]
        .attempts
        .iter()
        .map(|attempt| attempt.outcome.as_deref())
        .collect();
    assert_eq!(outcomes, [Some("step"), None, Some("sent")]);
    world.close(store).await;
}

pub async fn the_plainer_form_takes_the_parts_place_under_another_key(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let mut message = make.message(&chat("tg", "1"), 2);
    message.parts[0].way = Way::Carried;
    let claimed = store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    let stepped = store
        .settle(stepped(&claimed[0], at(1), "81"))
        .await
        .expect("settle");
    let plain = Op::Text(Body::Rich(RichText::plain("plain")));
    let next = store
        .settle(plainer(&stepped[0], at(2), plain.clone()))
        .await
        .expect("settle");
    assert_eq!(next.len(), 1);
    let form = &next[0];
    assert_eq!((form.part, &form.op, form.rendition), (1, &plain, 1));
    assert_eq!((form.way, &form.step), (Way::Direct, &None));
    assert_ne!(form.key, message.parts[0].key);
    assert!(
        !form.may_be_repeat,
        "the platform did not take the first form"
    );
    let next = store.settle(sent(form, at(3))).await.expect("settle");
    assert_eq!(
        (next[0].part, next[0].key),
        (2, message.parts[1].key),
        "in its place"
    );
    let row = store.show(message.id).await.expect("show").expect("there");
    assert_eq!((row.parts[0].rendition, row.parts[0].key), (1, form.key));
    assert_eq!(words(&row.parts[0].op), "plain");
    assert_eq!(row.parts[0].fault, None);
    world.close(store).await;
}

pub async fn crashes_are_counted_over_a_restart(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let message = make.message(&chat("tg", "1"), 1);
    let claimed = store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    assert_eq!(claimed[0].crashes, 0);
    store
        .settle(crashed(&claimed[0], at(1), at(2)))
        .await
        .expect("settle");
    world.close(store).await;
    let store = world.open().await;
    recover(&store, at(2)).await;
    let claimed = claim(&store, at(2), 10).await;
    assert_eq!(claimed[0].crashes, 1);
    store
        .settle(unknown(&claimed[0], at(3), at(4)))
        .await
        .expect("settle");
    let claimed = claim(&store, at(4), 10).await;
    assert_eq!(claimed[0].crashes, 1, "a lost answer is no crash of ours");
    let row = store.show(message.id).await.expect("show").expect("there");
    let outcomes: Vec<_> = row.parts[0]
        .attempts
        .iter()
        .map(|attempt| attempt.outcome.as_deref())
        .collect();
    assert_eq!(outcomes, [Some("crashed"), Some("unknown"), None]);
    world.close(store).await;
}

pub async fn of_messages_with_one_name_the_newest_wins(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let named = |chat: &waybill::ChatKey, name: &str| {
        let mut message = make.message(chat, 1);
        message.replaces = Some(name.to_owned());
        message
    };
    let all = vec![
        // On the wire.
        named(&here, "draft"),
        // Waits behind it.
        named(&here, "draft"),
        named(&here, "other"),
        named(&chat("tg", "2"), "draft"),
        make.message(&here, 1),
    ];
    let ids: Vec<_> = all.iter().map(|message| message.id).collect();
    let claimed = store.enqueue(all, at(0)).await.expect("enqueue");
    let newest = named(&here, "draft");
    let last = newest.id;
    assert_eq!(
        store.enqueue(vec![newest], at(1)).await.expect("enqueue"),
        []
    );
    let mut states = Vec::new();
    for id in &ids {
        states.push(store.show(*id).await.expect("show").expect("there").state());
    }
    assert_eq!(
        states,
        [
            PartState::Sending,
            PartState::Superseded,
            PartState::Queued,
            PartState::Sending,
            PartState::Queued,
        ]
    );
    // One that may have arrived is looked after to its end.
    store
        .settle(unknown(&claimed[0], at(2), at(3)))
        .await
        .expect("settle");
    let again = claim(&store, at(3), 10).await;
    store
        .settle(retry(&again[0], at(4), at(5), true))
        .await
        .expect("settle");
    let another = named(&here, "draft");
    let very_last = another.id;
    store.enqueue(vec![another], at(4)).await.expect("enqueue");
    let mut seen = Vec::new();
    let mut next = claim(&store, at(5), 10).await;
    while let Some(part) = next.pop() {
        seen.push(part.message);
        next.extend(store.settle(sent(&part, at(6))).await.expect("settle"));
    }
    assert_eq!(seen, [ids[0], ids[2], ids[4], very_last]);
    let row = store.show(last).await.expect("show").expect("there");
    assert_eq!(row.state(), PartState::Superseded);
    world.close(store).await;
}
