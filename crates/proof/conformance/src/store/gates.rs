//! Who may not go yet is never on the wire, and nobody looks for what can't be found.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use outbox::{Claimed, OutboxStore as _, PartState, Pass, Turnstile, Waiting};
use waybill::{AccountId, ChatKey, Timestamp};

use super::World;
use super::make::{Maker, at, chat, claim, next_due, recover, revoked, sent, unknown, unreachable};

/// Lets through what a test wants.
#[derive(Default)]
struct Porter {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    places: usize,
    taken: usize,
    windows: HashMap<String, Timestamp>,
    account: Option<Timestamp>,
}

impl Porter {
    fn with_places(places: usize) -> Arc<Self> {
        let porter = Self::default();
        porter.state().places = places;
        Arc::new(porter)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, conversation: &str, until: Timestamp) {
        self.state().windows.insert(conversation.to_owned(), until);
    }

    fn ended(&self) {
        self.state().taken -= 1;
    }

    fn taken(&self) -> usize {
        self.state().taken
    }
}

impl Turnstile for Porter {
    fn room(&self, _account: &AccountId, now: Timestamp) -> (usize, Option<Timestamp>) {
        let state = self.state();
        match state.account {
            Some(opens) if opens > now => (0, Some(opens)),
            Some(_) | None => (state.places - state.taken, None),
        }
    }

    fn pass(&self, chat: &ChatKey, now: Timestamp) -> Pass {
        let mut state = self.state();
        if state.taken == state.places {
            return Pass::Full;
        }
        let opens = state.windows.get(chat.conversation.as_str()).copied();
        let opens = opens.max(state.account).filter(|opens| *opens > now);
        if let Some(opens) = opens {
            return Pass::NotBefore(opens);
        }
        state.taken += 1;
        Pass::Go
    }

    fn undo(&self, _chat: &ChatKey) {
        self.state().taken -= 1;
    }
}

fn chats(claimed: &[Claimed]) -> Vec<&str> {
    let chats = claimed.iter().map(|part| part.waybill.chat());
    let mut names: Vec<&str> = chats.map(|chat| chat.conversation.as_str()).collect();
    names.sort_unstable();
    names
}

/// Nothing was stored that a claim would find.
async fn nobody_is_woken(store: &impl outbox::OutboxStore) {
    let woken = tokio::time::timeout(Duration::from_millis(50), store.changed()).await;
    assert!(woken.is_err(), "woken for nothing");
}

/// Takes up what was noted before.
async fn settle_down(store: &impl outbox::OutboxStore) {
    drop(tokio::time::timeout(Duration::from_millis(50), store.changed()).await);
}

pub async fn a_chat_whose_window_is_closed_waits_alone(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let porter = Porter::with_places(10);
    store.use_turnstile(Arc::clone(&porter) as Arc<dyn Turnstile>);
    porter.close("1", at(3_000));
    let all = vec![
        make.message(&chat("tg", "1"), 1),
        make.message(&chat("tg", "2"), 2),
    ];
    let waiting = all[0].id;
    let born = store.enqueue(all, at(0)).await.expect("enqueue");
    assert_eq!(chats(&born), ["2"]);
    let row = store.show(waiting).await.expect("show").expect("there");
    assert_eq!(
        (row.parts[0].state, row.parts[0].attempts.len()),
        (PartState::Queued, 0),
        "what may not go yet is no attempt"
    );
    settle_down(&store).await;
    let claims = store.claim(at(1), 10).await.expect("claim");
    assert_eq!((claims.parts, claims.waiting), (vec![], Waiting::None));
    assert_eq!(claims.next, Some(at(3_000)));
    nobody_is_woken(&store).await;
    // A receipt takes no call of a closed window either.
    porter.close("2", at(9_000));
    assert_eq!(
        store.settle(sent(&born[0], at(2))).await.expect("settle"),
        []
    );
    porter.ended();
    assert_eq!(next_due(&store, at(3)).await, Some(at(3_000)));
    assert_eq!(chats(&claim(&store, at(3_000), 10).await), ["1"]);
    assert_eq!(next_due(&store, at(3_001)).await, Some(at(9_000)));
    assert_eq!(chats(&claim(&store, at(9_000), 10).await), ["2"]);
    assert_eq!(porter.taken(), 2);
    world.close(store).await;
}

pub async fn what_waits_for_a_place_is_found_when_one_is_free(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let porter = Porter::with_places(2);
    store.use_turnstile(Arc::clone(&porter) as Arc<dyn Turnstile>);
    let all = (1..=4)
        .map(|n| make.message(&chat("tg", &n.to_string()), 1))
        .collect();
    let born = store.enqueue(all, at(0)).await.expect("enqueue");
    assert_eq!(chats(&born), ["1", "2"]);
    settle_down(&store).await;
    for ms in 1..4 {
        let claims = store.claim(at(ms), 10).await.expect("claim");
        assert_eq!((claims.parts, claims.waiting), (vec![], Waiting::Some));
        assert_eq!(claims.next, None, "time alone changes nothing");
        nobody_is_woken(&store).await;
    }
    assert_eq!(porter.taken(), 2);
    porter.ended();
    store.settle(sent(&born[0], at(5))).await.expect("settle");
    let claims = store.claim(at(5), 10).await.expect("claim");
    assert_eq!(
        (chats(&claims.parts), claims.waiting),
        (vec!["3"], Waiting::Some)
    );
    porter.ended();
    store.settle(sent(&born[1], at(6))).await.expect("settle");
    let claims = store.claim(at(6), 10).await.expect("claim");
    assert_eq!(
        (chats(&claims.parts), claims.waiting),
        (vec!["4"], Waiting::None)
    );
    world.close(store).await;
}

