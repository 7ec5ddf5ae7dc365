//! What waits: it is counted before it is handled, changed in its place, taken into a turn once, and follows its chat.
#![allow(
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use chat::{Inbound, InboundKind};
use session::{
    Admission, Amended, Heard, InboxId, InboxRow, InboxStore as _, MOST_TAKES, NewEvent, Promised,
    SessionStore as _, Take, TakenIn, TurnStart,
};
use waybill::{Anchor, ChatKey, SessionKey, SessionScope};

use super::make::{Maker, account, at, chat, inbound, profile, said};
use super::{AnyStore, World};

fn words(row: &InboxRow) -> &str {
    row.inbound.as_ref().map_or("", |inbound| &inbound.text)
}

async fn hear<S: AnyStore>(store: &S, key: &str, said: Inbound) -> InboxRow {
    let event = NewEvent {
        key: key.to_owned(),
        raw: String::new(),
        parsed: Ok(Some(said)),
    };
    let heard = store.accept(&account("tg"), vec![event], None, at(0)).await;
    let (mut rows, _) = heard.expect("accept");
    rows.remove(0)
}

fn message(anchor: &str, text: &str) -> Inbound {
    Inbound {
        anchor: Anchor::new(anchor),
        ..inbound(&chat("tg", "1"), text)
    }
}

fn edit(anchor: &str, text: &str) -> Inbound {
    Inbound {
        kind: InboundKind::Edit,
        ..message(anchor, text)
    }
}

async fn session<S: AnyStore>(store: &S, make: &Maker, of: &ChatKey) -> SessionScope {
    let key = SessionKey::Chat(of.clone());
    store
        .current(&profile("default"), &key, make.session_id(), at(0))
        .await
        .expect("current")
}

async fn admit<S: AnyStore>(store: &S, row: &InboxRow, to: &SessionScope) {
    let admission = Admission::Admit(to.clone());
    store.admit(row.id, admission, at(1)).await.expect("admit");
}

fn start(make: &Maker, of: &SessionScope, inbox: Vec<Heard>) -> TurnStart {
    TurnStart {
        scope: make.turn(of, &chat("tg", "1")),
        inbox,
        before: Vec::new(),
        message: said("hello"),
        promised: Promised::default(),
        at: at(2),
    }
}

pub async fn an_event_is_handled_so_often_and_then_put_aside(world: impl World) {
    let mut store = world.open().await;
    let id = hear(&store, "a", message("7", "hello")).await.id;
    let next = hear(&store, "b", message("8", "hello")).await.id;
    // The first time is counted with its arrival; each later one by a run that may not live to say how it went.
    for _again in 1..MOST_TAKES {
        world.close(store).await;
        store = world.open().await;
        assert_eq!(store.take(id).await.expect("take"), Take::Go);
    }
    world.close(store).await;
    store = world.open().await;
    assert_eq!(store.open_rows().await.expect("rows")[0].taken, MOST_TAKES);
    assert_eq!(store.take(id).await.expect("take"), Take::No);
    assert_eq!(store.take(id).await.expect("take"), Take::No);
    let open = store.open_rows().await.expect("rows");
    assert_eq!(open.len(), 1, "only the other one is open");
    assert_eq!((open[0].id, open[0].taken), (next, 1));
    assert_eq!(store.poisoned().await.expect("count"), 1);
    world.close(store).await;
}

pub async fn what_was_handled_without_harm_is_not_counted(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let row = hear(&store, "a", message("7", "hello")).await;
    for _start in 0..5 {
        assert_eq!(store.take(row.id).await.expect("take"), Take::Go);
        store.release(row.id).await.expect("release");
    }
    let scope = session(&store, &make, &chat("tg", "1")).await;
    admit(&store, &row, &scope).await;
    assert_eq!(store.open_rows().await.expect("rows")[0].taken, 0);
    world.close(store).await;
}

