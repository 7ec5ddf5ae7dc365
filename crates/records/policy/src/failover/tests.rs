use super::*;

fn error(kind: &str, after: Option<u64>) -> ModelError {
    let (provider, cause) = ("acme".to_owned(), "because".to_owned());
    match kind {
        "unreachable" => ModelError::Unreachable { provider, cause },
        "key" => ModelError::Key { provider, cause },
        "no money" => ModelError::NoMoney { provider, cause },
        "throttled" => ModelError::Throttled {
            provider,
            cause,
            after: after.map(Duration::from_secs),
        },
        "too long" => ModelError::TooLong { provider, cause },
        "refused" => ModelError::Refused { provider, cause },
        "moderated" => ModelError::Moderated { provider, cause },
        "failed" => ModelError::Failed { provider, cause },
        "broke off" => ModelError::BrokeOff { provider, cause },
        "silent" => ModelError::Silent {
            provider,
            silence: Duration::from_secs(120),
        },
        other => panic!("{other}"),
    }
}

const KINDS: [&str; 10] = [
    "unreachable",
    "key",
    "no money",
    "throttled",
    "too long",
    "refused",
    "moderated",
    "failed",
    "broke off",
    "silent",
];

/// What happens to a model alone, call after call.
fn alone(kind: &str, after: Option<u64>) -> Vec<Remedy> {
    let mut seen = Vec::new();
    let mut compaction = Left::Yes;
    for calls in 1..10 {
        let tried = Tried {
            calls,
            others: Left::No,
            compaction,
        };
        let remedy = decide(&error(kind, after), tried, 255);
        seen.push(remedy);
        match remedy {
            Remedy::Wait(_) => {}
            Remedy::Compact => compaction = Left::No,
            Remedy::Next { .. } => panic!("there is no other"),
            Remedy::GiveUp { .. } => return seen,
        }
    }
    panic!("it never ends: {seen:?}")
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn every_failure_ends_after_a_bounded_number_of_calls() {
    for kind in KINDS {
        for after in [None, Some(0), Some(5), Some(999_999)] {
            assert!(alone(kind, after).len() <= 3, "{kind} {after:?}");
        }
    }
}

#[test]
fn what_time_does_not_heal_is_not_asked_again() {
    for kind in ["key", "no money", "refused", "moderated"] {
        assert!(
            matches!(alone(kind, None).as_slice(), [Remedy::GiveUp { .. }]),
            "{kind}"
        );
    }
}

#[test]
fn a_wait_that_a_provider_asks_for_is_kept_and_a_long_one_is_told() {
    assert_eq!(alone("throttled", Some(5))[0], Remedy::Wait(seconds(5)));
    assert_eq!(alone("throttled", Some(0))[0], Remedy::Wait(seconds(0)));
    assert!(matches!(
        alone("throttled", Some(31)).as_slice(),
        [Remedy::GiveUp { rest }] if *rest == seconds(31)
    ));
    assert!(matches!(
        alone("throttled", Some(u64::MAX / 2)).as_slice(),
        [Remedy::GiveUp { rest }] if *rest == LONGEST_ASKED_REST
    ));
}

#[test]
fn beside_another_model_nobody_waits_long() {
    for kind in KINDS {
        let mut waited = Duration::ZERO;
        for calls in 1..10 {
            let tried = Tried {
                calls,
                others: Left::Yes,
                compaction: Left::No,
            };
            match decide(&error(kind, Some(60)), tried, 255) {
                Remedy::Wait(wait) => waited += wait,
                Remedy::Next { .. } => break,
                Remedy::Compact | Remedy::GiveUp { .. } => panic!("{kind}"),
            }
        }
        assert!(waited <= seconds(4), "{kind}: {waited:?}");
    }
}

#[test]
fn a_full_window_is_made_room_in_once() {
    assert!(matches!(
        alone("too long", None).as_slice(),
        [Remedy::Compact, Remedy::GiveUp { .. }]
    ));
}

#[test]
fn waits_grow_and_are_spread() {
    assert_eq!(pause(1, 255), Duration::from_millis(500));
    assert_eq!(pause(1, 0), Duration::from_millis(250));
    assert_eq!(pause(2, 255), Duration::from_secs(1));
    assert_eq!(pause(u32::MAX, 255), LONGEST_WAIT);
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn the_first_model_is_asked_again_when_its_rest_is_over() {
    let mut rests = Rests::default();
    let models = ["first", "second"];
    let choose = |rests: &Rests, second| rests.choose(models, at(second)).unwrap();
    assert_eq!(choose(&rests, 0), 0);
    rests.failed("first", REST, at(0));
    assert_eq!(choose(&rests, 59), 1);
    assert_eq!(choose(&rests, 60), 0);
    // The probe failed: it rests longer.
    rests.failed("first", REST, at(60));
    assert_eq!(choose(&rests, 179), 1);
    assert_eq!(choose(&rests, 180), 0);
    rests.answered("first");
    rests.failed("first", REST, at(200));
    assert_eq!(choose(&rests, 260), 0);
}

#[test]
fn where_all_rest_the_one_is_asked_that_is_ready_first() {
    let mut rests = Rests::default();
    rests.failed("first", LONGEST_REST, at(0));
    rests.failed("second", REST, at(0));
    assert_eq!(rests.choose(["first", "second"], at(1)), Some(1));
    assert_eq!(rests.choose([], at(1)), None);
}

#[test]
fn a_rest_grows_to_its_bound_and_a_longer_one_that_was_asked_for_is_kept() {
    let mut rests = Rests::default();
    for _ in 0..20 {
        rests.failed("first", REST, at(0));
    }
    assert_eq!(rests.until("first", at(0)), Some(at(600)));
    rests.answered("first");
    rests.failed("first", Duration::from_secs(3_600), at(0));
    assert_eq!(rests.until("first", at(0)), Some(at(3_600)));
    // What did nothing wrong does not rest.
    rests.failed("second", Duration::ZERO, at(0));
    assert_eq!(rests.until("second", at(0)), None);
}
