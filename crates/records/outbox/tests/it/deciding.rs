//! Every event of every part has one decision, and none of them loses or doubles it.

use std::time::Duration;

use chat::{Fault, FaultKind, Grade, Receipt, ThrottleScope};
use proptest::prelude::*;
use tidings_outbox::{
    Backoff, Decision, Event, Gate, MOST_TRIES, MessageKind, PartState, Standing, decide,
};
use waybill::{ChatKey, Conversation, Timestamp};

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn standing(tries: u32, expires_in: i64) -> Standing {
    Standing {
        state: PartState::Sending,
        tries,
        attempt: tries,
        kind: MessageKind::Reply,
        expires_at: Timestamp::from_second(1_800_000_000 + expires_in).unwrap(),
    }
}

fn elsewhere() -> ChatKey {
    ChatKey::new("bot".parse().unwrap(), Conversation::new("-1009").unwrap())
}

fn fault() -> impl Strategy<Value = FaultKind> {
    prop_oneof![
        Just(FaultKind::NotSent),
        (0_u64..1_000_000, 0_usize..3).prop_map(|(seconds, scope)| FaultKind::Throttled {
            after: Duration::from_secs(seconds),
            scope: [
                ThrottleScope::Part,
                ThrottleScope::Lane,
                ThrottleScope::Account
            ][scope],
        }),
        Just(FaultKind::TempReject),
        Just(FaultKind::PermItem),
        Just(FaultKind::PermChat),
        Just(FaultKind::PermAccount),
        Just(FaultKind::Moved { to: elsewhere() }),
        Just(FaultKind::Duplicate { receipt: None }),
        Just(FaultKind::Duplicate {
            receipt: Some(Receipt::new("7"))
        }),
        Just(FaultKind::NoChange),
        Just(FaultKind::Unknown),
    ]
}

fn grade() -> impl Strategy<Value = Grade> {
    prop_oneof![
        Just(Grade::Keyed),
        Just(Grade::Reconcilable),
        Just(Grade::TwoPhase),
        Just(Grade::Nothing)
    ]
}

fn after(kind: FaultKind, tries: u32) -> Decision {
    decide(
        standing(tries, 86_400),
        Event::Faulted(Fault::new(kind, "…")),
        Grade::Nothing,
        Backoff { seed: 7 },
        now(),
    )
}

/// How many attempts a part gets, and for how long, when each of them ends in the same trouble.
fn troubled(mut part: Standing, kind: FaultKind, grade: Grade, seed: u64) -> (u32, Duration) {
    let mut now = now();
    loop {
        let fault = Event::Faulted(Fault::new(kind.clone(), "…"));
        let attempts = part.attempt;
        let mut decision = decide(part, fault, grade, Backoff { seed }, now);
        if let Decision::Retry { at, .. } | Decision::Unknown { at } = decision {
            now = at;
            part.tries += 1;
            part.attempt += 1;
            if kind == FaultKind::Unknown {
                decision = decide(part, Event::Settled, grade, Backoff { seed }, now);
            }
        }
        if let Decision::Dead { .. } = decision {
            let lasted = now.duration_since(self::now());
            return (attempts, Duration::try_from(lasted).unwrap());
        }
    }
}

