//! The page. It needs no script.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use policy::budget::{Cap, Filled, Usd};
use session::{Day, Total};
use waybill::ProfileId;

use crate::error::Refused;
use crate::login;
use crate::options::Money;
use crate::page::{Gate, gate, render};
use crate::router::Surface;
use crate::usage::view::{Known, USUAL_DAYS, Wanted, filled};

/// What the reader may choose from.
const CHOICES: [u32; 3] = [7, 30, 90];

/// What a day or a month came to, and its cap.
struct Period {
    name: &'static str,
    spent: String,
    bar: Option<Bar>,
}

/// A cap as a bar.
struct Bar {
    limit: String,
    percent: u64,
    /// What is drawn: never over the end.
    wide: u64,
    tone: &'static str,
    resets: Option<String>,
}

impl Bar {
    fn of(filled: &Filled) -> Self {
        let percent = filled.percent();
        Self {
            limit: Usd(filled.limit).to_string(),
            percent,
            wide: percent.min(100),
            tone: match percent {
                0..75 => "calm",
                75..100 => "near",
                100.. => "full",
            },
            resets: filled
                .resets
                .map(|at| at.strftime("%Y-%m-%d %H:%M UTC").to_string()),
        }
    }
}

/// A model in the chosen days.
struct Model {
    name: String,
    cost: String,
    calls: u64,
    tokens: Tokens,
}

/// Tokens in words, and as parts of a bar of 1,000.
struct Tokens {
    fresh: String,
    cached: String,
    output: String,
    cached_percent: u64,
    fresh_wide: u64,
    cached_wide: u64,
    output_wide: u64,
}

impl Tokens {
    fn of(total: &Total) -> Self {
        let usage = total.usage;
        let cached = usage.cached.min(usage.input);
        let fresh = usage.input - cached;
        let all = usage.input.saturating_add(usage.output);
        Self {
            fresh: amount(fresh),
            cached: amount(cached),
            output: amount(usage.output),
            cached_percent: part(cached, usage.input, 100),
            fresh_wide: part(fresh, all, 1_000),
            cached_wide: part(cached, all, 1_000),
            output_wide: part(usage.output, all, 1_000),
        }
    }

    fn fresh_from(&self) -> u64 {
        self.cached_wide
    }

    fn output_from(&self) -> u64 {
        self.cached_wide + self.fresh_wide
    }
}

/// A day.
struct Line {
    day: String,
    cost: String,
    calls: u64,
    tokens: String,
    /// Of 100: how much of the dearest day, or, where nothing has a price, of the one with the most tokens.
    wide: u64,
}

/// A profile.
struct Card {
    name: String,
    periods: Vec<Period>,
    turn: Option<String>,
    unpriced: u64,
    models: Vec<Model>,
    days: Vec<Line>,
}

#[derive(Template)]
#[template(path = "usage.html")]
struct Page<'a> {
    build: &'a str,
    days: u32,
    choices: Vec<(u32, bool)>,
    cards: Vec<Card>,
}

/// `GET /usage`.
pub(crate) async fn all(
    State(surface): State<Arc<Surface>>,
    headers: HeaderMap,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Response, Refused> {
    if !login::logged_in(&surface, &headers).await? {
        return gate(&surface, Gate::LoggedOut);
    }
    // A person who asks for what is not there sees the usual.
    let days = wanted.ok().and_then(|Query(wanted)| wanted.days().ok());
    let days = days.unwrap_or(USUAL_DAYS);
    let known = Known::read(&surface, days).await?;
    let page = Page {
        build: &surface.build,
        days,
        choices: CHOICES.map(|choice| (choice, choice == days)).to_vec(),
        cards: cards(&known),
    };
    render(StatusCode::OK, &page)
}

/// Every profile that may spend or has spent, by name; who spent nothing comes last.
fn cards(known: &Known) -> Vec<Card> {
    let mut of: BTreeMap<&ProfileId, Rows<'_>> = BTreeMap::new();
    for money in &known.money {
        of.entry(&money.profile).or_default().money = Some(money);
    }
    for row in &known.rows {
        let rows = of.entry(&row.profile).or_default();
        *rows.models.entry(&row.route).or_default() += row.total;
        *rows.days.entry(row.day).or_default() += row.total;
    }
    let mut cards: Vec<Card> = of
        .into_iter()
        .map(|(profile, rows)| rows.card(profile, known))
        .collect();
    cards.sort_by_key(|card| card.models.is_empty());
    cards
}

/// What is known of one profile.
#[derive(Default)]
struct Rows<'a> {
    money: Option<&'a Money>,
    models: BTreeMap<&'a str, Total>,
    days: BTreeMap<Day, Total>,
}

