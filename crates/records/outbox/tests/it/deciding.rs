//! Every event of every part has one decision, and none of them loses or doubles it.

use std::time::Duration;

use chat::{Fault, FaultKind, Found, Grade, Receipt, Step, ThrottleScope, WhenUnknown};
use proptest::prelude::*;
use tidings_outbox::{
    Backoff, Channel, Decision, Event, Gate, MOST_CRASHES, MOST_TRIES, MessageKind, OtherForm,
    PartState, Repeat, SILENT_ATTEMPTS, Standing, decide,
};
use waybill::{ChatKey, Conversation, Timestamp};

const SETTLE: Duration = Duration::from_secs(30);
const FAILED: Decision = Decision::Dead {
    state: PartState::Failed,
    lane: false,
};
const EXPIRED: Decision = Decision::Dead {
    state: PartState::Expired,
    lane: false,
};

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

/// A part whose first attempt began now, on its `tries`-th try.
fn standing(tries: u32, expires_in: i64) -> Standing {
    Standing {
        state: PartState::Sending,
        tries,
        attempt: tries,
        crashes: 1,
        silent: 1,
        kind: MessageKind::Reply,
        other_form: OtherForm::None,
        repeat: Repeat::Shows,
        when_unknown: WhenUnknown::Repeat,
        first_at: now(),
        expires_at: Timestamp::from_second(1_800_000_000 + expires_in).unwrap(),
    }
}

fn of(grade: Grade) -> Channel {
    Channel {
        grade,
        settle: SETTLE,
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
        Just(Grade::Keyed { window: None }),
        (1_u64..100_000).prop_map(|seconds| Grade::Keyed {
            window: Some(Duration::from_secs(seconds))
        }),
        Just(Grade::Reconcilable),
        Just(Grade::TwoPhase),
        Just(Grade::Nothing)
    ]
}

fn wish() -> impl Strategy<Value = WhenUnknown> {
    prop_oneof![Just(WhenUnknown::Repeat), Just(WhenUnknown::Hold)]
}

fn faulted(kind: FaultKind) -> Event {
    Event::Faulted(Fault::new(kind, "…"))
}

fn ask(part: Standing, event: Event, grade: Grade) -> Decision {
    decide(part, event, of(grade), Backoff { seed: 7 }, now())
}

fn after(kind: FaultKind, tries: u32) -> Decision {
    ask(standing(tries, 86_400), faulted(kind), Grade::Nothing)
}

