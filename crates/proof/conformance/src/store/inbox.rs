//! What people wrote is stored once, and before its platform is told.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use outbox::{MessageKind, OutboxStore as _};
use session::{Admission, InboxState, InboxStore as _, NewEvent};
use waybill::{SessionKey, Waybill};

use super::World;
use super::make::{Maker, account, at, chat, inbound};

fn heard(key: &str) -> NewEvent {
    NewEvent {
        key: key.to_owned(),
        raw: format!("raw {key}"),
        parsed: Ok(Some(inbound(&chat("tg", "1"), key))),
    }
}

pub async fn a_repeated_event_is_passed_over_also_after_a_restart(world: impl World) {
    let store = world.open().await;
    let tg = account("tg");
    let twice = vec![heard("a"), heard("b"), heard("a")];
    let (rows, counts) = store.accept(&tg, twice, None, at(0)).await.expect("accept");
    assert_eq!((counts.fresh, counts.repeated), (2, 1));
    let words: Vec<_> = rows
        .iter()
        .map(|row| row.inbound.as_ref().expect("words").text.as_str())
        .collect();
    assert_eq!(words, ["a", "b"]);
    assert!(
        rows[0].id < rows[1].id,
        "places grow in the order of arrival"
    );
    assert!(rows.iter().all(|row| row.state == InboxState::New));

    world.close(store).await;
    let store = world.open().await;
    let again = vec![heard("b"), heard("c")];
    let (rows, counts) = store.accept(&tg, again, None, at(5)).await.expect("accept");
    assert_eq!((rows.len(), counts.fresh, counts.repeated), (1, 1, 1));
    // The same key on another account is another event.
    let (_, counts) = store
        .accept(&account("web"), vec![heard("a")], None, at(6))
        .await
        .expect("accept");
    assert_eq!(counts.fresh, 1);
    assert_eq!(store.open_rows().await.expect("rows").len(), 4);
    world.close(store).await;
}

pub async fn what_concerns_nobody_or_makes_no_sense_is_kept_with_its_key(world: impl World) {
    let store = world.open().await;
    let tg = account("tg");
    let odd = || {
        vec![
            NewEvent {
                key: "n".to_owned(),
                raw: "{}".to_owned(),
                parsed: Ok(None),
            },
            NewEvent {
                key: "p".to_owned(),
                raw: "?".to_owned(),
                parsed: Err("no JSON".to_owned()),
            },
        ]
    };
    let (rows, counts) = store.accept(&tg, odd(), None, at(0)).await.expect("accept");
    assert!(rows.is_empty());
    assert_eq!(counts.fresh, 2);
    assert!(store.open_rows().await.expect("rows").is_empty());
    let (_, counts) = store.accept(&tg, odd(), None, at(0)).await.expect("accept");
    assert_eq!((counts.fresh, counts.repeated), (0, 2));
    world.close(store).await;
}

pub async fn the_cursor_moves_with_the_events(world: impl World) {
    let store = world.open().await;
    let tg = account("tg");
    assert_eq!(store.cursor(&tg).await.expect("cursor"), None);
    store
        .accept(&tg, vec![heard("a")], Some("41".to_owned()), at(0))
        .await
        .expect("accept");
    store
        .accept(&tg, Vec::new(), Some("42".to_owned()), at(0))
        .await
        .expect("accept");
    store
        .accept(&tg, vec![heard("b")], None, at(0))
        .await
        .expect("accept");
    world.close(store).await;
    let store = world.open().await;
    assert_eq!(
        store.cursor(&tg).await.expect("cursor").as_deref(),
        Some("42")
    );
    assert_eq!(store.cursor(&account("web")).await.expect("cursor"), None);
    world.close(store).await;
}

pub async fn a_decision_is_made_once(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let tg = account("tg");
    let events = vec![heard("a"), heard("b")];
    let (rows, _) = store
        .accept(&tg, events, None, at(0))
        .await
        .expect("accept");
    let scope = make.session(SessionKey::Chat(chat("tg", "1")));
    store
        .admit(rows[0].id, Admission::Admit(scope.clone()), at(1))
        .await
        .expect("admit");
    let nobody = Admission::Ignore {
        reason: "not on the list".to_owned(),
    };
    store.admit(rows[1].id, nobody, at(1)).await.expect("admit");

    world.close(store).await;
    let store = world.open().await;
    let open = store.open_rows().await.expect("rows");
    assert_eq!(open.len(), 1, "the ignored one is no longer open");
    assert_eq!(open[0].state, InboxState::Admitted);
    assert_eq!(open[0].session.as_ref(), Some(&scope));
    assert_eq!(open[0].account, tg);
    assert_eq!(open[0].at, at(0));
    // What was decided against is not taken up by a second decision.
    store
        .admit(rows[1].id, Admission::Admit(scope), at(2))
        .await
        .expect("admit");
    assert_eq!(store.open_rows().await.expect("rows").len(), 1);
    world.close(store).await;
}

pub async fn the_gateways_own_answer_is_stored_with_its_decision(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let here = chat("tg", "1");
    let (rows, _) = store
        .accept(&account("tg"), vec![heard("a")], None, at(0))
        .await
        .expect("accept");
    let scope = make.session(SessionKey::Chat(here));
    let waybill = Waybill::notice(&scope).expect("a chat");
    let tell = Admission::Tell {
        messages: vec![make.with(waybill, MessageKind::Reply, 1)],
    };
    let claimed = store
        .admit(rows[0].id, tell.clone(), at(1))
        .await
        .expect("admit");
    assert_eq!(claimed.len(), 1, "claimed at birth");
    assert!(store.open_rows().await.expect("rows").is_empty());
    let again = store.admit(rows[0].id, tell, at(1)).await.expect("admit");
    assert!(again.is_empty());
    assert_eq!(
        store
            .list(outbox::ListFilter::default())
            .await
            .expect("list")
            .len(),
        1
    );
    world.close(store).await;
}
