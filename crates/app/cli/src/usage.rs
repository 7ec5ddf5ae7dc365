//! `tidings usage`: what models were used for and what that cost, with and without a running gateway.

use std::process::ExitCode;

use anyhow::Context as _;
use policy::budget::{Filled, Limits, Spending, Usd, all};
use serde_json::json;
use session::{Day, Ledger as _, LedgerRow, Total};
use settings::{Environment, Home};
use waybill::{Clock, ProfileId, Timestamp};

use crate::exit::Failure;
use crate::outbox::table::{PAGE, cell, cut, width};
use crate::outbox::{Paint, look};

/// Columns of a day, and of each number.
const DAY: usize = 10;
const CALLS: usize = 6;
const TOKENS: usize = 8;
const COST: usize = 18;
/// Widest column of profiles.
const PROFILE: usize = 20;

/// Prints the ledger of the last days, and how full each limit is.
pub(crate) fn run(
    home: &Home,
    days: u32,
    as_json: bool,
    paint: Paint,
    environment: &dyn Environment,
    clock: &dyn Clock,
) -> Result<ExitCode, Failure> {
    let now = clock.now();
    let since = Day::of(now).back(days.saturating_sub(1)).begins();
    let limits = limits(home, environment);
    let (rows, caps) = look(home, async |store| {
        let rows = store
            .rows(since)
            .await
            .context("the ledger can't be read")?;
        let mut caps = Vec::new();
        for (profile, limits) in limits {
            let spending = spending(store, &profile, now)
                .await
                .context("the ledger can't be read")?;
            caps.extend(all(&spending, &limits, now).map(|filled| (profile.clone(), filled)));
        }
        Ok((rows, caps))
    })?;
    if as_json {
        for row in &rows {
            println!("{}", line(row));
        }
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        eprintln!("no model was asked in the last {days} days");
    } else {
        for line in table(&rows, paint) {
            println!("{line}");
        }
    }
    for (profile, filled) in &caps {
        eprintln!("{}", told(profile, filled, paint));
    }
    Ok(ExitCode::SUCCESS)
}

/// What each profile may spend in a day and in a month; nothing where the file can't be read: what was spent is told all the same.
fn limits(home: &Home, environment: &dyn Environment) -> Vec<(ProfileId, Limits)> {
    let loaded = settings::load(home, environment);
    let profiles = loaded.settings().cloned();
    let profiles = profiles.into_iter().flat_map(|settings| settings.profiles);
    profiles
        .map(|(name, profile)| {
            let limits = Limits {
                // Each turn has its own.
                turn: None,
                day: profile.limits.usd_per_day,
                month: profile.limits.usd_per_month,
            };
            (name, limits)
        })
        .collect()
}

async fn spending(
    store: &store_sqlite::Store,
    profile: &ProfileId,
    now: Timestamp,
) -> Result<Spending, session::StoreError> {
    let periods = policy::budget::Periods::of(now);
    Ok(Spending {
        day: store.spent(profile, periods.day).await?.cost,
        month: store.spent(profile, periods.month).await?.cost,
        ..Spending::default()
    })
}

/// A row for programs.
fn line(row: &LedgerRow) -> serde_json::Value {
    json!({
        "day": row.day.to_string(),
        "profile": row.profile.as_str(),
        "model": row.route,
        "calls": row.total.calls,
        "unpriced_calls": row.total.unpriced,
        "input_tokens": row.total.usage.input,
        "cached_tokens": row.total.usage.cached,
        "output_tokens": row.total.usage.output,
        // A float holds every millionth up to nine thousand million of them.
        "usd": row.total.cost.0 as f64 / 1_000_000.0,
    })
}

