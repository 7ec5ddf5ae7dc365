//! What waits with its account, and when it goes.

use std::time::Duration;

use chat::{Fault, FaultKind, Grade};
use outbox::{
    Backoff, Channel, Claimed, Crash, Decision, Event, Gate, OtherForm, OutboxStore as _,
    PartState, Repeat, Settlement, Standing, decide,
};
use tidings_store_sqlite::Store;
use waybill::Timestamp;

use crate::place::{Place, id, message, now, settled};

fn after(seconds: u64) -> Timestamp {
    now().checked_add(Duration::from_secs(seconds)).unwrap()
}

fn settlement(part: &Claimed, at: Timestamp, kind: FaultKind, decision: Decision) -> Settlement {
    Settlement {
        message: part.message,
        part: part.part,
        attempt: part.attempt,
        at,
        fault: Some(Fault::new(kind, "…")),
        crash: Crash::No,
        decision,
        plainer: None,
        notice: None,
    }
}

#[tokio::test]
async fn parts_of_an_account_that_was_not_configured_go_at_its_first_good_sign() {
    for gate in [Gate::Lane, Gate::Account] {
        let place = Place::new();
        let store = Store::open(&place.options()).unwrap();
        let claimed = store
            .enqueue(vec![message(1, 1), message(2, 1), message(3, 2)], now())
            .await
            .unwrap();
        assert_eq!(claimed.len(), 2);
        for part in &claimed {
            let decision = Decision::Retry {
                at: after(60),
                counts: false,
                gate,
            };
            let end = settlement(part, now(), FaultKind::PermAccount, decision);
            assert!(store.settle(end).await.unwrap().is_empty());
        }
        store.close().await.unwrap();

        // The owner repairs the configuration and starts again.
        let store = Store::open(&place.options()).unwrap();
        store.recover(after(5), settled()).await.unwrap();
        let claims = store.claim(after(5), 10).await.unwrap();
        assert_eq!((claims.parts, claims.next), (vec![], Some(after(60))));
        store.open_account(&"tg".parse().unwrap()).await.unwrap();
        let woken = tokio::time::timeout(Duration::from_secs(5), store.changed()).await;
        assert!(woken.is_ok(), "nobody was woken");
        let mut going: Vec<_> = store
            .claim(after(5), 10)
            .await
            .unwrap()
            .parts
            .into_iter()
            .map(|part| (part.message, part.came_from, part.tries))
            .collect();
        going.sort_by_key(|(message, ..)| message.to_string());
        assert_eq!(
            going,
            [(id(1), PartState::Retry, 1), (id(3), PartState::Retry, 1)],
            "{gate:?}"
        );
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn what_could_not_be_sent_waits_longer_each_time_although_it_costs_no_try() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    let mut claimed = store.enqueue(vec![message(1, 1)], now()).await.unwrap();
    let mut at = now();
    let mut waits = Vec::new();
    for _ in 0..12 {
        let part = claimed.remove(0);
        assert_eq!(part.tries, 1);
        let standing = Standing {
            state: PartState::Sending,
            tries: part.tries,
            attempt: part.attempt,
            crashes: 1,
            silent: 1,
            kind: part.kind,
            other_form: OtherForm::None,
            repeat: Repeat::Shows,
            when_unknown: part.when_unknown,
            first_at: part.first_at,
            expires_at: part.expires_at,
        };
        let fault = Fault::new(FaultKind::NotSent, "…");
        let backoff = Backoff { seed: 7 };
        let channel = Channel {
            grade: Grade::Nothing,
            settle: Duration::ZERO,
        };
        let decision = decide(standing, Event::Faulted(fault), channel, backoff, at);
        store
            .settle(settlement(&part, at, FaultKind::NotSent, decision))
            .await
            .unwrap();
        let due = store.claim(at, 10).await.unwrap().next.unwrap();
        waits.push(due.duration_since(at).as_millis());
        at = due;
        claimed = store.claim(at, 10).await.unwrap().parts;
    }
    assert!(waits[0] <= 1_000 && waits[11] >= 7_500, "{waits:?} ms");
    store.close().await.unwrap();
}