pub async fn what_was_put_aside_is_told_once(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let odd = |key: &str| NewEvent {
        key: key.to_owned(),
        raw: "?".to_owned(),
        parsed: Err("no JSON".to_owned()),
    };
    let both = vec![odd("a"), odd("b")];
    let heard = store.accept(&account("tg"), both, None, at(0)).await;
    heard.expect("accept");
    let untold = store.untold(10).await.expect("untold");
    assert_eq!(untold.len(), 2);
    assert_eq!(untold[0].reason, "no JSON");
    assert_eq!(untold[0].account, account("tg"));
    let notice = make.message(&chat("web", "home"), 1);
    let first = vec![untold[0].id];
    let claimed = store.tell(first, vec![notice], at(1)).await.expect("tell");
    assert_eq!(claimed.len(), 1, "claimed at birth");

    world.close(store).await;
    let store = world.open().await;
    let untold = store.untold(10).await.expect("untold");
    assert_eq!(untold.len(), 1);
    assert_eq!(store.poisoned().await.expect("count"), 2);
    world.close(store).await;
}

pub async fn an_edit_of_what_waits_takes_its_place(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let scope = session(&store, &make, &chat("tg", "1")).await;
    let first = hear(&store, "a", message("7", "befor")).await;
    let second = hear(&store, "b", message("8", "after")).await;
    admit(&store, &first, &scope).await;
    let change = hear(&store, "c", edit("7", "before")).await;
    let said = edit("7", "before");
    let amended = store.amend(change.id, &said).await.expect("amend");
    assert!(matches!(amended, Amended::Settled(_)), "{amended:?}");

    world.close(store).await;
    let store = world.open().await;
    let open = store.open_rows().await.expect("rows");
    let seen: Vec<_> = open.iter().map(|row| (row.id, words(row))).collect();
    assert_eq!(seen, [(first.id, "before"), (second.id, "after")]);
    assert_eq!(open[0].version, 1);
    assert_eq!(
        open[0].inbound.as_ref().map(|said| &said.kind),
        Some(&InboundKind::Message),
        "it is still the message itself"
    );
    // Whoever read the old words does not begin with them.
    let stale = start(&make, &scope, vec![first.id.into()]);
    let began = store.begin_turn(stale).await.expect("begin");
    let TakenIn::Changed(rows) = began else {
        panic!("it began with words that were changed")
    };
    assert_eq!(words(&rows[0]), "before");
    assert!(store.running_turns().await.expect("turns").is_empty());
    let heard = Heard {
        id: first.id,
        version: 1,
    };
    let fresh = start(&make, &scope, vec![heard]);
    assert_eq!(store.begin_turn(fresh).await.expect("begin"), TakenIn::Yes);
    world.close(store).await;
}

pub async fn an_edit_that_changes_nothing_or_nothing_known_is_settled(world: impl World) {
    let store = world.open().await;
    hear(&store, "a", message("7", "hello")).await;
    for (key, said) in [("b", edit("7", "hello")), ("c", edit("9", "hello"))] {
        let row = hear(&store, key, said.clone()).await;
        let amended = store.amend(row.id, &said).await.expect("amend");
        assert!(matches!(amended, Amended::Settled(_)), "{amended:?}");
    }
    let open = store.open_rows().await.expect("rows");
    assert_eq!((open.len(), open[0].version), (1, 0));
    world.close(store).await;
}

pub async fn an_edit_after_the_turn_began_is_news_once(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let scope = session(&store, &make, &chat("tg", "1")).await;
    let first = hear(&store, "a", message("7", "befor")).await;
    let begin = start(&make, &scope, vec![first.id.into()]);
    assert_eq!(store.begin_turn(begin).await.expect("begin"), TakenIn::Yes);
    let news = hear(&store, "b", edit("7", "before")).await;
    let late = store.amend(news.id, &edit("7", "before")).await;
    assert_eq!(late.expect("amend"), Amended::TooLate);
    admit(&store, &news, &scope).await;
    // The same words again are nothing new; other words replace those that wait.
    let same = hear(&store, "c", edit("7", "before")).await;
    let amended = store.amend(same.id, &edit("7", "before")).await;
    assert!(matches!(amended, Ok(Amended::Settled(_))), "{amended:?}");
    let other = hear(&store, "d", edit("7", "Before!")).await;
    let amended = store.amend(other.id, &edit("7", "Before!")).await;
    assert!(matches!(amended, Ok(Amended::Settled(_))), "{amended:?}");
    let open = store.open_rows().await.expect("rows");
    assert_eq!(open.len(), 1);
    assert_eq!((open[0].id, words(&open[0])), (news.id, "Before!"));
    world.close(store).await;
}