pub async fn an_account_whose_window_is_closed_says_when_it_opens(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let porter = Porter::with_places(10);
    store.use_turnstile(Arc::clone(&porter) as Arc<dyn Turnstile>);
    porter.state().account = Some(at(1_030));
    let born = store
        .enqueue(vec![make.message(&chat("tg", "1"), 1)], at(0))
        .await
        .expect("enqueue");
    assert_eq!(born, []);
    settle_down(&store).await;
    let claims = store.claim(at(10), 10).await.expect("claim");
    assert_eq!(
        (claims.next, claims.waiting),
        (Some(at(1_030)), Waiting::None)
    );
    nobody_is_woken(&store).await;
    assert_eq!(chats(&claim(&store, at(1_030), 10).await), ["1"]);
    world.close(store).await;
}

pub async fn a_place_is_given_back_if_the_claim_is_not_stored(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let porter = Porter::with_places(10);
    store.use_turnstile(Arc::clone(&porter) as Arc<dyn Turnstile>);
    let first = make.message(&chat("tg", "1"), 1);
    let taken = first.id;
    let born = store.enqueue(vec![first], at(0)).await.expect("enqueue");
    assert_eq!((born.len(), porter.taken()), (1, 1));
    let mut broken = make.message(&chat("tg", "3"), 1);
    broken.id = taken;
    store
        .enqueue(vec![make.message(&chat("tg", "2"), 1), broken], at(1))
        .await
        .expect_err("an id that is taken");
    assert_eq!(porter.taken(), 1, "its place is free again");
    let again = store
        .enqueue(vec![make.message(&chat("tg", "2"), 1)], at(2))
        .await
        .expect("enqueue");
    assert_eq!((again.len(), porter.taken()), (1, 2));
    world.close(store).await;
}

pub async fn after_a_rest_one_attempt_finds_out_for_all(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let all = (1..=4).map(|n| make.message(&chat("tg", &n.to_string()), 1));
    let born = store.enqueue(all.collect(), at(0)).await.expect("enqueue");
    for part in &born {
        store
            .settle(unreachable(part, at(1), at(15_000)))
            .await
            .expect("settle");
    }
    assert_eq!(next_due(&store, at(2)).await, Some(at(15_000)));
    let claims = store.claim(at(15_000), 10).await.expect("claim");
    let probe = claims.parts;
    assert_eq!(probe.len(), 1, "one finds out");
    for ms in [15_001, 20_000] {
        assert_eq!(claim(&store, at(ms), 10).await, []);
    }
    let born = store
        .enqueue(vec![make.message(&chat("tg", "9"), 1)], at(20_000))
        .await
        .expect("enqueue");
    assert_eq!(born, [], "not even a new chat");
    settle_down(&store).await;
    assert_eq!(
        store
            .settle(sent(&probe[0], at(20_001)))
            .await
            .expect("settle"),
        []
    );
    store.changed().await;
    let claimed = claim(&store, at(20_001), 10).await;
    assert_eq!(chats(&claimed).len(), 4, "then all go");
    for part in &claimed {
        store.settle(sent(part, at(20_002))).await.expect("settle");
    }
    assert_eq!(next_due(&store, at(20_003)).await, None);
    let depths = store.depths().await.expect("depths");
    assert_eq!(depths[0].resting_until, None);
    world.close(store).await;
}

pub async fn a_probe_that_fails_lets_the_account_rest_on(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let all = (1..=3)
        .map(|n| make.message(&chat("tg", &n.to_string()), 1))
        .collect();
    let born = store.enqueue(all, at(0)).await.expect("enqueue");
    for part in &born {
        store
            .settle(revoked(part, at(1), at(15_000)))
            .await
            .expect("settle");
    }
    let probe = claim(&store, at(15_000), 10).await;
    assert_eq!(probe.len(), 1);
    store
        .settle(revoked(&probe[0], at(15_100), at(30_100)))
        .await
        .expect("settle");
    assert_eq!(next_due(&store, at(30_099)).await, Some(at(30_100)));
    // Nobody knows whether this one was heard: it opens nothing, and holds up the others until it has settled.
    let probe = claim(&store, at(30_100), 10).await;
    assert_eq!(probe.len(), 1);
    store
        .settle(unknown(&probe[0], at(30_200), at(32_200)))
        .await
        .expect("settle");
    assert_eq!(
        next_due(&store, at(32_199)).await,
        Some(at(32_200)),
        "the next one goes as soon as this one has settled"
    );
    // Also after a restart it is one.
    world.close(store).await;
    let store = world.open().await;
    recover(&store, at(32_199)).await;
    assert_eq!(claim(&store, at(32_200), 10).await.len(), 1);
    world.close(store).await;
}
