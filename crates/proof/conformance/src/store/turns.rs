//! A turn's end is one transaction with what people will see of it.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use model::Usage;
use outbox::{ListFilter, MessageKind, OutboxStore as _, PartState};
use session::window::Compaction;
use session::{
    Admission, InboxId, InboxStore as _, NewEvent, Promised, SessionStore as _, TurnCommit,
    TurnEnd, TurnStart,
};
use waybill::{ChatKey, SessionKey, TurnScope, Waybill};

use super::make::{Maker, account, answered, at, chat, inbound, profile, said};
use super::{AnyStore, World};

pub async fn a_conversation_has_one_running_stretch_until_it_is_reset(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let (owner, key) = (profile("default"), SessionKey::Chat(chat("tg", "1")));
    let first = store
        .current(&owner, &key, make.session_id(), at(0))
        .await
        .expect("current");
    let same = store
        .current(&owner, &key, make.session_id(), at(1))
        .await
        .expect("current");
    assert_eq!(first, same);
    let local = SessionKey::Local("x".to_owned());
    let (a, b) = tokio::join!(
        store.current(&owner, &local, make.session_id(), at(1)),
        store.current(&owner, &local, make.session_id(), at(1)),
    );
    assert_eq!(
        a.expect("current"),
        b.expect("current"),
        "two at once find one"
    );
    let fresh = make.session_id();
    let second = store.reset(&first, fresh, at(2)).await.expect("reset");
    assert_eq!(second.id(), fresh);
    assert_eq!(
        (second.key(), second.profile()),
        (first.key(), first.profile())
    );

    world.close(store).await;
    let store = world.open().await;
    let now = store
        .current(&owner, &key, make.session_id(), at(3))
        .await
        .expect("current");
    assert_eq!(now, second);
    world.close(store).await;
}

pub async fn a_profiles_conversation_is_not_another_profiles(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let key = SessionKey::Chat(chat("tg", "1"));
    let mine = store
        .current(&profile("work"), &key, make.session_id(), at(0))
        .await
        .expect("current");
    let other = store
        .current(&profile("home"), &key, make.session_id(), at(0))
        .await
        .expect("current");
    assert_ne!(mine.id(), other.id());
    assert_eq!(other.profile().as_str(), "home");
    world.close(store).await;
}

async fn begun<S: AnyStore>(
    store: &S,
    make: &Maker,
    here: &ChatKey,
    key: &str,
) -> (TurnScope, InboxId) {
    let event = NewEvent {
        key: key.to_owned(),
        raw: String::new(),
        parsed: Ok(Some(inbound(here, "hello"))),
    };
    let (rows, _) = store
        .accept(&account("tg"), vec![event], None, at(0))
        .await
        .expect("accept");
    let session = store
        .current(
            &profile("default"),
            &SessionKey::Chat(here.clone()),
            make.session_id(),
            at(0),
        )
        .await
        .expect("current");
    store
        .admit(rows[0].id, Admission::Admit(session.clone()), at(0))
        .await
        .expect("admit");
    let scope = make.turn(&session, here);
    let start = TurnStart {
        scope: scope.clone(),
        inbox: vec![rows[0].id.into()],
        before: Vec::new(),
        message: said("hello"),
        promised: promised("a file did not come through"),
        at: at(1),
    };
    store.begin_turn(start).await.expect("begin");
    (scope, rows[0].id)
}

fn promised(note: &str) -> Promised {
    Promised {
        notes: vec![note.to_owned()],
        ..Promised::default()
    }
}

fn ending(make: &Maker, scope: &TurnScope) -> TurnCommit {
    let waybill = Waybill::reply(scope).expect("a chat");
    TurnCommit {
        scope: scope.clone(),
        end: TurnEnd::Answered,
        transcript: vec![answered("hi")],
        outgoing: vec![make.with(waybill, MessageKind::Reply, 2)],
        spent: Vec::new(),
        usage: Usage {
            input: 10,
            cached: 4,
            output: 2,
        },
        at: at(9),
    }
}

pub async fn an_answer_is_visible_when_its_turn_is_committed_and_not_before(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let (scope, _) = begun(&store, &make, &here, "a").await;
    store
        .append(
            &scope,
            vec![answered("thinking")],
            &promised("thought of"),
            at(2),
        )
        .await
        .expect("append");
    assert!(
        store.open_rows().await.expect("rows").is_empty(),
        "a turn has it"
    );
    assert!(
        store
            .list(ListFilter::default())
            .await
            .expect("list")
            .is_empty()
    );
    assert_eq!(
        store.claim(at(99), 10).await.expect("claim").parts,
        Vec::new()
    );

    // A commit that can't be stored whole leaves nothing: the same message id under another source is refused.
    let good = ending(&make, &scope);
    let mut bad = ending(&make, &scope);
    let mut doubled = bad.outgoing[0].clone();
    doubled.source = "another step".to_owned();
    bad.outgoing.push(doubled);
    store
        .commit_turn(bad)
        .await
        .expect_err("two messages with one id");
    assert!(
        store
            .list(ListFilter::default())
            .await
            .expect("list")
            .is_empty()
    );
    let running = store.running_turns().await.expect("turns");
    assert_eq!(running.len(), 1);
    assert_eq!(
        running[0].promised,
        promised("thought of"),
        "a turn that is taken up again keeps what it promised"
    );
    assert_eq!(
        store
            .transcript(scope.session().id())
            .await
            .expect("transcript")
            .len(),
        2
    );

    let claimed = store.commit_turn(good).await.expect("commit");
    assert_eq!(claimed.len(), 1, "the first part is claimed at birth");
    assert_eq!(claimed[0].waybill.turn(), Some(scope.turn()));
    let rows = store.list(ListFilter::default()).await.expect("list");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].parts[0].state, PartState::Sending);
    assert_eq!(rows[0].parts[1].state, PartState::Queued);
    assert_eq!(
        store
            .transcript(scope.session().id())
            .await
            .expect("transcript")
            .len(),
        3
    );
    assert!(store.running_turns().await.expect("turns").is_empty());
    world.close(store).await;
}