/// How many attempts a part gets, and for how long, when each of them ends in the same trouble.
fn troubled(mut part: Standing, kind: &FaultKind, grade: Grade, seed: u64) -> (u32, Duration) {
    let mut now = now();
    loop {
        let attempts = part.attempt;
        let backoff = Backoff { seed };
        let mut decision = decide(part, faulted(kind.clone()), of(grade), backoff, now);
        if let Decision::Retry { at, .. } | Decision::Unknown { at } = decision {
            now = at;
            part.tries += 1;
            part.attempt += 1;
            if *kind == FaultKind::Unknown {
                decision = decide(part, Event::Settled, of(grade), backoff, now);
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
        let decision = decide(standing(tries, 86_400), faulted(kind), of(grade), Backoff { seed }, now());
        let sent = matches!(decision, Decision::Sent { .. });
        prop_assert_eq!(sent, there);
    }

    #[test]
    fn a_part_is_given_up_for_a_reason_alone(
        kind in fault(), grade in grade(), tries in 1_u32..20, seed in any::<u64>(), notice in any::<bool>(), plainer in any::<bool>(),
    ) {
        let refused = kind == FaultKind::PermChat || (kind == FaultKind::PermItem && !plainer);
        let worn_out = matches!(kind, FaultKind::TempReject | FaultKind::Moved { .. }) && tries >= MOST_TRIES && !notice;
        let too_late = matches!(kind, FaultKind::Throttled { after, .. } if after >= Duration::from_secs(86_400));
        let part = Standing {
            kind: if notice { MessageKind::Notice } else { MessageKind::Reply },
            other_form: if plainer { OtherForm::Left } else { OtherForm::None },
            ..standing(tries, 86_400)
        };
        let decision = decide(part, faulted(kind), of(grade), Backoff { seed }, now());
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
    fn what_nobody_knows_is_left_alone_until_the_platform_must_be_done_with_it(
        grade in grade(), tries in 1..=MOST_TRIES, seed in any::<u64>(), crash in any::<bool>(),
    ) {
        let event = if crash { Event::Crashed } else { faulted(FaultKind::Unknown) };
        let unknown = decide(standing(tries, 86_400), event, of(grade), Backoff { seed }, now());
        let waits = matches!(unknown, Decision::Unknown { at } if at >= now() + SETTLE && at <= now() + Duration::from_secs(300));
        prop_assert!(waits, "{:?}", unknown);
    }

    #[test]
    fn a_repeat_that_somebody_may_see_twice_is_marked_or_waits_for_the_owner(
        grade in grade(), wish in wish(), tries in 1..=MOST_TRIES, age in 0_i64..200_000, notice in any::<bool>(), carried in any::<bool>(),
    ) {
        let part = Standing {
            kind: if notice { MessageKind::Notice } else { MessageKind::Reply },
            repeat: if carried { Repeat::ShowsNothing } else { Repeat::Shows },
            when_unknown: wish,
            first_at: now() - Duration::from_secs(age.unsigned_abs()),
            ..standing(tries, 86_400)
        };
        let decision = ask(part, Event::Settled, grade);
        let refused = grade.refuses_repeats(Duration::from_secs(age.unsigned_abs()) + SETTLE);
        if carried || refused {
            prop_assert_eq!(decision, Decision::Resend { marked: false });
        } else if matches!(grade, Grade::Reconcilable | Grade::Keyed { .. }) {
            prop_assert_eq!(decision, Decision::Ask);
        } else if wish == WhenUnknown::Hold && !notice {
            prop_assert_eq!(decision, Decision::Hold);
        } else {
            prop_assert_eq!(decision, Decision::Resend { marked: true });
        }
        // Whatever was decided: nothing is called sent or given up that nobody knows of.
    }

    #[test]
    fn an_answer_outlasts_four_minutes_of_a_platforms_trouble_and_then_somebody_is_told(
        grade in grade(), seed in any::<u64>(), lost in any::<bool>(),
    ) {
        let kind = if lost { FaultKind::Unknown } else { FaultKind::TempReject };
        let (attempts, lasted) = troubled(standing(1, 86_400), &kind, grade, seed);
        prop_assert_eq!(attempts, MOST_TRIES);
        let (least, most) = (Duration::from_secs(240), Duration::from_secs(1_800));
        prop_assert!(lasted >= least && lasted <= most, "{:?}", lasted);
    }

    #[test]
    fn a_notice_is_tried_until_it_is_too_old(grade in grade(), seed in any::<u64>(), lost in any::<bool>()) {
        let notice = Standing { kind: MessageKind::Notice, ..standing(1, 86_400) };
        let kind = if lost { FaultKind::Unknown } else { FaultKind::TempReject };
        let (attempts, lasted) = troubled(notice, &kind, grade, seed);
        prop_assert!(attempts > 10 * MOST_TRIES, "{}", attempts);
        prop_assert!(lasted >= Duration::from_secs(86_000), "{:?}", lasted);
    }

    #[test]
    fn a_network_that_stays_away_is_tried_less_and_less_but_twice_a_minute(seed in any::<u64>(), attempt in 6_u32..100_000) {
        let wait = |attempt, silent| {
            let part = Standing { attempt, silent, ..standing(1, 86_400) };
            match decide(part, faulted(FaultKind::NotSent), of(Grade::Nothing), Backoff { seed }, now()) {
                Decision::Retry { at, counts: false, gate } => (Duration::try_from(at.duration_since(now())).unwrap(), gate),
                other @ (Decision::Sent { .. } | Decision::Advance { .. } | Decision::Retry { .. } | Decision::Plainer
                | Decision::Unknown { .. } | Decision::Ask | Decision::Resend { .. } | Decision::Hold
                | Decision::Redirect { .. } | Decision::Dead { .. }) => panic!("{other:?}"),
            }
        };
        let (first, gate) = wait(1, 1);
        prop_assert!(first <= Duration::from_secs(1));
        prop_assert_eq!(gate, Gate::Lane);
        let (later, _) = wait(attempt, 1);
        prop_assert!(later >= Duration::from_millis(7_500) && later <= Duration::from_secs(30), "{:?}", later);
        // Five of an account in a row: it rests as a whole, shortly at first.
        let (rest, gate) = wait(attempt, SILENT_ATTEMPTS);
        prop_assert!(rest <= Duration::from_secs(1), "{:?}", rest);
        prop_assert_eq!(gate, Gate::Account);
        let (rest, gate) = wait(attempt, SILENT_ATTEMPTS + attempt);
        prop_assert!(rest >= Duration::from_millis(7_500) && rest <= Duration::from_secs(30), "{:?}", rest);
        prop_assert_eq!(gate, Gate::Account);
    }
}

#[test]
fn each_fault_has_the_action_that_the_documentation_names() {
    let gate = |decision: &Decision| match decision {
        Decision::Retry { gate, counts, .. } => Some((*gate, *counts)),
        Decision::Sent { .. }
        | Decision::Advance { .. }
        | Decision::Plainer
        | Decision::Unknown { .. }
        | Decision::Ask
        | Decision::Resend { .. }
        | Decision::Hold
        | Decision::Redirect { .. }
        | Decision::Dead { .. } => None,
    };
    let throttled = |scope| FaultKind::Throttled {
        after: Duration::from_secs(3),
        scope,
    };
    for (kind, waits) in [
        (FaultKind::NotSent, (Gate::Lane, false)),
        (FaultKind::TempReject, (Gate::Lane, true)),
        (FaultKind::PermAccount, (Gate::Account, false)),
        (throttled(ThrottleScope::Part), (Gate::Lane, false)),
        (throttled(ThrottleScope::Lane), (Gate::Lane, false)),
        (throttled(ThrottleScope::Account), (Gate::Account, false)),
    ] {
        assert_eq!(gate(&after(kind.clone(), 1)), Some(waits), "{kind:?}");
    }
    assert_eq!(after(FaultKind::PermItem, 1), FAILED);
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
fn what_is_refused_has_one_plainer_form() {
    let part = Standing {
        other_form: OtherForm::Left,
        ..standing(1, 86_400)
    };
    let refused = || faulted(FaultKind::PermItem);
    assert_eq!(ask(part, refused(), Grade::Nothing), Decision::Plainer);
    let plain = Standing {
        other_form: OtherForm::None,
        ..part
    };
    assert_eq!(ask(plain, refused(), Grade::Nothing), FAILED);
    // A chat that is gone takes no other form either.
    assert!(matches!(
        ask(part, faulted(FaultKind::PermChat), Grade::Nothing),
        Decision::Dead { lane: true, .. }
    ));
}

#[test]
fn a_step_is_made_durable_and_a_receipt_is_the_end() {
    let step = Step::new("81");
    assert_eq!(
        ask(
            standing(1, 86_400),
            Event::Stepped(step.clone()),
            Grade::TwoPhase
        ),
        Decision::Advance { step }
    );
    let receipt = Receipt::new("82");
    assert_eq!(
        ask(
            standing(MOST_TRIES + 9, -1),
            Event::Delivered(receipt.clone()),
            Grade::Nothing
        ),
        Decision::Sent { receipt },
        "what arrived has arrived, however late"
    );
}

#[test]
fn a_platform_that_was_asked_is_believed() {
    let answered = |found, wish| {
        let part = Standing {
            when_unknown: wish,
            ..standing(2, 86_400)
        };
        ask(part, Event::Answered(found), Grade::Reconcilable)
    };
    let receipt = Receipt::new("there");
    for wish in [WhenUnknown::Repeat, WhenUnknown::Hold] {
        assert_eq!(
            answered(Found::Present(receipt.clone()), wish),
            Decision::Sent {
                receipt: receipt.clone()
            }
        );
        assert_eq!(
            answered(Found::Absent, wish),
            Decision::Resend { marked: false }
        );
    }
    assert_eq!(
        answered(Found::Unclear, WhenUnknown::Repeat),
        Decision::Resend { marked: true }
    );
    assert_eq!(answered(Found::Unclear, WhenUnknown::Hold), Decision::Hold);
}

#[test]
fn a_question_that_could_not_be_asked_leaves_the_part_as_unknown_as_it_was() {
    let minute = Duration::from_secs(60);
    let throttled = FaultKind::Throttled {
        after: minute,
        scope: ThrottleScope::Account,
    };
    for (kind, least, most) in [
        (throttled, 60, 60),
        (FaultKind::PermAccount, 15, 15),
        (FaultKind::NotSent, 30, 300),
        (FaultKind::TempReject, 30, 300),
        (FaultKind::PermItem, 30, 300),
        (FaultKind::PermChat, 30, 300),
        (FaultKind::Moved { to: elsewhere() }, 30, 300),
        (FaultKind::Duplicate { receipt: None }, 30, 300),
        (FaultKind::NoChange, 30, 300),
        (FaultKind::Unknown, 30, 300),
    ] {
        let event = Event::Unasked(Fault::new(kind.clone(), "…"));
        let decision = ask(standing(2, 86_400), event, Grade::Reconcilable);
        let Decision::Unknown { at } = decision else {
            panic!("{kind:?}: {decision:?}");
        };
        let wait = at.duration_since(now()).as_secs();
        assert!((least..=most).contains(&wait), "{kind:?}: {wait} s");
    }
}

#[test]
fn a_keyed_platforms_memory_ends() {
    let hour = Duration::from_secs(3_600);
    let grade = Grade::Keyed { window: Some(hour) };
    for (age, decision) in [
        (0, Decision::Resend { marked: false }),
        // The platform may get round to the repeat as late as 30 s after it left.
        (3_569, Decision::Resend { marked: false }),
        (3_570, Decision::Ask),
        (80_000, Decision::Ask),
    ] {
        let part = Standing {
            first_at: now() - Duration::from_secs(age),
            ..standing(2, 86_400)
        };
        assert_eq!(ask(part, Event::Settled, grade), decision, "{age} s");
    }
}

#[test]
fn three_crashes_are_enough_also_for_a_notice() {
    for kind in [MessageKind::Reply, MessageKind::Notice] {
        for crashes in 1..=MOST_CRASHES {
            let part = Standing {
                crashes,
                kind,
                ..standing(crashes, 86_400)
            };
            let decision = ask(part, Event::Crashed, Grade::Nothing);
            if crashes < MOST_CRASHES {
                assert!(matches!(decision, Decision::Unknown { .. }), "{decision:?}");
            } else {
                assert_eq!(decision, FAILED);
            }
        }
    }
}

#[test]
fn what_would_come_too_late_expires_instead_of_waiting() {
    let wait = FaultKind::Throttled {
        after: Duration::from_secs(60),
        scope: ThrottleScope::Lane,
    };
    for (kind, expires_in) in [
        (wait, 30),
        (FaultKind::PermAccount, 15),
        (FaultKind::NotSent, 0),
        (FaultKind::TempReject, 0),
    ] {
        assert_eq!(
            ask(
                standing(1, expires_in),
                faulted(kind.clone()),
                Grade::Nothing
            ),
            EXPIRED,
            "{kind:?}"
        );
    }
    for grade in [
        Grade::Nothing,
        Grade::Reconcilable,
        Grade::Keyed { window: None },
    ] {
        let late = Standing {
            when_unknown: WhenUnknown::Hold,
            ..standing(2, 0)
        };
        assert_eq!(ask(late, Event::Settled, grade), EXPIRED, "{grade:?}");
    }
}
