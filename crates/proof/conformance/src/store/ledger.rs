//! What models were used for is counted once, with the end of its turn.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use model::{Cost, Usage};
use session::{
    Admission, Day, Ledger as _, NewEvent, Promised, SessionStore as _, Spent, Total, TurnCommit,
    TurnEnd, TurnStart,
};
use waybill::{ProfileScope, SessionKey, Timestamp, TurnScope};

use super::make::{Maker, account, answered, at, chat, inbound, profile, said};
use super::{AnyStore, World};

/// A day in milliseconds.
const DAY: i64 = 86_400_000;

/// A running turn of a profile in a chat of its own.
async fn begun<S: AnyStore>(store: &S, make: &Maker, owner: &ProfileScope, key: &str) -> TurnScope {
    let here = chat("tg", key);
    let event = NewEvent {
        key: key.to_owned(),
        raw: "{}".to_owned(),
        parsed: Ok(Some(inbound(&here, "hello"))),
    };
    let (rows, _) = store
        .accept(&account("tg"), vec![event], None, at(0))
        .await
        .expect("accept");
    let session = store
        .current(
            owner,
            &SessionKey::Chat(here.clone()),
            make.session_id(),
            at(0),
        )
        .await
        .expect("current");
    let row = rows.first().expect("a row").id;
    store
        .admit(row, Admission::Admit(session.clone()), at(0))
        .await
        .expect("admit");
    let scope = make.turn(&session, &here);
    let start = TurnStart {
        scope: scope.clone(),
        inbox: vec![row.into()],
        before: Vec::new(),
        message: said("hello"),
        promised: Promised::default(),
        at: at(1),
    };
    store.begin_turn(start).await.expect("begin");
    scope
}

fn spent(route: &str, input: u64, cost: Option<u64>) -> Spent {
    Spent {
        route: route.to_owned(),
        calls: 2,
        unpriced: if cost.is_some() { 0 } else { 2 },
        usage: Usage {
            input,
            cached: 4,
            output: 1,
        },
        cost: cost.map(Cost),
    }
}

fn ending(scope: &TurnScope, spent: Vec<Spent>, when: Timestamp) -> TurnCommit {
    TurnCommit {
        scope: scope.clone(),
        end: TurnEnd::Answered,
        transcript: vec![answered("hi")],
        outgoing: Vec::new(),
        usage: Total::of(&spent).usage,
        spent,
        at: when,
    }
}

async fn total<S: AnyStore>(store: &S, of: &str, since: Timestamp) -> (u64, u64, u64, u64) {
    let total = store
        .spent(profile(of).profile(), since)
        .await
        .expect("spent");
    (total.calls, total.unpriced, total.usage.input, total.cost.0)
}

pub async fn what_a_turn_spent_is_in_the_ledger_when_its_end_is_stored_and_not_before(
    world: impl World,
) {
    let store = world.open().await;
    let make = Maker::default();
    let scope = begun(&store, &make, &profile("default"), "1").await;
    let so_far = Promised {
        spent: vec![spent("a/m", 10, Some(100))],
        ..Promised::default()
    };
    store
        .append(&scope, vec![answered("thinking")], &so_far, at(2))
        .await
        .expect("append");
    assert_eq!(total(&store, "default", at(0)).await, (0, 0, 0, 0));
    let running = store.running_turns().await.expect("turns");
    let promised = running.first().map(|turn| &turn.promised);
    assert_eq!(promised, Some(&so_far), "it is kept with the turn");

    let all = vec![spent("a/m", 30, Some(300)), spent("b/m", 5, None)];
    let commit = ending(&scope, all, at(3));
    store.commit_turn(commit.clone()).await.expect("commit");
    let expected = (4, 2, 35, 300);
    assert_eq!(total(&store, "default", at(0)).await, expected);
    // Said twice, it is counted once.
    store.commit_turn(commit).await.expect("passed over");
    assert_eq!(total(&store, "default", at(0)).await, expected);
    let session = scope.session().id();
    let of_session = store.session(session).await.expect("session");
    assert_eq!((of_session.calls, of_session.cost), (4, Cost(300)));

    world.close(store).await;
    let store = world.open().await;
    assert_eq!(total(&store, "default", at(0)).await, expected);
    assert_eq!(store.session(session).await.expect("session"), of_session);
    world.close(store).await;
}

pub async fn a_profile_reads_its_own_spending_since_a_day(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    for (key, of, when, cost) in [
        ("1", "default", at(0), 1),
        ("2", "default", at(DAY - 1), 10),
        ("3", "default", at(DAY), 100),
        ("4", "work", at(DAY), 1_000),
    ] {
        let scope = begun(&store, &make, &profile(of), key).await;
        let commit = ending(&scope, vec![spent("a/m", 1, Some(cost))], when);
        store.commit_turn(commit).await.expect("commit");
    }
    let cost = async |of, since| total(&store, of, since).await.3;
    assert_eq!(cost("default", at(0)).await, 111);
    // The whole day counts, whichever of its moments is given.
    assert_eq!(cost("default", at(DAY - 1)).await, 111);
    assert_eq!(cost("default", at(DAY)).await, 100);
    assert_eq!(cost("default", at(2 * DAY)).await, 0);
    assert_eq!(cost("work", at(0)).await, 1_000);
    assert_eq!(cost("nobody", at(0)).await, 0);
    world.close(store).await;
}

pub async fn the_ledger_is_listed_by_day_profile_and_model(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    for (key, of, when, route) in [
        ("1", "work", at(0), "b/m"),
        ("2", "default", at(0), "b/m"),
        ("3", "default", at(1), "a/m"),
        ("4", "default", at(2), "b/m"),
        ("5", "default", at(DAY), "a/m"),
    ] {
        let scope = begun(&store, &make, &profile(of), key).await;
        let commit = ending(&scope, vec![spent(route, 1, Some(7))], when);
        store.commit_turn(commit).await.expect("commit");
    }
    let listed = async |since| -> Vec<(Day, String, String, u64)> {
        let rows = store.rows(since).await.expect("rows");
        let row = |row: session::LedgerRow| {
            let profile = row.profile.as_str().to_owned();
            (row.day, profile, row.route, row.total.cost.0)
        };
        rows.into_iter().map(row).collect()
    };
    let row =
        |when, of: &str, route: &str, cost| (Day::of(when), of.to_owned(), route.to_owned(), cost);
    assert_eq!(
        listed(at(0)).await,
        [
            row(at(DAY), "default", "a/m", 7),
            row(at(0), "default", "a/m", 7),
            row(at(0), "default", "b/m", 14),
            row(at(0), "work", "b/m", 7),
        ]
    );
    assert_eq!(
        listed(at(DAY + 5)).await,
        [row(at(DAY), "default", "a/m", 7)]
    );
    world.close(store).await;
}

pub async fn an_end_that_can_not_be_stored_costs_nothing(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let scope = begun(&store, &make, &profile("default"), "1").await;
    let mut bad = ending(&scope, vec![spent("a/m", 1, Some(7))], at(3));
    // Two messages with one id, of two sources: refused.
    let first = make.message(&here, 1);
    let mut second = first.clone();
    second.source = "another".to_owned();
    bad.outgoing = vec![first, second];
    store.commit_turn(bad).await.expect_err("two with one id");
    assert_eq!(total(&store, "default", at(0)).await, (0, 0, 0, 0));
    let good = ending(&scope, vec![spent("a/m", 1, Some(7))], at(4));
    store.commit_turn(good).await.expect("commit");
    assert_eq!(total(&store, "default", at(0)).await.3, 7);
    world.close(store).await;
}
