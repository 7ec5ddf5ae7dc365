//! What every profile has spent, running turns included, and whether a model may still be asked.
//!
//! One for the whole gateway, in memory: it begins with what the ledger and the running turns say, and every answered call is noted in
//! it at once, so that a cap holds over all turns that run at the same time. Nothing is reserved: a cap may be overshot by the calls
//! that are under way when it is reached, one for each turn.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Cost, Price, Usage};
use policy::budget::{Decision, Limits, Periods, Spending, Stop, Usd, Warning, decide, passed};
use session::{Ledger, Spent, StoreError, Total, TurnRecord};
use waybill::{Clock, ProfileId};

/// The purse of a gateway.
pub struct Purse {
    clock: Arc<dyn Clock>,
    limits: HashMap<ProfileId, Limits>,
    books: Mutex<BTreeMap<ProfileId, Book>>,
}

/// What one profile has spent.
struct Book {
    periods: Periods,
    day: Total,
    month: Total,
    /// Since the start, by model.
    routes: BTreeMap<String, Total>,
}

impl Book {
    fn new(periods: Periods) -> Self {
        Self {
            periods,
            day: Total::default(),
            month: Total::default(),
            routes: BTreeMap::new(),
        }
    }

    /// A new day and a new month begin at nothing. A clock that was set back begins none.
    fn turn_over(&mut self, now: Periods) {
        if now.month > self.periods.month {
            self.month = Total::default();
        }
        if now.day > self.periods.day {
            self.day = Total::default();
            self.periods = now;
        }
    }

    fn add(&mut self, total: Total) {
        self.day += total;
        self.month += total;
    }

    fn spending(&self, turn: &[Spent]) -> Spending {
        Spending {
            turn: Total::of(turn).cost,
            day: self.day.cost,
            month: self.month.cost,
        }
    }
}

/// How a profile stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Whose.
    pub profile: ProfileId,
    /// What it may spend.
    pub limits: Limits,
    /// What it spent today, running turns included.
    pub day: Total,
    /// What it spent this month, running turns included.
    pub month: Total,
    /// What it spent since the gateway started, by model.
    pub routes: Vec<(String, Total)>,
}

