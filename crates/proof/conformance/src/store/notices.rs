//! Words about what did not arrive: a few at once, the rest as one.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use outbox::{Claimed, MessageKind, NewMessage, OutboxStore as _, PartState};
use waybill::{MessageId, Waybill};

use super::World;
use super::make::{Maker, at, chat, claim, dead, next_due, profile, recover, retry, sent, words};

const STRETCH: i64 = 300_000;

/// A notice of a profile to the one home there is.
fn notice(make: &Maker, of: &str) -> NewMessage {
    let waybill = Waybill::operator(&profile(of), chat("web", "home"));
    make.with(waybill, MessageKind::Notice, 1)
}

/// A part of a chat of its own dies; returns it, its notice, and what was claimed.
async fn die(
    store: &impl outbox::OutboxStore,
    make: &Maker,
    n: usize,
    when: i64,
) -> (MessageId, NewMessage, Vec<Claimed>) {
    die_of(store, make, "default", n, when).await
}

async fn die_of(
    store: &impl outbox::OutboxStore,
    make: &Maker,
    of: &str,
    n: usize,
    when: i64,
) -> (MessageId, NewMessage, Vec<Claimed>) {
    let message = make.message_of(of, &chat("tg", &n.to_string()), 1);
    let id = message.id;
    let claimed = store
        .enqueue(vec![message], at(when))
        .await
        .expect("enqueue");
    let word = notice(make, of);
    let next = store
        .settle(dead(&claimed[0], at(when), false, Some(word.clone())))
        .await
        .expect("settle");
    (id, word, next)
}

async fn told_by(store: &impl outbox::OutboxStore, id: MessageId) -> Option<MessageId> {
    let row = store.show(id).await.expect("show").expect("there");
    row.parts[0].death.as_ref().expect("it died").notice
}

pub async fn three_come_at_once_and_the_rest_as_one_after_five_minutes(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    for n in 0..3 {
        let (id, word, next) = die(&store, &make, n, 10).await;
        assert_eq!(next.len(), 1, "notice {n} comes at once");
        assert_eq!(next[0].message, word.id);
        assert_eq!(told_by(&store, id).await, Some(word.id));
        store.settle(sent(&next[0], at(10))).await.expect("settle");
    }
    let (mut gathered, mut gone) = (Vec::new(), Vec::new());
    for n in 3..10 {
        let (id, word, next) = die(&store, &make, n, 20).await;
        assert_eq!(next, [], "notice {n} is gathered");
        assert_eq!(told_by(&store, id).await, None, "it is no message yet");
        gone.push(id);
        gathered.push(words(&word.parts[0].op).to_owned());
    }
    // Another lane's notices are not held up by these.
    let there = Waybill::operator(&profile("default"), chat("web", "other"));
    let other = make.message(&chat("tg", "99"), 1);
    let claimed = store.enqueue(vec![other], at(20)).await.expect("enqueue");
    let word = make.with(there, MessageKind::Notice, 1);
    let next = store
        .settle(dead(&claimed[0], at(20), false, Some(word.clone())))
        .await
        .expect("settle");
    assert_eq!(next[0].message, word.id);

    assert_eq!(next_due(&store, at(21)).await, Some(at(10 + STRETCH)));
    let one = claim(&store, at(10 + STRETCH), 10).await;
    assert_eq!(one.len(), 1);
    for id in gone {
        assert_eq!(told_by(&store, id).await, Some(one[0].message));
    }
    let text = words(&one[0].op);
    for line in &gathered[..5] {
        assert!(text.contains(line), "{text} lacks {line}");
    }
    assert!(text.contains("2 more"), "{text}");
    assert!(!text.contains(&gathered[5]), "{text}");
    store
        .settle(sent(&one[0], at(10 + STRETCH)))
        .await
        .expect("settle");
    assert_eq!(next_due(&store, at(11 + STRETCH)).await, None, "once");
    // That one counts as the first of the next stretch.
    for n in 10..12 {
        let (_, _, next) = die(&store, &make, n, 20 + STRETCH).await;
        store
            .settle(sent(&next[0], at(21 + STRETCH)))
            .await
            .expect("settle");
    }
    let (_, _, next) = die(&store, &make, 12, 22 + STRETCH).await;
    assert_eq!(next, []);
    // After a quiet stretch they come at once again.
    let later = 30 + 2 * STRETCH;
    let one = claim(&store, at(later), 10).await;
    store
        .settle(sent(&one[0], at(later)))
        .await
        .expect("settle");
    let (_, word, next) = die(&store, &make, 13, later + STRETCH).await;
    assert_eq!(next[0].message, word.id);
    world.close(store).await;
}

