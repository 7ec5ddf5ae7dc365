use async_trait::async_trait;
use session::{Day, LedgerRow, Promised};
use waybill::{
    Origin, Placement, ProfileScope, SessionId, SessionKey, TaskId, Timestamp, TurnId, TurnScope,
};

use super::*;

const PRICE: Price = Price {
    input: 1_000_000,
    cached: 1_000_000,
    output: 1_000_000,
};

fn cents(cents: u64) -> Cost {
    Cost(cents * 10_000)
}

/// Tokens that cost so many cents.
fn worth(cents: u64) -> Option<Usage> {
    Some(Usage {
        input: cents * 10_000,
        cached: 0,
        output: 0,
    })
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn work() -> ProfileId {
    ProfileId::parse("work").unwrap()
}

fn caps(turn: u64, day: u64, month: u64) -> HashMap<ProfileId, Limits> {
    let cap = |amount: u64| (amount > 0).then(|| cents(amount));
    let limits = Limits {
        turn: cap(turn),
        day: cap(day),
        month: cap(month),
    };
    HashMap::from([(work(), limits)])
}

/// A clock that can be set back.
struct Watch(Mutex<Timestamp>);

impl Watch {
    fn set(&self, now: Timestamp) {
        *self.0.lock().unwrap() = now;
    }
}

impl Clock for Watch {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

fn clock(now: &str) -> Arc<Watch> {
    Arc::new(Watch(Mutex::new(at(now))))
}

fn marks(warnings: &[Warning]) -> Vec<u8> {
    warnings.iter().map(|warning| warning.mark).collect()
}

#[test]
fn turns_that_run_at_once_share_the_days_money() {
    let purse = Purse::new(caps(0, 100, 0), clock("2026-11-30T10:00:00Z"));
    let (mut one, mut other) = (Vec::new(), Vec::new());
    assert!(purse.may_ask(&work(), &one).is_ok());
    let told = purse.note(&work(), &mut one, "a/m", worth(60), Some(PRICE));
    assert_eq!(marks(&told), [50]);
    assert!(purse.may_ask(&work(), &other).is_ok());
    let told = purse.note(&work(), &mut other, "a/m", worth(60), Some(PRICE));
    assert_eq!(marks(&told), [90]);
    for turn in [&one, &other, &Vec::new()] {
        let stop = purse.may_ask(&work(), turn).unwrap_err();
        assert_eq!((stop.0.spent, stop.0.limit), (cents(120), cents(100)));
    }
    // Another profile has its own.
    assert!(
        purse
            .may_ask(&ProfileId::parse("other").unwrap(), &[])
            .is_ok()
    );
    assert_eq!(
        Total::of(&one).cost,
        cents(60),
        "the turn's own list has it"
    );
}

#[test]
fn a_turns_own_money_is_its_own() {
    let purse = Purse::new(caps(10, 0, 0), clock("2026-11-30T10:00:00Z"));
    let mut turn = Vec::new();
    let told = purse.note(&work(), &mut turn, "a/m", worth(9), Some(PRICE));
    assert_eq!(marks(&told), [90]);
    assert!(purse.may_ask(&work(), &turn).is_ok());
    // The call that goes over it is the last one, whichever model is asked.
    purse.note(&work(), &mut turn, "b/m", worth(2), Some(PRICE));
    assert!(purse.may_ask(&work(), &turn).is_err());
    assert!(purse.may_ask(&work(), &[]).is_ok(), "the next turn goes on");
}

#[test]
fn a_new_day_and_a_new_month_begin_at_nothing() {
    let clock = clock("2026-11-29T23:59:00Z");
    let purse = Purse::new(caps(0, 100, 150), clock.clone());
    let mut turn = Vec::new();
    purse.note(&work(), &mut turn, "a/m", worth(100), Some(PRICE));
    assert!(purse.may_ask(&work(), &turn).is_err());
    clock.set(at("2026-11-30T00:00:00Z"));
    assert!(purse.may_ask(&work(), &turn).is_ok());
    purse.note(&work(), &mut turn, "a/m", worth(60), Some(PRICE));
    let stop = purse.may_ask(&work(), &turn).unwrap_err();
    assert_eq!(stop.0.spent, cents(160), "the month's");
    clock.set(at("2026-12-01T00:00:00Z"));
    assert!(purse.may_ask(&work(), &turn).is_ok());
    assert_eq!(purse.account(&work()).month, Total::default());
}

#[test]
fn a_clock_that_is_set_back_gives_no_money_back() {
    let clock = clock("2026-12-01T08:00:00Z");
    let purse = Purse::new(caps(0, 100, 0), clock.clone());
    purse.note(&work(), &mut Vec::new(), "a/m", worth(100), Some(PRICE));
    clock.set(at("2026-11-30T08:00:00Z"));
    assert!(purse.may_ask(&work(), &[]).is_err());
    clock.set(at("2026-12-01T09:00:00Z"));
    assert!(purse.may_ask(&work(), &[]).is_err());
    clock.set(at("2026-12-02T00:00:00Z"));
    assert!(purse.may_ask(&work(), &[]).is_ok());
}

/// What was spent on days, for one profile.
struct Days(Vec<(Day, Total)>);

#[async_trait]
impl Ledger for Days {
    async fn spent(&self, _: &ProfileId, since: Timestamp) -> Result<Total, StoreError> {
        let mut sum = Total::default();
        for (day, total) in &self.0 {
            if *day >= Day::of(since) {
                sum += *total;
            }
        }
        Ok(sum)
    }

    async fn session(&self, _: SessionId) -> Result<Total, StoreError> {
        Ok(Total::default())
    }

    async fn rows(&self, _: Timestamp) -> Result<Vec<LedgerRow>, StoreError> {
        Ok(Vec::new())
    }
}

fn priced(amount: u64) -> Total {
    let mut spent = Vec::new();
    Spent::count(&mut spent, "a/m", worth(amount), Some(PRICE));
    Total::of(&spent)
}

fn running(amount: u64) -> TurnRecord {
    let ids = testkit::clock::CountingIds::default();
    let scope: TurnScope = ProfileScope::enter(work())
        .session(SessionKey::Local("x".to_owned()), SessionId::fresh(&ids))
        .begin_turn(
            TurnId::fresh(&ids),
            TaskId::fresh(&ids),
            Origin::Operator,
            Placement::PerProfile,
        );
    let mut promised = Promised::default();
    Spent::count(&mut promised.spent, "a/m", worth(amount), Some(PRICE));
    TurnRecord {
        scope,
        inbox: Vec::new(),
        inbound: None,
        promised,
        resumed: 0,
        started_at: at("2026-11-30T09:00:00Z"),
    }
}

#[tokio::test]
async fn what_was_spent_before_the_start_counts_and_its_marks_are_not_told_again() {
    let day = |text: &str| Day::of(at(text));
    let ledger = Days(vec![
        (day("2026-10-31T00:00:00Z"), priced(1_000)),
        (day("2026-11-02T00:00:00Z"), priced(100)),
        (day("2026-11-30T00:00:00Z"), priced(40)),
    ]);
    let now = clock("2026-11-30T10:00:00Z");
    let purse = Purse::load(caps(0, 100, 400), &ledger, &[running(20)], now)
        .await
        .unwrap();
    let account = purse.account(&work());
    assert_eq!(
        (account.day.cost, account.month.cost),
        (cents(60), cents(160))
    );
    let mut turn = Vec::new();
    let told = purse.note(&work(), &mut turn, "a/m", worth(5), Some(PRICE));
    assert_eq!(marks(&told), [0; 0], "50 % was told before the start");
    let told = purse.note(&work(), &mut turn, "a/m", worth(10), Some(PRICE));
    assert_eq!(marks(&told), [75]);
    assert!(purse.may_ask(&work(), &turn).is_ok());
    purse.note(&work(), &mut turn, "a/m", worth(25), Some(PRICE));
    assert!(purse.may_ask(&work(), &turn).is_err());
}

#[test]
fn what_has_no_price_is_said_and_no_cap_counts_it() {
    let purse = Purse::new(caps(0, 100, 0), clock("2026-11-30T10:00:00Z"));
    assert_eq!(
        purse.told(&work()),
        "Today (UTC): nothing spent of $1.00. This month: nothing spent."
    );
    let mut turn = Vec::new();
    assert!(
        purse
            .note(&work(), &mut turn, "b/m", worth(500), None)
            .is_empty()
    );
    assert!(purse.may_ask(&work(), &turn).is_ok());
    assert_eq!(
        purse.told(&work()),
        "Today (UTC): 1 call, 5000000 tokens; the price is unknown, so the limit of $1.00 does not count them. \
         This month: 1 call, 5000000 tokens; the price is unknown."
    );
    purse.note(&work(), &mut turn, "a/m", worth(30), Some(PRICE));
    purse.note(&work(), &mut turn, "a/m", None, Some(PRICE));
    assert_eq!(
        purse.told(&work()),
        "Today (UTC): $0.30 of $1.00, and 2 calls whose price is unknown: not counted in USD. \
         This month: $0.30, and 2 calls whose price is unknown: not counted in USD."
    );
    let accounts = purse.accounts();
    let [account] = accounts.as_slice() else {
        panic!("{accounts:?}")
    };
    let routes: Vec<(&str, u64)> = account
        .routes
        .iter()
        .map(|(route, total)| (route.as_str(), total.calls))
        .collect();
    assert_eq!(routes, [("a/m", 2), ("b/m", 1)]);
}