impl Purse {
    /// A purse in which nothing was spent.
    #[must_use]
    pub fn new(limits: HashMap<ProfileId, Limits>, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            limits,
            books: Mutex::default(),
        }
    }

    /// A purse that knows what was spent before: what the ledger says of the profiles with limits, and what turns have spent that were
    /// cut off and go on.
    ///
    /// # Errors
    /// [`StoreError`] if the ledger can't be read.
    pub async fn load(
        limits: HashMap<ProfileId, Limits>,
        ledger: &dyn Ledger,
        running: &[TurnRecord],
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let periods = Periods::of(clock.now());
        let mut books = BTreeMap::new();
        for profile in limits.keys() {
            let mut book = Book::new(periods);
            book.day = ledger.spent(profile, periods.day).await?;
            book.month = ledger.spent(profile, periods.month).await?;
            books.insert(profile.clone(), book);
        }
        for turn in running {
            let book = books
                .entry(turn.scope.profile().clone())
                .or_insert_with(|| Book::new(periods));
            book.add(Total::of(&turn.promised.spent));
        }
        Ok(Self {
            clock,
            limits,
            books: Mutex::new(books),
        })
    }

    fn books(&self) -> MutexGuard<'_, BTreeMap<ProfileId, Book>> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with a profile's book of this day.
    fn with<T>(&self, profile: &ProfileId, work: impl FnOnce(&mut Book) -> T) -> T {
        let periods = Periods::of(self.clock.now());
        let mut books = self.books();
        let book = books
            .entry(profile.clone())
            .or_insert_with(|| Book::new(periods));
        book.turn_over(periods);
        work(book)
    }

    fn limits(&self, profile: &ProfileId) -> Limits {
        self.limits.get(profile).copied().unwrap_or_default()
    }

    /// Whether a model may be asked for a turn that has spent so much. To be asked before every call of a model, whatever it is for:
    /// steps, summaries, children, jobs.
    ///
    /// # Errors
    /// [`Stop`] if a cap is reached; it prints as a sentence for the person.
    pub fn may_ask(&self, profile: &ProfileId, turn: &[Spent]) -> Result<(), Stop> {
        let spending = self.with(profile, |book| book.spending(turn));
        match decide(&spending, &self.limits(profile), self.clock.now()) {
            Decision::Go | Decision::Warn(_) => Ok(()),
            Decision::Stop(stop) => Err(stop),
        }
    }

    /// Counts a call that was answered, in the turn's own list and in the profile's book. Returns what the person should know: each mark
    /// of each cap once, by the call that passes it. The list is stored with the turn's next step.
    pub fn note(
        &self,
        profile: &ProfileId,
        turn: &mut Vec<Spent>,
        route: &str,
        usage: Option<Usage>,
        price: Option<Price>,
    ) -> Vec<Warning> {
        let mut call = Vec::new();
        Spent::count(&mut call, route, usage, price);
        let total = Total::of(&call);
        let before = self.with(profile, |book| {
            let before = book.spending(turn);
            book.add(total);
            *book.routes.entry(route.to_owned()).or_default() += total;
            before
        });
        for one in call {
            Spent::add(turn, one);
        }
        let after = Spending {
            turn: Total::of(turn).cost,
            day: sum(before.day, total.cost),
            month: sum(before.month, total.cost),
        };
        passed(&before, &after, &self.limits(profile), self.clock.now())
    }

    /// How every profile stands that may spend or has spent, by name.
    #[must_use]
    pub fn accounts(&self) -> Vec<Account> {
        let spent: Vec<ProfileId> = self.books().keys().cloned().collect();
        let mut profiles: Vec<&ProfileId> = self.limits.keys().chain(&spent).collect();
        profiles.sort();
        profiles.dedup();
        profiles
            .into_iter()
            .map(|profile| self.account(profile))
            .collect()
    }

    fn account(&self, profile: &ProfileId) -> Account {
        self.with(profile, |book| Account {
            profile: profile.clone(),
            limits: self.limits(profile),
            day: book.day,
            month: book.month,
            routes: book
                .routes
                .iter()
                .map(|(route, total)| (route.clone(), *total))
                .collect(),
        })
    }

    /// A line for `/status`: what the profile spent today and this month, and of what.
    #[must_use]
    pub fn told(&self, profile: &ProfileId) -> String {
        let account = self.account(profile);
        format!(
            "Today (UTC): {}. This month: {}.",
            spent_of(&account.day, account.limits.day),
            spent_of(&account.month, account.limits.month)
        )
    }
}

fn sum(one: Cost, other: Cost) -> Cost {
    [one, other].into_iter().sum()
}

/// `$0.42 of $5.00`; what has no price is said and never counted as nothing.
fn spent_of(total: &Total, limit: Option<Cost>) -> String {
    if total.calls == 0 {
        return match limit {
            None => "nothing spent".to_owned(),
            Some(limit) => format!("nothing spent of {}", Usd(limit)),
        };
    }
    let spent = Usd(total.cost);
    let text = match limit {
        None => spent.to_string(),
        Some(limit) => format!("{spent} of {}", Usd(limit)),
    };
    if total.unpriced == 0 {
        return text;
    }
    let calls = match total.unpriced {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    if total.unpriced < total.calls {
        return format!("{text}, and {calls} whose price is unknown: not counted in USD");
    }
    let tokens = total.usage.input.saturating_add(total.usage.output);
    match limit {
        None => format!("{calls}, {tokens} tokens; the price is unknown"),
        Some(limit) => format!(
            "{calls}, {tokens} tokens; the price is unknown, so the limit of {} does not count them",
            Usd(limit)
        ),
    }
}

#[cfg(test)]
mod tests;
