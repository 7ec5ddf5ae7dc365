//! The whole history of a parcel can be read.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use chat::{FaultKind, Receipt};
use outbox::{ListFilter, OutboxStore as _, PartState};

use super::World;
use super::make::{Maker, account, at, chat, claim, dead, profile, retry, sent, unknown};

pub async fn a_parcels_whole_history_can_be_read(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let message = make.message(&chat("tg", "1"), 2);
    let first = store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    store
        .settle(retry(&first[0], at(1), at(2), true))
        .await
        .expect("settle");
    let second = claim(&store, at(2), 1).await;
    store
        .settle(unknown(&second[0], at(3), at(4)))
        .await
        .expect("settle");
    let third = claim(&store, at(4), 1).await;
    store.settle(sent(&third[0], at(5))).await.expect("settle");
    world.close(store).await;

    let store = world.open().await;
    let row = store.show(message.id).await.expect("show").expect("there");
    assert_eq!(
        (row.id, row.kind, &row.waybill),
        (message.id, message.kind, &message.waybill)
    );
    assert_eq!(
        (row.created_at, row.expires_at),
        (message.created_at, message.expires_at)
    );
    assert_eq!(row.parts.len(), 2);
    let part = &row.parts[0];
    assert_eq!(
        (part.n, &part.op, part.key),
        (1, &message.parts[0].op, message.parts[0].key)
    );
    assert_eq!(
        (part.state, part.tries, part.may_be_repeat),
        (PartState::Sent, 3, true)
    );
    assert_eq!(part.receipt, Some(Receipt::new("r1")));
    assert_eq!(part.fault, None, "it went well in the end");
    let history: Vec<_> = part
        .attempts
        .iter()
        .map(|attempt| {
            (
                attempt.n,
                attempt.started_at,
                attempt.ended_at,
                attempt.outcome.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        history,
        [
            (1, at(0), Some(at(1)), Some("temp_reject")),
            (2, at(2), Some(at(3)), Some("unknown")),
            (3, at(4), Some(at(5)), Some("sent")),
        ]
    );
    let detail = part.attempts[0].detail.as_deref().expect("words");
    assert!(
        detail.contains("503") && detail.contains("later"),
        "{detail}"
    );
    assert_eq!(row.parts[1].state, PartState::Sending);
    assert_eq!(
        store
            .show(make.message(&chat("tg", "1"), 1).id)
            .await
            .expect("show"),
        None
    );
    world.close(store).await;
}

pub async fn a_list_is_filtered_and_the_newest_comes_first(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let messages = vec![
        make.message_of("work", &chat("tg", "1"), 1),
        make.message_of("work", &chat("web", "1"), 2),
        make.message_of("home", &chat("tg", "2"), 1),
    ];
    let ids: Vec<_> = messages.iter().map(|message| message.id).collect();
    let claimed = store.enqueue(messages, at(0)).await.expect("enqueue");
    store
        .settle(dead(&claimed[1], at(1), false, None))
        .await
        .expect("settle");
    store
        .settle(retry(&claimed[2], at(1), at(9), true))
        .await
        .expect("settle");
    let listed = async |filter: ListFilter| -> Vec<_> {
        let rows = store.list(filter).await.expect("list");
        rows.into_iter().map(|row| row.id).collect()
    };
    let all = ListFilter::default();
    assert_eq!(listed(all.clone()).await, [ids[2], ids[1], ids[0]]);
    assert_eq!(
        listed(ListFilter {
            most: 2,
            ..all.clone()
        })
        .await,
        [ids[2], ids[1]]
    );
    let work = Some(profile("work").profile().clone());
    assert_eq!(
        listed(ListFilter {
            profile: work.clone(),
            ..all.clone()
        })
        .await,
        [ids[1], ids[0]]
    );
    let tg = Some(account("tg"));
    assert_eq!(
        listed(ListFilter {
            account: tg.clone(),
            ..all.clone()
        })
        .await,
        [ids[2], ids[0]]
    );
    let both = ListFilter {
        account: tg,
        profile: work,
        ..all.clone()
    };
    assert_eq!(listed(both).await, [ids[0]]);
    for (state, expected) in [
        (PartState::Failed, vec![ids[1]]),
        (PartState::Sending, vec![ids[1], ids[0]]),
        (PartState::Retry, vec![ids[2]]),
        (PartState::Sent, vec![]),
    ] {
        assert_eq!(
            listed(ListFilter {
                state: Some(state),
                ..all.clone()
            })
            .await,
            expected,
            "{state}"
        );
    }
    let rows = store
        .list(ListFilter {
            state: Some(PartState::Failed),
            ..all
        })
        .await
        .expect("list");
    let fault = rows[0].parts[0].fault.as_ref().expect("a fault");
    assert_eq!(
        (&fault.kind, fault.code.as_deref()),
        (&FaultKind::PermItem, Some("400"))
    );
    assert_eq!(rows[0].parts.len(), 2, "a listed message comes whole");
    world.close(store).await;
}