pub async fn a_notice_joins_one_that_was_not_sent_yet(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    // Home is busy: its head waits for its time.
    let busy = make.message(&chat("web", "home"), 1);
    let claimed = store.enqueue(vec![busy], at(0)).await.expect("enqueue");
    store
        .settle(retry(&claimed[0], at(1), at(1_000), true))
        .await
        .expect("settle");
    let (first, word, next) = die(&store, &make, 1, 2).await;
    assert_eq!(next, []);
    let (second, joining, next) = die(&store, &make, 2, 3).await;
    assert_eq!(next, []);
    assert_eq!(told_by(&store, first).await, Some(word.id));
    assert_eq!(
        told_by(&store, second).await,
        Some(word.id),
        "the one that it joined"
    );
    assert_eq!(store.show(joining.id).await.expect("show"), None);
    let mut seen = Vec::new();
    let mut next = claim(&store, at(1_000), 10).await;
    while let Some(part) = next.pop() {
        seen.push(words(&part.op).to_owned());
        next.extend(store.settle(sent(&part, at(1_001))).await.expect("settle"));
    }
    let both = format!(
        "{}\n\n{}",
        words(&word.parts[0].op),
        words(&joining.parts[0].op)
    );
    assert_eq!(seen[1..], [both]);

    // One that was on the wire, or may have been, is not changed any more: its repeat must be the same to the byte.
    let (_, word, next) = die(&store, &make, 3, 2_000).await;
    store
        .settle(retry(&next[0], at(2_001), at(3_000), true))
        .await
        .expect("settle");
    let (fourth, own, _) = die(&store, &make, 4, 2_002).await;
    assert_eq!(told_by(&store, fourth).await, Some(own.id));
    let row = store.show(word.id).await.expect("show").expect("there");
    assert_eq!(row.parts[0].op, word.parts[0].op);
    world.close(store).await;
}

