use proptest::prelude::*;

use super::*;

const CENT: u64 = 10_000;

fn cents(cents: u64) -> Cost {
    Cost(cents * CENT)
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn limits(turn: u64, day: u64, month: u64) -> Limits {
    let cap = |amount: u64| (amount > 0).then(|| cents(amount));
    Limits {
        turn: cap(turn),
        day: cap(day),
        month: cap(month),
    }
}

fn spent(turn: u64, day: u64, month: u64) -> Spending {
    Spending {
        turn: cents(turn),
        day: cents(day),
        month: cents(month),
    }
}

const NOON: &str = "2026-12-31T12:00:00Z";

#[test]
fn what_may_be_asked_by_how_full_the_caps_are() {
    let caps = limits(100, 500, 2_000);
    for (spending, expected) in [
        (spent(0, 0, 0), "go"),
        (spent(49, 249, 999), "go"),
        (spent(50, 0, 0), "50 turn"),
        (spent(0, 375, 0), "75 day"),
        (spent(60, 375, 1_100), "75 day"),
        (spent(60, 250, 1_000), "50 month"),
        (spent(0, 499, 0), "90 day"),
        (spent(100, 0, 0), "stop turn"),
        (spent(100, 500, 0), "stop day"),
        (spent(101, 501, 2_001), "stop month"),
    ] {
        let decided = match decide(&spending, &caps, at(NOON)) {
            Decision::Go => "go".to_owned(),
            Decision::Warn(warning) => format!("{} {:?}", warning.mark, warning.filled.cap),
            Decision::Stop(Stop(filled)) => format!("stop {:?}", filled.cap),
        };
        assert_eq!(decided.to_lowercase(), expected, "{spending:?}");
    }
    assert_eq!(
        decide(&spent(1_000, 1_000, 1_000), &Limits::default(), at(NOON)),
        Decision::Go
    );
}

#[test]
fn a_person_reads_what_is_used_up_and_when_it_goes_on() {
    let stop = |spending, caps| match decide(&spending, &caps, at(NOON)) {
        Decision::Stop(stop) => stop.to_string(),
        other @ (Decision::Go | Decision::Warn(_)) => panic!("{other:?}"),
    };
    assert_eq!(
        stop(spent(0, 502, 0), limits(0, 500, 0)),
        "today's money is used up: $5.02 of $5.00 (usd_per_day). It goes on at 2027-01-01 00:00 UTC, or when the owner raises the limit"
    );
    assert_eq!(
        stop(spent(0, 0, 2_000), limits(0, 0, 2_000)),
        "this month's money is used up: $20.00 of $20.00 (usd_per_month). It goes on at 2027-01-01 00:00 UTC, or when the owner raises the limit"
    );
    assert_eq!(
        stop(spent(3, 0, 0), limits(2, 0, 0)),
        "the money for this turn is used up: $0.03 of $0.02 (usd_per_turn). Write \"go on\" to go on in another turn"
    );
}

#[test]
fn each_mark_is_told_by_the_call_that_passes_it() {
    let caps = limits(0, 100, 1_000);
    let told = |before, after| -> Vec<String> {
        let passed = passed(&before, &after, &caps, at(NOON));
        passed.iter().map(ToString::to_string).collect()
    };
    assert_eq!(told(spent(0, 0, 0), spent(0, 49, 49)), [""; 0]);
    assert_eq!(
        told(spent(0, 49, 49), spent(0, 50, 50)),
        ["50 % of today's money is spent: $0.50 of $1.00 (usd_per_day)"]
    );
    assert_eq!(told(spent(0, 50, 50), spent(0, 74, 74)), [""; 0]);
    // Marks that one call jumps over are one sentence; a cap that it fills is told by the stop as well.
    assert_eq!(
        told(spent(0, 74, 495), spent(0, 140, 561)),
        [
            "56 % of this month's money is spent: $5.61 of $10.00 (usd_per_month)",
            "140 % of today's money is spent: $1.40 of $1.00 (usd_per_day)",
        ]
    );
    assert_eq!(told(spent(0, 140, 561), spent(0, 150, 571)), [""; 0]);
}

#[test]
fn days_and_months_begin_at_midnight_utc() {
    for (now, day, next_day, month, next_month) in [
        (
            "2026-11-30T23:59:59.999Z",
            "2026-11-30",
            "2026-12-01",
            "2026-11-01",
            "2026-12-01",
        ),
        (
            "2026-12-01T00:00:00Z",
            "2026-12-01",
            "2026-12-02",
            "2026-12-01",
            "2027-01-01",
        ),
        (
            "2028-02-29T08:00:00Z",
            "2028-02-29",
            "2028-03-01",
            "2028-02-01",
            "2028-03-01",
        ),
    ] {
        let midnight = |day: &str| at(&format!("{day}T00:00:00Z"));
        let expected = Periods {
            day: midnight(day),
            next_day: midnight(next_day),
            month: midnight(month),
            next_month: midnight(next_month),
        };
        assert_eq!(Periods::of(at(now)), expected, "{now}");
    }
    // The ends of time are no panic.
    assert_eq!(Periods::of(Timestamp::MAX).next_day, Timestamp::MAX);
    assert!(Periods::of(Timestamp::MIN).month <= Timestamp::MIN);
}

#[test]
fn an_amount_is_written_as_people_do() {
    for (millionths, shown) in [
        (0, "$0.00"),
        (1, "<$0.0001"),
        (99, "<$0.0001"),
        (100, "$0.0001"),
        (4_200, "$0.0042"),
        (50_000, "$0.05"),
        (99_999, "$0.0999"),
        (100_000, "$0.10"),
        (1_234_567, "$1.23"),
        (1_235_000, "$1.24"),
        (999_999_999, "$1000.00"),
        (u64::MAX, "$18446744073709.55"),
    ] {
        assert_eq!(Usd(Cost(millionths)).to_string(), shown, "{millionths}");
    }
    assert_eq!(format!("{:>8}", Usd(cents(460))), "   $4.60");
}

proptest! {
    /// However the calls fall, each mark of each cap is told at most once, and a mark that was passed was told.
    #[test]
    fn no_mark_is_told_twice_and_none_is_left_out(
        costs in prop::collection::vec(0_u64..40, 1..60),
        day in 1_u64..400,
        month in 1_u64..400,
    ) {
        let caps = limits(0, day, month);
        let mut before = Spending::default();
        let mut told: Vec<(Cap, u8)> = Vec::new();
        for cost in costs {
            let mut after = before;
            after.day += cents(cost);
            after.month += cents(cost);
            for warning in passed(&before, &after, &caps, at(NOON)) {
                prop_assert!(told.iter().all(|(cap, mark)| *cap != warning.filled.cap || *mark < warning.mark));
                told.push((warning.filled.cap, warning.mark));
            }
            before = after;
        }
        for filled in all(&before, &caps, at(NOON)) {
            let last = told.iter().rfind(|(cap, _)| *cap == filled.cap).map(|(_, mark)| *mark);
            let expected = MARKS.into_iter().rfind(|mark| filled.percent() >= u64::from(*mark));
            prop_assert_eq!(last, expected);
        }
    }
}
