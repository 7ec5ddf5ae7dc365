//! Money: whether a model may still be asked, and what people are warned of.
//!
//! A cap is looked at before each call, and never reserved: the call that goes over it is the last one, and calls that run at the same
//! time may go over it together. What costs something of which nobody knows the price is not counted here; whoever counts says so.

mod period;

use std::fmt;

use model::Cost;
use waybill::Timestamp;

pub use period::Periods;

/// Parts of a cap, in percent, at which people are warned.
const MARKS: [u8; 3] = [50, 75, 90];

/// What may be spent; `None` is without bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// In one turn.
    pub turn: Option<Cost>,
    /// In a day (UTC).
    pub day: Option<Cost>,
    /// In a calendar month (UTC).
    pub month: Option<Cost>,
}

impl Limits {
    /// Whether nothing is bounded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What is spent by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spending {
    /// In this turn.
    pub turn: Cost,
    /// By the profile on this day, this turn included.
    pub day: Cost,
    /// By the profile in this month, this turn included.
    pub month: Cost,
}

/// Which cap. What is over the longest time comes first: it is what holds when several do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cap {
    /// The month's.
    Month,
    /// The day's.
    Day,
    /// The turn's.
    Turn,
}

impl Cap {
    /// All, in the order in which they are looked at.
    pub const ALL: [Self; 3] = [Self::Month, Self::Day, Self::Turn];

    /// The key of the configuration.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Month => "usd_per_month",
            Self::Day => "usd_per_day",
            Self::Turn => "usd_per_turn",
        }
    }

    /// Whose money: `this month's money`.
    fn money(self) -> &'static str {
        match self {
            Self::Month => "this month's money",
            Self::Day => "today's money",
            Self::Turn => "the money for this turn",
        }
    }

    fn of(self, limits: &Limits) -> Option<Cost> {
        match self {
            Self::Month => limits.month,
            Self::Day => limits.day,
            Self::Turn => limits.turn,
        }
    }

    fn spent(self, spending: &Spending) -> Cost {
        match self {
            Self::Month => spending.month,
            Self::Day => spending.day,
            Self::Turn => spending.turn,
        }
    }

    fn resets(self, now: Timestamp) -> Option<Timestamp> {
        let periods = Periods::of(now);
        match self {
            Self::Month => Some(periods.next_month),
            Self::Day => Some(periods.next_day),
            Self::Turn => None,
        }
    }
}

/// How full a cap is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filled {
    /// Which.
    pub cap: Cap,
    /// What is spent.
    pub spent: Cost,
    /// What may be.
    pub limit: Cost,
    /// When it begins anew; `None`: with the next turn.
    pub resets: Option<Timestamp>,
}

impl Filled {
    fn of(cap: Cap, spending: &Spending, limits: &Limits, now: Timestamp) -> Option<Self> {
        Some(Self {
            cap,
            spent: cap.spent(spending),
            limit: cap.of(limits)?,
            resets: cap.resets(now),
        })
    }

    /// In whole percent, rounded down; over 100 where it overflowed.
    #[must_use]
    pub fn percent(&self) -> u64 {
        let parts = u128::from(self.spent.0) * 100;
        let percent = parts.checked_div(u128::from(self.limit.0));
        percent.map_or(100, |percent| u64::try_from(percent).unwrap_or(u64::MAX))
    }

    fn is_full(&self) -> bool {
        self.spent >= self.limit
    }

    /// The highest mark that it has passed.
    fn mark(&self) -> Option<u8> {
        let percent = self.percent();
        MARKS.into_iter().rfind(|mark| percent >= u64::from(*mark))
    }
}

/// A cap is reached: no model is asked. Prints as a sentence for the person, which says when it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop(pub Filled);

impl fmt::Display for Stop {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Filled {
            cap,
            spent,
            limit,
            resets,
        } = self.0;
        write!(
            out,
            "{} is used up: {} of {} ({}). ",
            cap.money(),
            Usd(spent),
            Usd(limit),
            cap.key()
        )?;
        match resets {
            Some(at) => write!(
                out,
                "It goes on at {} UTC, or when the owner raises the limit",
                at.strftime("%Y-%m-%d %H:%M")
            ),
            None => out.write_str("Write \"go on\" to go on in another turn"),
        }
    }
}

/// A part of a cap is spent. Prints as a sentence for the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warning {
    /// The mark that was passed: 50, 75 or 90 percent.
    pub mark: u8,
    /// How full it is.
    pub filled: Filled,
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let filled = &self.filled;
        write!(
            out,
            "{} % of {} is spent: {} of {} ({})",
            filled.percent(),
            filled.cap.money(),
            Usd(filled.spent),
            Usd(filled.limit),
            filled.cap.key()
        )
    }
}

/// What follows from what is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Ask.
    Go,
    /// Ask; so much is spent.
    Warn(Warning),
    /// Don't ask.
    Stop(Stop),
}

/// Whether a model may be asked now.
#[must_use]
pub fn decide(spending: &Spending, limits: &Limits, now: Timestamp) -> Decision {
    let filled: Vec<Filled> = all(spending, limits, now).collect();
    if let Some(full) = filled.iter().find(|filled| filled.is_full()) {
        return Decision::Stop(Stop(*full));
    }
    // Of several equally high marks the first is the one over the longest time.
    let marked = filled
        .into_iter()
        .filter_map(|filled| Some((filled.mark()?, filled)));
    let highest = marked.reduce(|best, one| if one.0 > best.0 { one } else { best });
    match highest {
        Some((mark, filled)) => Decision::Warn(Warning { mark, filled }),
        None => Decision::Go,
    }
}

/// What a call made people want to know: for each cap the highest mark that was passed by it.
#[must_use]
pub fn passed(
    before: &Spending,
    after: &Spending,
    limits: &Limits,
    now: Timestamp,
) -> Vec<Warning> {
    all(after, limits, now)
        .filter_map(|filled| {
            let mark = filled.mark()?;
            let was = Filled::of(filled.cap, before, limits, now)?.mark();
            (was < Some(mark)).then_some(Warning { mark, filled })
        })
        .collect()
}

/// Each cap that is set, and how full it is.
pub fn all<'a>(
    spending: &'a Spending,
    limits: &'a Limits,
    now: Timestamp,
) -> impl Iterator<Item = Filled> + 'a {
    Cap::ALL
        .into_iter()
        .filter_map(move |cap| Filled::of(cap, spending, limits, now))
}

/// An amount as people write it: `$4.60`; with up to four places where cents say too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usd(pub Cost);

impl fmt::Display for Usd {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cost(millionths) = self.0;
        let text = match millionths {
            0 => "$0.00".to_owned(),
            1..100 => "<$0.0001".to_owned(),
            100..100_000 => {
                let places = format!("{:04}", millionths / 100);
                let short = places.trim_end_matches('0');
                format!("$0.{short:0<2}")
            }
            _ => {
                let cents = millionths.saturating_add(5_000) / 10_000;
                format!("${}.{:02}", cents / 100, cents % 100)
            }
        };
        out.pad(&text)
    }
}

#[cfg(test)]
mod tests;