pub async fn a_turn_ends_once(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let (scope, _) = begun(&store, &make, &here, "a").await;
    store
        .commit_turn(ending(&make, &scope))
        .await
        .expect("commit");
    let again = store
        .commit_turn(ending(&make, &scope))
        .await
        .expect("commit");
    assert!(again.is_empty());
    assert_eq!(
        store.list(ListFilter::default()).await.expect("list").len(),
        1
    );
    assert_eq!(
        store
            .transcript(scope.session().id())
            .await
            .expect("transcript")
            .len(),
        2
    );
    store
        .append(&scope, vec![answered("late")], &Promised::default(), at(20))
        .await
        .expect_err("the turn has ended");
    world.close(store).await;
}

pub async fn a_cut_off_turn_is_found_with_what_it_answers(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let (first, event) = begun(&store, &make, &here, "a").await;
    let (second, _) = begun(&store, &make, &here, "b").await;

    world.close(store).await;
    let store = world.open().await;
    let turns = store.running_turns().await.expect("turns");
    assert_eq!(turns.len(), 2);
    assert_eq!(
        (&turns[0].scope, &turns[1].scope),
        (&first, &second),
        "in the order in which they began"
    );
    assert_eq!(turns[0].inbox, vec![event]);
    assert_eq!(turns[0].inbound.as_ref().expect("the event").text, "hello");
    assert_eq!(turns[0].promised, promised("a file did not come through"));
    assert_eq!((turns[0].resumed, turns[0].started_at), (0, at(1)));
    assert!(
        store.open_rows().await.expect("rows").is_empty(),
        "their events are not taken up twice"
    );
    assert_eq!(store.count_resume(first.turn()).await.expect("count"), 1);
    assert_eq!(store.count_resume(first.turn()).await.expect("count"), 2);
    assert_eq!(store.running_turns().await.expect("turns")[0].resumed, 2);
    world.close(store).await;
}

pub async fn a_transcript_keeps_its_order_over_a_restart(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let (scope, _) = begun(&store, &make, &here, "a").await;
    for n in 0..5 {
        let messages = vec![answered(&format!("{n}a")), said(&format!("{n}b"))];
        store
            .append(&scope, messages, &Promised::default(), at(2 + n))
            .await
            .expect("append");
    }
    world.close(store).await;
    let store = world.open().await;
    let entries = store
        .transcript(scope.session().id())
        .await
        .expect("transcript");
    let mut expected = vec![said("hello")];
    for n in 0..5 {
        expected.extend([answered(&format!("{n}a")), said(&format!("{n}b"))]);
    }
    let messages: Vec<_> = entries.iter().map(|entry| entry.message.clone()).collect();
    assert_eq!(messages, expected);
    assert!(entries.iter().all(|entry| entry.turn == scope.turn()));
    let other = store
        .transcript(make.session_id())
        .await
        .expect("transcript");
    assert!(other.is_empty());
    world.close(store).await;
}

pub async fn a_summary_stands_for_what_was_said_before(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let (scope, _) = begun(&store, &make, &here, "a").await;
    let other = begun(&store, &make, &chat("tg", "2"), "b").await.0;
    let say = async |scope: &TurnScope, words: &[&str]| {
        let messages = words.iter().map(|words| said(words)).collect();
        store
            .append(scope, messages, &Promised::default(), at(2))
            .await
            .expect("append");
    };
    let shorten = async |scope: &TurnScope, kept, summary: &str| {
        let compaction = Compaction {
            kept,
            summary: summary.to_owned(),
            before: 100,
            after: 10,
        };
        store.compact(scope, compaction, at(3)).await
    };
    let words = async |scope: &TurnScope| -> Vec<_> {
        let session = scope.session().id();
        let entries = store.transcript(session).await.expect("transcript");
        entries.into_iter().map(|entry| entry.message).collect()
    };
    say(&scope, &["1", "2", "3"]).await;
    shorten(&scope, 2, "hello, 1").await.expect("compact");
    assert_eq!(
        words(&scope).await,
        [said("hello, 1"), said("2"), said("3")]
    );
    say(&scope, &["4"]).await;
    // It goes on, and the next summary stands for the first as well.
    shorten(&scope, 1, "hello to 3").await.expect("compact");
    assert_eq!(words(&scope).await, [said("hello to 3"), said("4")]);
    shorten(&scope, 0, "hello to 4").await.expect("compact");
    assert_eq!(words(&scope).await, [said("hello to 4")]);
    // More than there is changes nothing but the summary.
    shorten(&scope, 9, "all").await.expect("compact");
    say(&scope, &["5"]).await;
    assert_eq!(words(&scope).await, [said("all"), said("5")]);
    assert_eq!(words(&other).await, [said("hello")]);

    store
        .commit_turn(ending(&make, &scope))
        .await
        .expect("commit");
    shorten(&scope, 0, "late")
        .await
        .expect_err("the turn has ended");
    let before = words(&scope).await;
    world.close(store).await;
    let store = world.open().await;
    let entries = store
        .transcript(scope.session().id())
        .await
        .expect("transcript");
    let after: Vec<_> = entries.into_iter().map(|entry| entry.message).collect();
    assert_eq!(after, before);
    world.close(store).await;
}
