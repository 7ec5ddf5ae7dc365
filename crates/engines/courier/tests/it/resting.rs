//! What waits because it can't be sent now.

use std::time::Duration;

use chat::FaultKind;
use outbox::{Decision, Gate, MessageKind};

use crate::world::{Setting, World, answering, chat, part, start};

#[tokio::test(start_paused = true)]
async fn a_part_of_an_account_that_is_not_configured_waits_a_minute_with_its_account() {
    let world = World::new(Setting::default());
    let end = world
        .end_of(part(MessageKind::Reply, chat("gone", "1")))
        .await;
    assert_eq!(
        end.decision,
        Decision::Retry {
            at: start().checked_add(Duration::from_secs(60)).unwrap(),
            counts: false,
            gate: Gate::Account,
        }
    );
    let fault = end.fault.unwrap();
    assert_eq!(
        fault.kind,
        FaultKind::PermAccount,
        "by this kind the account's first good sign finds it"
    );
    assert!(fault.text.contains("'gone' is not configured"));
    assert_eq!(end.notice, None);
}

#[tokio::test(start_paused = true)]
async fn a_network_that_is_away_for_long_is_tried_less_often() {
    let mut waits = Vec::new();
    for attempt in [1, 12] {
        let world = World::new(answering(FaultKind::NotSent));
        let mut part = part(MessageKind::Reply, chat("bot", "1"));
        part.attempt = attempt;
        let end = world.end_of(part).await;
        let Decision::Retry {
            at, counts: false, ..
        } = end.decision
        else {
            panic!("{:?}", end.decision);
        };
        waits.push(at.duration_since(start()).as_millis());
    }
    assert!(
        waits[0] <= 1_000 && (7_500..=30_000).contains(&waits[1]),
        "{waits:?} ms"
    );
}