pub async fn a_message_joins_a_running_turn_with_its_words_or_not_at_all(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let scope = session(&store, &make, &chat("tg", "1")).await;
    let first = hear(&store, "a", message("7", "one")).await;
    let second = hear(&store, "b", message("8", "two")).await;
    let begin = start(&make, &scope, vec![first.id.into()]);
    let turn = begin.scope.clone();
    store.begin_turn(begin).await.expect("begin");
    let promised = Promised {
        notes: vec!["a note".to_owned()],
        ..Promised::default()
    };
    let join = |version| {
        let heard = Heard {
            id: second.id,
            version,
        };
        store.take_in(&turn, vec![heard], vec![said("two")], &promised, at(3))
    };
    let stale = join(1).await.expect("take in");
    assert!(matches!(stale, TakenIn::Changed(rows) if rows.len() == 1));
    assert_eq!(store.transcript(scope.id()).await.expect("read").len(), 1);
    assert_eq!(join(0).await.expect("take in"), TakenIn::Yes);

    world.close(store).await;
    let store = world.open().await;
    assert!(store.open_rows().await.expect("rows").is_empty());
    let running = store.running_turns().await.expect("turns");
    assert_eq!(running[0].inbox, [first.id, second.id]);
    assert_eq!(running[0].promised, promised);
    assert_eq!(store.transcript(scope.id()).await.expect("read").len(), 2);
    // A second time it is not there to be had.
    let again = store.take_in(&turn, vec![second.id.into()], Vec::new(), &promised, at(4));
    assert_eq!(again.await.expect("take in"), TakenIn::Changed(Vec::new()));
    world.close(store).await;
}

async fn open_chat<S: AnyStore>(store: &S, id: InboxId) -> (ChatKey, Option<ChatKey>, u32) {
    let rows = store.open_rows().await.expect("rows");
    let row = rows.iter().find(|row| row.id == id).expect("it waits");
    let said = row.inbound.as_ref().expect("words").chat.clone();
    let session = row.session.as_ref();
    let session = session.and_then(|session| session.chat().cloned());
    (said, session, row.version)
}

pub async fn a_conversation_follows_its_chat_to_a_new_id(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let (old, new) = (chat("tg", "1"), chat("tg", "-1009"));
    let scope = session(&store, &make, &old).await;
    let elsewhere = session(&store, &make, &chat("tg", "2")).await;
    let waits = hear(&store, "a", message("7", "hello")).await;
    admit(&store, &waits, &scope).await;
    let undecided = hear(&store, "b", message("8", "hello")).await;
    let notice = || vec![make.message(&chat("web", "home"), 1)];
    let told = store.move_chat(&old, &new, notice(), at(5)).await;
    assert_eq!(told.expect("move").len(), 1);
    // The other side of the platform says the same.
    let again = store.move_chat(&old, &new, notice(), at(6)).await;
    assert!(again.expect("move").is_empty(), "the owner is told once");

    world.close(store).await;
    let store = world.open().await;
    for of in [&new, &old] {
        let now = session(&store, &make, of).await;
        assert_eq!(now.id(), scope.id(), "{of}: the same conversation goes on");
        assert_eq!(now.chat(), Some(&new));
    }
    let other = session(&store, &make, &chat("tg", "2")).await;
    assert_eq!(other, elsewhere);
    assert_eq!(
        open_chat(&store, waits.id).await,
        (new.clone(), Some(new.clone()), 1)
    );
    assert_eq!(
        open_chat(&store, undecided.id).await,
        (new.clone(), None, 1)
    );
    assert_eq!(
        store.former(&new).await.expect("former"),
        std::slice::from_ref(&old)
    );
    assert!(store.former(&old).await.expect("former").is_empty());
    let topic = new
        .clone()
        .in_thread(waybill::Thread::new("9").expect("a thread"));
    let before = store.former(&topic).await.expect("former");
    assert_eq!(before[0].to_string(), "tg:1:9");
    // On and back again: the chat's names are all known, and no circle comes of it.
    let third = chat("tg", "-3");
    store
        .move_chat(&new, &third, Vec::new(), at(7))
        .await
        .expect("move");
    assert_eq!(
        store.former(&third).await.expect("former"),
        [new.clone(), old.clone()]
    );
    assert_eq!(session(&store, &make, &old).await.id(), scope.id());
    store
        .move_chat(&third, &old, Vec::new(), at(8))
        .await
        .expect("move");
    assert_eq!(session(&store, &make, &new).await.chat(), Some(&old));
    world.close(store).await;
}
