use proptest::prelude::*;

use super::*;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
}

fn rate(calls: u32, ms: u64) -> Rate {
    Rate {
        calls,
        per: Duration::from_millis(ms),
    }
}

fn chat(number: usize) -> Conversation {
    Conversation::new(number.to_string()).unwrap()
}

/// No windows but the account's own.
fn account(windows: Vec<Rate>) -> Rates {
    Rates {
        account: windows,
        ..Rates::unlimited(1_000)
    }
}

/// As Telegram publishes them.
fn published() -> Rates {
    Rates {
        account: vec![rate(30, 1_030)],
        direct: vec![rate(3, 3_060)],
        group: vec![rate(3, 3_060), rate(20, 61_200)],
        in_flight: 30,
    }
}

fn readers(number: usize) -> Readers {
    if number.is_multiple_of(2) {
        Readers::One
    } else {
        Readers::Several
    }
}

/// The most calls in any stretch of `per` that holds its beginning and not its end.
fn most_within(calls: &[i64], per: u64) -> usize {
    let per = i64::try_from(per).unwrap();
    let within = |first: i64| {
        calls
            .iter()
            .filter(|call| **call >= first && **call < first + per)
            .count()
    };
    calls.iter().map(|first| within(*first)).max().unwrap_or(0)
}

#[derive(Debug, Clone)]
enum Step {
    Call { chat: usize, after: i64 },
    Undo,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        9 => (0_usize..4, 0_i64..400).prop_map(|(chat, after)| Step::Call { chat, after }),
        1 => Just(Step::Undo),
    ]
}

proptest! {
    #[test]
    fn whoever_calls_and_when_no_window_is_overrun(steps in proptest::collection::vec(step(), 1..300)) {
        let rates = published();
        let mut pace = Pace::new(Rates { in_flight: 1_000, ..rates.clone() });
        pace.places = 1_000.0;
        let mut now = 0;
        let mut calls: Vec<(usize, i64)> = Vec::new();
        for step in steps {
            match step {
                Step::Call { chat: number, after } => {
                    now += after;
                    match pace.pass(&chat(number), readers(number), at(now)) {
                        Pass::Go => calls.push((number, now)),
                        Pass::NotBefore(opens) => prop_assert!(opens > at(now)),
                        Pass::Full => prop_assert!(false, "there are places"),
                    }
                }
                Step::Undo => {
                    if let Some((number, _)) = calls.pop() {
                        pace.undo(&chat(number));
                    }
                }
            }
        }
        let of = |number: usize| calls.iter().filter(|call| call.0 == number).map(|call| call.1).collect::<Vec<_>>();
        let all: Vec<i64> = calls.iter().map(|call| call.1).collect();
        prop_assert!(most_within(&all, 1_030) <= 30);
        for number in 0..4 {
            prop_assert!(most_within(&of(number), 3_060) <= 3, "chat {number}");
            if readers(number) == Readers::Several {
                prop_assert!(most_within(&of(number), 61_200) <= 20, "group {number}");
            }
        }
        for number in 0..4 {
            for _ in of(number) {
                pace.ended(None);
            }
        }
        prop_assert_eq!(pace.flying(), 0, "every place is free again");
    }

    #[test]
    fn a_call_that_may_not_go_yet_may_go_when_it_was_told(calls in 1_u32..40, per in 10_u64..5_000, spread in 0_i64..50) {
        let mut pace = Pace::new(account(vec![rate(calls, per)]));
        pace.places = 1_000.0;
        let mut now = 0;
        for _ in 0..calls {
            prop_assert_eq!(pace.pass(&chat(1), Readers::One, at(now)), Pass::Go);
            now += spread.min(i64::try_from(per).unwrap() / i64::from(calls) - 1).max(0);
        }
        if let Pass::NotBefore(opens) = pace.pass(&chat(1), Readers::One, at(now)) {
            let just_before = opens.checked_sub(Duration::from_millis(1)).unwrap();
            prop_assert_ne!(pace.pass(&chat(1), Readers::One, just_before), Pass::Go);
            prop_assert_eq!(pace.pass(&chat(1), Readers::One, opens), Pass::Go);
        }
    }
}

#[test]
fn who_always_has_something_to_say_uses_all_that_is_allowed() {
    let mut pace = Pace::new(published());
    let (mut now, mut calls) = (0, 0_u32);
    let end = 60_000;
    // 100 people wait at any time.
    while now < end {
        let mut next = now + 1;
        for number in (0..200).step_by(2) {
            match pace.pass(&chat(number), Readers::One, at(now)) {
                Pass::Go => {
                    calls += 1;
                    pace.ended(None);
                }
                Pass::NotBefore(_) | Pass::Full => {}
            }
        }
        if let Some(opens) = pace.opens(at(now)) {
            next = next.max(opens.as_millisecond() - at(0).as_millisecond());
        }
        now = next;
    }
    let allowed = f64::from(u32::try_from(end).unwrap()) / 1_030.0 * 30.0;
    assert!(f64::from(calls) >= allowed * 0.95, "{calls} of {allowed}");
    assert!(f64::from(calls) <= allowed + 30.0, "{calls} of {allowed}");
}

#[test]
fn a_clock_that_is_set_back_closes_a_window_once_and_not_until_it_has_caught_up() {
    let mut pace = Pace::new(account(vec![rate(2, 1_000)]));
    let hour = 3_600_000;
    for _ in 0..2 {
        assert_eq!(pace.pass(&chat(1), Readers::One, at(hour)), Pass::Go);
    }
    assert_eq!(
        pace.pass(&chat(1), Readers::One, at(0)),
        Pass::NotBefore(at(1_000)),
        "the platform's clock did not go back"
    );
    assert_eq!(pace.opens(at(999)), Some(at(1_000)));
    assert_eq!(pace.pass(&chat(1), Readers::One, at(1_000)), Pass::Go);
}