proptest! {
    #[test]
    fn only_what_is_there_is_called_sent(kind in fault(), grade in grade(), tries in 1_u32..20, seed in any::<u64>()) {
        let there = matches!(kind, FaultKind::Duplicate { .. } | FaultKind::NoChange);
        let decision = decide(standing(tries, 86_400), Event::Faulted(Fault::new(kind, "…")), grade, Backoff { seed }, now());
        let sent = matches!(decision, Decision::Sent { .. });
        prop_assert_eq!(sent, there);
    }

    #[test]
    fn a_part_is_given_up_for_a_reason_alone(
        kind in fault(), grade in grade(), tries in 1_u32..20, seed in any::<u64>(), notice in any::<bool>(),
    ) {
        let refused = matches!(kind, FaultKind::PermItem | FaultKind::PermChat);
        let worn_out = matches!(kind, FaultKind::TempReject) && tries >= MOST_TRIES && !notice;
        let too_late = matches!(kind, FaultKind::Throttled { after, .. } if after >= Duration::from_secs(86_400));
        let part = Standing { kind: if notice { MessageKind::Notice } else { MessageKind::Reply }, ..standing(tries, 86_400) };
        let decision = decide(part, Event::Faulted(Fault::new(kind, "…")), grade, Backoff { seed }, now());
        let dead = matches!(decision, Decision::Dead { .. });
        prop_assert_eq!(dead, refused || worn_out || too_late);
    }

    #[test]
    fn a_platform_that_says_wait_is_obeyed_and_it_costs_no_try(seconds in 0_u64..80_000, tries in 1_u32..20) {
        let wait = Duration::from_secs(seconds);
        let decision = after(FaultKind::Throttled { after: wait, scope: ThrottleScope::Lane }, tries);
        prop_assert_eq!(decision, Decision::Retry { at: now().checked_add(wait).unwrap(), counts: false, gate: Gate::Lane });
    }

    #[test]
    fn what_nobody_knows_stays_unknown_until_it_settled(grade in grade(), tries in 1..=MOST_TRIES, seed in any::<u64>()) {
        let unknown = decide(standing(tries, 86_400), Event::Faulted(Fault::new(FaultKind::Unknown, "…")), grade, Backoff { seed }, now());
        let waits = matches!(unknown, Decision::Unknown { at } if at >= now() + Duration::from_secs(2));
        prop_assert!(waits);
        let marked = grade != Grade::Keyed;
        let settled = decide(standing(tries, 86_400), Event::Settled, grade, Backoff { seed }, now());
        prop_assert_eq!(settled, Decision::Resend { marked });
    }

    #[test]
    fn an_answer_outlasts_four_minutes_of_a_platforms_trouble_and_then_somebody_is_told(
        grade in grade(), seed in any::<u64>(), lost in any::<bool>(),
    ) {
        let (attempts, lasted) = troubled(standing(1, 86_400), if lost { FaultKind::Unknown } else { FaultKind::TempReject }, grade, seed);
        prop_assert_eq!(attempts, MOST_TRIES);
        let (least, most) = (Duration::from_secs(240), Duration::from_secs(1_800));
        prop_assert!(lasted >= least && lasted <= most, "{:?}", lasted);
    }

    #[test]
    fn a_notice_is_tried_until_it_is_too_old(grade in grade(), seed in any::<u64>(), lost in any::<bool>()) {
        let notice = Standing { kind: MessageKind::Notice, ..standing(1, 86_400) };
        let (attempts, lasted) = troubled(notice, if lost { FaultKind::Unknown } else { FaultKind::TempReject }, grade, seed);
        prop_assert!(attempts > 10 * MOST_TRIES, "{}", attempts);
        prop_assert!(lasted >= Duration::from_secs(86_000), "{:?}", lasted);
    }

    #[test]
    fn a_network_that_stays_away_is_tried_less_and_less_but_twice_a_minute(seed in any::<u64>(), attempt in 6_u32..100_000) {
        let wait = |attempt| {
            let part = Standing { attempt, ..standing(1, 86_400) };
            match decide(part, Event::Faulted(Fault::new(FaultKind::NotSent, "…")), Grade::Nothing, Backoff { seed }, now()) {
                Decision::Retry { at, counts: false, gate: Gate::Lane } => Duration::try_from(at.duration_since(now())).unwrap(),
                other @ (Decision::Sent { .. } | Decision::Retry { .. } | Decision::Unknown { .. } | Decision::Resend { .. }
                | Decision::Redirect { .. } | Decision::Dead { .. }) => panic!("{other:?}"),
            }
        };
        prop_assert!(wait(1) <= Duration::from_secs(1));
        let later = wait(attempt);
        prop_assert!(later >= Duration::from_millis(7_500) && later <= Duration::from_secs(30), "{:?}", later);
    }
}

#[test]
fn each_fault_has_the_action_that_the_documentation_names() {
    let gate = |decision: &Decision| match decision {
        Decision::Retry { gate, counts, .. } => Some((*gate, *counts)),
        Decision::Sent { .. }
        | Decision::Unknown { .. }
        | Decision::Resend { .. }
        | Decision::Redirect { .. }
        | Decision::Dead { .. } => None,
    };
    assert_eq!(
        gate(&after(FaultKind::NotSent, 1)),
        Some((Gate::Lane, false))
    );
    assert_eq!(
        gate(&after(FaultKind::TempReject, 1)),
        Some((Gate::Lane, true))
    );
    assert_eq!(
        gate(&after(FaultKind::PermAccount, 1)),
        Some((Gate::Account, false))
    );
    assert_eq!(
        after(FaultKind::PermItem, 1),
        Decision::Dead {
            state: PartState::Failed,
            lane: false
        }
    );
    assert_eq!(
        after(FaultKind::PermChat, 1),
        Decision::Dead {
            state: PartState::Failed,
            lane: true
        }
    );
    assert_eq!(
        after(FaultKind::Moved { to: elsewhere() }, 1),
        Decision::Redirect { to: elsewhere() }
    );
}

#[test]
fn found_on_the_wire_at_the_start_it_is_unknown_at_once() {
    let decision = decide(
        standing(1, 10),
        Event::FoundAtStart,
        Grade::Nothing,
        Backoff { seed: 1 },
        now(),
    );
    assert_eq!(decision, Decision::Unknown { at: now() });
}

#[test]
fn what_would_come_too_late_expires_instead_of_waiting() {
    let event = Event::Faulted(Fault::new(
        FaultKind::Throttled {
            after: Duration::from_secs(60),
            scope: ThrottleScope::Lane,
        },
        "…",
    ));
    let decision = decide(
        standing(1, 30),
        event,
        Grade::Nothing,
        Backoff { seed: 1 },
        now(),
    );
    assert_eq!(
        decision,
        Decision::Dead {
            state: PartState::Expired,
            lane: false
        }
    );
}
