//! I2 to I6: what the calls of a lane may be, given its attempts.

use std::collections::HashMap;

use super::{Report, Said, name, of_part, said};
use crate::evidence::{Call, Evidence, Part, Row};
use crate::instant::milliseconds;
use crate::join::{Join, Joined, Lane, lane_of};

/// Milliseconds by which a call may come before a wait is over: both sides round.
const EARLY: i64 = 5;

pub(super) fn check(evidence: &Evidence, join: &Join<'_>, report: &mut Report) {
    for (call, why) in &join.stray {
        let what = format!(
            "{} to {} by bot {} ('{}') has no attempt of its own: {why}",
            call.method,
            call.chat,
            call.bot,
            start(&call.text)
        );
        report.find("I4", what);
    }
    for row in &evidence.product {
        let Some(lane) = lane_of(evidence, row) else {
            continue;
        };
        for part in &row.parts {
            repeats(evidence, join, &lane, row, part, report);
            after_the_end(join, &lane, row, part, report);
        }
    }
    for attempts in join.lanes.values() {
        in_order(attempts, report);
    }
    placeholders(evidence, join, report);
    once_each(join, report);
    waits(evidence, join, report);
}

fn start(text: &str) -> String {
    text.chars().take(40).collect()
}

/// I2.
fn in_order(attempts: &[Joined<'_>], report: &mut Report) {
    let mut first: HashMap<*const Part, (&Joined<'_>, i64)> = HashMap::new();
    for one in attempts {
        if let Some(call) = one.call.filter(|call| call.done && call.makes()) {
            let at = first
                .entry(std::ptr::from_ref(one.part))
                .or_insert((one, call.at));
            at.1 = at.1.min(call.at);
        }
    }
    let mut parts: Vec<(&Joined<'_>, i64)> = first.into_values().collect();
    parts.sort_by_key(|(one, _)| place(one.row, one.part));
    for (before, after) in parts.iter().zip(parts.iter().skip(1)) {
        if before.1 > after.1 {
            let what = format!(
                "{} showed before {}, which comes first in the lane",
                name(after.0.row, after.0.part),
                name(before.0.row, before.0.part)
            );
            report.find("I2", what);
        }
    }
}

/// A part's place in its lane: by sequence where the ledger has one, else by when its message was made.
fn place<'a>(row: &'a Row, part: &Part) -> (i64, &'a str, &'a str, i64) {
    match part.seq.or(row.seq) {
        Some(seq) => (seq, "", "", part.n),
        None => (0, &row.created_at, &row.id, part.n),
    }
}

/// I3, and the honesty of what an attempt's end says.
fn repeats(
    evidence: &Evidence,
    join: &Join<'_>,
    lane: &Lane,
    row: &Row,
    part: &Part,
    report: &mut Report,
) {
    let (mut showed, mut windows) = (0_usize, 0_usize);
    for one in of_part(join, lane, part) {
        let done = one.call.filter(|call| call.done);
        let fulfilled = one.call.filter(|call| call.fulfilled());
        match (said(one.attempt), fulfilled) {
            (Said::NotDone, Some(call)) => {
                let what = format!(
                    "{}: attempt {} says '{}', but {} was done",
                    name(row, part),
                    one.attempt.n,
                    one.attempt.outcome.as_deref().unwrap_or_default(),
                    call.method
                );
                report.find("I3", what);
            }
            (Said::Done, None) => {
                let what = format!(
                    "{}: attempt {} says '{}', and the platform did nothing",
                    name(row, part),
                    one.attempt.n,
                    one.attempt.outcome.as_deref().unwrap_or_default()
                );
                report.find("I1", what);
            }
            (Said::Unknown, _) => {
                windows += 1;
                report.unknown += 1;
            }
            (Said::Done, Some(_)) | (Said::NotDone, None) => {}
        }
        let Some(call) = done.filter(|call| call.makes()) else {
            continue;
        };
        showed += 1;
        let carried = evidence
            .driver
            .placeholders
            .iter()
            .any(|empty| call.text.starts_with(empty.as_str()));
        let keyed = evidence.driver.keyed.contains(&row.account);
        if showed > 1 && !carried && !keyed && !call.text.starts_with(&evidence.driver.mark) {
            let what = format!(
                "{} showed again without a mark: '{}'",
                name(row, part),
                start(&call.text)
            );
            report.find("I3", what);
        }
    }
    if showed > 1 {
        report.repeated += 1;
    }
    let most = if evidence.driver.keyed.contains(&row.account) {
        1
    } else {
        // The window of the last attempt can't have a repeat after it: what showed at most once per window, and once more.
        1 + windows
    };
    if showed > most {
        let what = format!(
            "{} showed {showed} times with {windows} attempts of unknown end",
            name(row, part)
        );
        report.find("I3", what);
    }
}

/// I3 for what carries no content: at most one left over per attempt of unknown end.
fn placeholders(evidence: &Evidence, join: &Join<'_>, report: &mut Report) {
    let mut left: HashMap<(i64, i64), usize> = HashMap::new();
    for shown in &evidence.fake.visible {
        let empty = evidence
            .driver
            .placeholders
            .iter()
            .any(|empty| shown.text.starts_with(empty.as_str()));
        if empty {
            *left.entry((shown.bot, shown.chat)).or_default() += 1;
        }
    }
    for ((bot, chat), left) in left {
        let unknown = join
            .lanes
            .iter()
            .filter(|((one, other, _), _)| *one == bot && *other == chat.to_string())
            .flat_map(|(_, attempts)| attempts)
            .filter(|one| said(one.attempt) == Said::Unknown)
            .count();
        if left > unknown {
            let what = format!(
                "{left} empty placeholders stay in {chat} of bot {bot}, with {unknown} attempts of unknown end"
            );
            report.find("I3", what);
        }
    }
}

/// I1: the same words or file of an answer as two parts: something was handled twice.
fn once_each(join: &Join<'_>, report: &mut Report) {
    let mut seen: HashMap<(&Lane, &str, &str), &Joined<'_>> = HashMap::new();
    for (lane, attempts) in &join.lanes {
        for one in attempts.iter().filter(|one| one.row.kind == "reply") {
            // Answers to commands are alike; only what some turn made is unlike all else.
            let turn = one
                .row
                .source
                .as_ref()
                .is_none_or(|source| source.starts_with("turn:"));
            let Some(call) = one.call.filter(|call| call.done && turn) else {
                continue;
            };
            let hash = call.file.as_ref().map_or("", |file| file.hash.as_str());
            let key = (lane, call.text.as_str(), hash);
            if let Some(other) = seen.insert(key, one)
                && !std::ptr::eq(other.part, one.part)
                && call.text.len() > 20
            {
                let what = format!(
                    "{} and {} show the same: '{}'",
                    name(other.row, other.part),
                    name(one.row, one.part),
                    start(&call.text)
                );
                report.find("I1", what);
            }
        }
    }
}

/// I5.
fn after_the_end(join: &Join<'_>, lane: &Lane, row: &Row, part: &Part, report: &mut Report) {
    let death = part.death.as_ref().and_then(|death| death.at.as_deref());
    let ended = part.ended_at.as_deref().or(death);
    let until = match part.state.as_str() {
        "expired" => row.expires_at.as_deref().or(ended),
        "cancelled" | "superseded" => ended,
        _ => None,
    };
    let Some(until) = until.and_then(milliseconds) else {
        return;
    };
    for one in of_part(join, lane, part) {
        if let Some(call) = one.call.filter(|call| call.at > until + EARLY) {
            let what = format!(
                "{} was sent {} ms after it was {}",
                name(row, part),
                call.at - until,
                part.state
            );
            report.find("I5", what);
        }
    }
}

/// I6: a wait binds once the attempt that met it has its end recorded.
fn waits(evidence: &Evidence, join: &Join<'_>, report: &mut Report) {
    let mut asked: Vec<(&Call, i64, i64)> = Vec::new();
    for one in join.lanes.values().flatten() {
        if let Some(call) = one.call.filter(|call| call.status == Some(429))
            && let (Some(seconds), Some(answered), Some(_)) =
                (call.retry_after, call.answered_at, one.ended)
        {
            let over = answered + 1_000 * i64::try_from(seconds).unwrap_or(i64::MAX / 2_000);
            asked.push((call, answered, over));
        }
    }
    report.throttled = asked.len();
    for row in &evidence.product {
        let Some(lane) = lane_of(evidence, row) else {
            continue;
        };
        for one in join.lanes.get(&lane).into_iter().flatten() {
            if !std::ptr::eq(one.row, row) {
                continue;
            }
            let Some(call) = one.call else { continue };
            for (first, answered, over) in &asked {
                let bot = first.scope.as_deref() == Some("bot");
                let meant = call.bot == first.bot
                    && (bot || (call.chat == first.chat && call.thread == first.thread));
                // What had begun before the answer came could not know.
                if meant && one.started > *answered && call.at + EARLY < *over {
                    let what = format!(
                        "{} was sent {} ms before the wait of {} s was over",
                        name(row, one.part),
                        over - call.at,
                        first.retry_after.unwrap_or_default()
                    );
                    report.find("I6", what);
                }
            }
        }
    }
}