pub async fn two_profiles_notices_never_mix(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let busy = make.message(&chat("web", "home"), 1);
    let claimed = store.enqueue(vec![busy], at(0)).await.expect("enqueue");
    store
        .settle(retry(&claimed[0], at(1), at(1_000), true))
        .await
        .expect("settle");
    // Of those that wait each joins its own profile's.
    let (_, ann, _) = die_of(&store, &make, "ann", 1, 2).await;
    let (_, bob, _) = die_of(&store, &make, "bob", 2, 2).await;
    let (anns, anns_word, _) = die_of(&store, &make, "ann", 3, 2).await;
    assert_eq!(told_by(&store, anns).await, Some(ann.id));
    let mut shown = Vec::new();
    let mut next = claim(&store, at(1_000), 10).await;
    while let Some(part) = next.pop() {
        shown.push((part.message, words(&part.op).to_owned()));
        next.extend(store.settle(sent(&part, at(1_001))).await.expect("settle"));
    }
    let both = [&ann, &anns_word].map(|word| words(&word.parts[0].op));
    assert_eq!(
        shown[1..],
        [
            (ann.id, both.join("\n\n")),
            (bob.id, words(&bob.parts[0].op).to_owned())
        ]
    );
    // So do those that are gathered.
    let (_, _, third) = die_of(&store, &make, "ann", 4, 1_002).await;
    store
        .settle(sent(&third[0], at(1_002)))
        .await
        .expect("settle");
    let mut words_of = Vec::new();
    for (n, of) in ["ann", "bob", "ann", "bob"].into_iter().enumerate() {
        let (_, word, next) = die_of(&store, &make, of, 5 + n, 1_003).await;
        assert_eq!(next, []);
        words_of.push(words(&word.parts[0].op).to_owned());
    }
    let mut shown = Vec::new();
    let mut next = claim(&store, at(2 + STRETCH), 10).await;
    while let Some(part) = next.pop() {
        let of = part.waybill.profile().as_str().to_owned();
        shown.push((of, words(&part.op).to_owned()));
        let sent = sent(&part, at(3 + STRETCH));
        next.extend(store.settle(sent).await.expect("settle"));
    }
    shown.sort();
    let two = |one: usize| format!("{}\n\n{}", words_of[one], words_of[one + 2]);
    assert_eq!(
        shown,
        [("ann".to_owned(), two(0)), ("bob".to_owned(), two(1))]
    );
    world.close(store).await;
}

pub async fn a_clock_that_was_set_back_keeps_no_gathered_notice(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let ahead = 1_000 * STRETCH;
    for n in 0..4 {
        let (_, _, next) = die(&store, &make, n, ahead).await;
        for part in &next {
            store.settle(sent(part, at(ahead))).await.expect("settle");
        }
    }
    let one = claim(&store, at(10), 10).await;
    assert_eq!(one.len(), 1, "it does not wait for that time to come again");
    world.close(store).await;
}

pub async fn what_would_lose_words_among_others_goes_alone(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let busy = make.message(&chat("web", "home"), 1);
    let claimed = store.enqueue(vec![busy], at(0)).await.expect("enqueue");
    store
        .settle(retry(&claimed[0], at(1), at(1_000), true))
        .await
        .expect("settle");
    let home = || Waybill::operator(&profile("default"), chat("web", "home"));
    let long = make.with(home(), MessageKind::Notice, 2);
    let message = make.message(&chat("tg", "1"), 1);
    let claimed = store.enqueue(vec![message], at(2)).await.expect("enqueue");
    let end = dead(&claimed[0], at(2), false, Some(long.clone()));
    store.settle(end).await.expect("settle");
    let (second, word, _) = die(&store, &make, 2, 3).await;
    assert_eq!(told_by(&store, second).await, Some(word.id));
    let row = store.show(long.id).await.expect("show").expect("there");
    let ops: Vec<_> = row.parts.iter().map(|part| &part.op).collect();
    let asked: Vec<_> = long.parts.iter().map(|part| &part.op).collect();
    assert_eq!(ops, asked, "both of its parts are as they were");
    world.close(store).await;
}

pub async fn gathered_notices_outlive_a_restart(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let mut last = Vec::new();
    for n in 0..5 {
        let (_, word, next) = die(&store, &make, n, 10).await;
        for part in &next {
            store.settle(sent(part, at(10))).await.expect("settle");
        }
        last.push(words(&word.parts[0].op).to_owned());
    }
    world.close(store).await;
    let store = world.open().await;
    recover(&store, at(20)).await;
    let (_, word, _) = die(&store, &make, 7, 30).await;
    last.push(words(&word.parts[0].op).to_owned());
    let one = claim(&store, at(10 + STRETCH), 10).await;
    assert_eq!(one.len(), 1);
    assert_eq!(words(&one[0].op), last[3..].join("\n\n"));
    assert_eq!(one[0].kind, MessageKind::Notice);
    let row = store
        .show(one[0].message)
        .await
        .expect("show")
        .expect("there");
    assert_eq!(row.state(), PartState::Sending);
    world.close(store).await;
}