impl Rows<'_> {
    fn card(self, profile: &ProfileId, known: &Known) -> Card {
        let mut models: Vec<(&str, Total)> = self.models.into_iter().collect();
        // The dearest first; where nothing has a price, the most used.
        models.sort_by_key(|(_, total)| std::cmp::Reverse((total.cost, tokens(total))));
        Card {
            name: profile.to_string(),
            periods: self
                .money
                .map(|money| periods(money, known))
                .unwrap_or_default(),
            turn: self
                .money
                .and_then(|money| Some(Usd(money.limits.turn?).to_string())),
            unpriced: self.days.values().map(|total| total.unpriced).sum(),
            models: models
                .into_iter()
                .map(|(name, total)| Model {
                    name: name.to_owned(),
                    cost: cost(&total),
                    calls: total.calls,
                    tokens: Tokens::of(&total),
                })
                .collect(),
            days: lines(&self.days),
        }
    }
}

fn periods(money: &Money, known: &Known) -> Vec<Period> {
    let filled: Vec<Filled> = filled(money, known.now).collect();
    let period = |name, cap, total| Period {
        name,
        spent: cost(total),
        bar: filled.iter().find(|filled| filled.cap == cap).map(Bar::of),
    };
    vec![
        period("Today", Cap::Day, &money.day),
        period("This month", Cap::Month, &money.month),
    ]
}

fn lines(days: &BTreeMap<Day, Total>) -> Vec<Line> {
    let dearest = days.values().map(|total| total.cost.0).max().unwrap_or(0);
    let most = days.values().map(tokens).max().unwrap_or(0);
    days.iter()
        .rev()
        .map(|(day, total)| Line {
            day: day.to_string(),
            cost: cost(total),
            calls: total.calls,
            tokens: amount(tokens(total)),
            wide: if dearest > 0 {
                part(total.cost.0, dearest, 100)
            } else {
                part(tokens(total), most, 100)
            },
        })
        .collect()
}

fn tokens(total: &Total) -> u64 {
    total.usage.input.saturating_add(total.usage.output)
}

/// What it cost; what nobody knows is said.
fn cost(total: &Total) -> String {
    match total.unpriced {
        0 => Usd(total.cost).to_string(),
        unpriced if unpriced == total.calls => "price unknown".to_owned(),
        _ => format!("{} + unknown", Usd(total.cost)),
    }
}

/// `912`, `34 k`, `1.2 M`.
fn amount(count: u64) -> String {
    let tenths = |unit: u64| {
        let tenths = count / (unit / 10);
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{} k", tenths(1_000)),
        10_000..1_000_000 => format!("{} k", count / 1_000),
        1_000_000..1_000_000_000 => format!("{} M", tenths(1_000_000)),
        _ => format!("{} G", tenths(1_000_000_000)),
    }
}

/// How many of `scale` parts; what is there at all is seen.
fn part(of: u64, all: u64, scale: u64) -> u64 {
    let parts = u128::from(of) * u128::from(scale);
    let parts = parts.checked_div(u128::from(all)).unwrap_or(0);
    u64::try_from(parts)
        .unwrap_or(scale)
        .max(u64::from(of > 0))
        .min(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_short_words() {
        for (count, words) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1.0 k"),
            (9_999, "9.9 k"),
            (34_567, "34 k"),
            (999_999, "999 k"),
            (1_250_000, "1.2 M"),
            (7_000_000_000, "7.0 G"),
        ] {
            assert_eq!(amount(count), words);
        }
    }

    #[test]
    fn a_part_is_seen_if_it_is_there_and_never_runs_over() {
        assert_eq!(part(0, 10, 100), 0);
        assert_eq!(part(1, 1_000_000, 100), 1);
        assert_eq!(part(5, 10, 100), 50);
        assert_eq!(part(20, 10, 100), 100);
        assert_eq!(part(1, 0, 100), 1);
    }
}