#[test]
fn one_chats_windows_are_not_anothers() {
    let mut pace = Pace::new(Rates {
        direct: vec![rate(1, 1_000)],
        group: vec![rate(1, 9_000)],
        ..Rates::unlimited(10)
    });
    for number in 0..3 {
        assert_eq!(pace.pass(&chat(number), readers(number), at(0)), Pass::Go);
    }
    for (number, opens) in [(0, 1_000), (1, 9_000), (2, 1_000)] {
        assert_eq!(
            pace.pass(&chat(number), readers(number), at(0)),
            Pass::NotBefore(at(opens))
        );
    }
    assert_eq!(pace.flying(), 3, "what may not go takes no place");
}

#[test]
fn places_grow_by_one_with_each_round_and_are_halved_by_trouble() {
    let throttled = |scope| FaultKind::Throttled {
        after: Duration::from_secs(1),
        scope,
    };
    let mut pace = Pace::new(Rates {
        account: vec![rate(10_000, 1)],
        ..Rates::unlimited(20)
    });
    assert_eq!(pace.most(), FIRST_PLACES);
    let mut grown = vec![pace.most()];
    for _ in 0..200 {
        pace.ended(None);
        if grown.last() != Some(&pace.most()) {
            grown.push(pace.most());
        }
    }
    assert_eq!(grown, (FIRST_PLACES..=20).collect::<Vec<_>>());
    for (fault, most) in [
        // One chat's trouble is not the account's.
        (throttled(ThrottleScope::Lane), 20),
        (FaultKind::PermChat, 20),
        (FaultKind::Unknown, 20),
        (FaultKind::TempReject, 20),
        (throttled(ThrottleScope::Account), 10),
        (throttled(ThrottleScope::Part), 10),
        (FaultKind::Unknown, 5),
        (FaultKind::NotSent, 2),
        (FaultKind::NotSent, 1),
        (FaultKind::NotSent, 1),
    ] {
        pace.ended(Some(&fault));
        assert_eq!(pace.most(), most, "{fault:?}");
    }
    for _ in 0..10_000 {
        pace.ended(None);
    }
    assert_eq!(pace.most(), 20, "never more than the channel bears");
}

#[test]
fn an_account_without_windows_has_all_its_places_at_once() {
    assert_eq!(Pace::new(Rates::unlimited(64)).most(), 64);
    assert_eq!(Pace::new(Rates::unlimited(0)).most(), 1);
}

#[test]
fn with_every_place_taken_nothing_goes_until_one_is_free() {
    let mut pace = Pace::new(Rates::unlimited(2));
    for number in 0..2 {
        assert_eq!(pace.pass(&chat(number), Readers::One, at(0)), Pass::Go);
    }
    assert_eq!(pace.room(), 0);
    assert_eq!(pace.pass(&chat(3), Readers::One, at(0)), Pass::Full);
    pace.ended(Some(&FaultKind::PermItem));
    assert_eq!(pace.pass(&chat(3), Readers::One, at(0)), Pass::Go);
}

#[test]
fn a_pass_of_which_nothing_came_gives_its_place_and_its_call_back() {
    let mut pace = Pace::new(Rates {
        account: vec![rate(1, 1_000)],
        direct: vec![rate(1, 1_000)],
        ..Rates::unlimited(1)
    });
    assert_eq!(pace.pass(&chat(1), Readers::One, at(0)), Pass::Go);
    pace.undo(&chat(1));
    assert_eq!(pace.pass(&chat(1), Readers::One, at(1)), Pass::Go);
    // An attempt that was begun and not made: its call may have been seen.
    pace.given_back();
    assert_eq!(pace.flying(), 0);
    assert_eq!(
        pace.pass(&chat(1), Readers::One, at(2)),
        Pass::NotBefore(at(1_001))
    );
}

#[test]
fn attempts_of_which_no_byte_left_are_counted_until_one_is_answered() {
    let mut pace = Pace::new(Rates::unlimited(10));
    for n in 1..=3 {
        assert_eq!(pace.ended(Some(&FaultKind::NotSent)), n);
    }
    assert_eq!(pace.ended(Some(&FaultKind::Unknown)), 0, "bytes left");
    assert_eq!(pace.ended(Some(&FaultKind::NotSent)), 1);
    assert_eq!(pace.ended(Some(&FaultKind::PermItem)), 0);
}

#[test]
fn of_ten_thousand_chats_the_idle_ones_are_forgotten() {
    let mut pace = Pace::new(published());
    let (mut now, mut most) = (0, 0);
    for number in 0..10_000 {
        loop {
            match pace.pass(&chat(number), readers(number), at(now)) {
                Pass::Go => break,
                Pass::NotBefore(opens) => now = opens.as_millisecond() - at(0).as_millisecond(),
                Pass::Full => panic!("there is a place"),
            }
        }
        pace.ended(None);
        most = most.max(pace.chats.len());
    }
    // The longest window is a minute, at 30 calls a second; every other chat is a group.
    assert!(most <= 2 * CHATS, "{most} chats are remembered");
}

#[test]
fn chats_that_only_wait_for_the_account_are_not_remembered() {
    let mut pace = Pace::new(Rates {
        account: vec![rate(1, 60_000)],
        direct: vec![rate(1, 1_000)],
        ..Rates::unlimited(10)
    });
    for number in 0..10_000 {
        pace.pass(&chat(number), Readers::One, at(0));
    }
    assert!(pace.chats.len() <= CHATS, "{}", pace.chats.len());
    assert_eq!(
        pace.pass(&chat(0), Readers::One, at(500)),
        Pass::NotBefore(at(60_000)),
        "the one that spoke is"
    );
}