/// The rows, and their sum.
fn table(rows: &[LedgerRow], paint: Paint) -> Vec<String> {
    let names = rows.iter().map(|row| width(row.profile.as_str()));
    let profile = names.max().unwrap_or(0).clamp(7, PROFILE);
    let numbers = CALLS + 3 * TOKENS + COST + 5;
    let model = PAGE.saturating_sub(DAY + profile + numbers + 3).max(12);
    let written = |day: &str, of: &str, route: &str, cells: [&str; 5]| {
        let [calls, read, cached, output, cost] = cells;
        format!(
            "{} {} {} {calls:>CALLS$} {read:>TOKENS$} {cached:>TOKENS$} {output:>TOKENS$} {cost:>COST$}",
            cell(day, DAY),
            cell(of, profile),
            cell(route, model),
        )
    };
    let heads = ["CALLS", "READ", "CACHED", "WRITTEN", "COST"];
    let head = written("DAY (UTC)", "PROFILE", "MODEL", heads);
    let mut lines = vec![paint.faint(head.trim_end())];
    let mut sum = Total::default();
    let mut last = None;
    for row in rows {
        sum += row.total;
        // A day is named once.
        let day = row.day.to_string();
        let named = if last == Some(row.day) { "" } else { &day };
        last = Some(row.day);
        let cells = cells(&row.total);
        let cells = cells.each_ref().map(String::as_str);
        lines.push(written(named, row.profile.as_str(), &row.route, cells));
    }
    let cells = cells(&sum);
    let cells = cells.each_ref().map(String::as_str);
    lines.push(paint.strong(&written("in all", "", "", cells)));
    lines
}

fn cells(total: &Total) -> [String; 5] {
    let cost = match total.unpriced {
        0 => Usd(total.cost).to_string(),
        unpriced if unpriced == total.calls => "price unknown".to_owned(),
        _ => format!("{} + unknown", Usd(total.cost)),
    };
    [
        total.calls.to_string(),
        amount(total.usage.input),
        amount(total.usage.cached),
        amount(total.usage.output),
        cost,
    ]
}

/// `912`, `34k`, `1.2M`.
fn amount(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count / 100_000 % 10),
    }
}

/// A limit, in the colour of how full it is.
fn told(profile: &ProfileId, filled: &Filled, paint: Paint) -> String {
    let percent = filled.percent();
    let text = format!(
        "{}: {} of {} ({percent} % of {})",
        cut(profile.as_str(), PROFILE),
        Usd(filled.spent),
        Usd(filled.limit),
        filled.cap.key()
    );
    match percent {
        0..75 => paint.good(&text),
        75..100 => paint.care(&text),
        100.. => paint.bad(&text),
    }
}

#[cfg(test)]
mod tests {
    use model::{Cost, Usage};

    use super::*;

    fn row(day: i64, profile: &str, route: &str, cost: Option<u64>) -> LedgerRow {
        LedgerRow {
            day: Day::numbered(day).unwrap(),
            profile: profile.parse().unwrap(),
            route: route.to_owned(),
            total: Total {
                calls: 3,
                unpriced: if cost.is_some() { 0 } else { 3 },
                usage: Usage {
                    input: 1_234_567,
                    cached: 34_567,
                    output: 912,
                },
                cost: Cost(cost.unwrap_or_default()),
            },
        }
    }

    #[test]
    fn the_ledger_fits_the_page_and_what_has_no_price_is_said() {
        let rows = [
            row(20_787, "default", "claude/claude-sonnet-5", Some(1_234_567)),
            row(
                20_787,
                "work",
                "home/a-model-with-a-very-long-name-indeed:latest",
                None,
            ),
            row(20_786, "default", "claude/\u{1b}[31m", Some(0)),
        ];
        let lines = table(&rows, Paint::Plain);
        for line in &lines {
            assert!(width(line) <= PAGE, "{} columns: {line}", width(line));
            assert!(!line.contains('\u{1b}'));
        }
        assert!(lines[1].starts_with("2026-11-30 default"), "{}", lines[1]);
        assert!(lines[1].contains("1.2M      34k      912"), "{}", lines[1]);
        assert!(lines[1].ends_with("$1.23"), "{}", lines[1]);
        assert!(lines[2].starts_with("           work"), "{}", lines[2]);
        assert!(lines[2].ends_with("price unknown"), "{}", lines[2]);
        assert!(lines[3].ends_with("$0.00"), "{}", lines[3]);
        assert!(lines[4].starts_with("in all"), "{}", lines[4]);
        assert!(lines[4].ends_with("$1.23 + unknown"), "{}", lines[4]);
    }

    #[test]
    fn a_limit_says_how_full_it_is() {
        let filled = Filled {
            cap: policy::budget::Cap::Day,
            spent: Cost(4_600_000),
            limit: Cost(5_000_000),
            resets: None,
        };
        let profile = ProfileId::parse("work").unwrap();
        assert_eq!(
            told(&profile, &filled, Paint::Plain),
            "work: $4.60 of $5.00 (92 % of usd_per_day)"
        );
    }
}
