//! Which call belongs to which attempt: the lane's attempt whose row was there when the call arrived.

use std::collections::{BTreeMap, HashMap};

use crate::evidence::{Call, Evidence, Part, Row, Try};
use crate::instant::milliseconds;

/// A lane: bot, chat, topic.
pub(crate) type Lane = (i64, String, String);

/// An attempt with its call.
pub(crate) struct Joined<'a> {
    pub(crate) row: &'a Row,
    pub(crate) part: &'a Part,
    pub(crate) attempt: &'a Try,
    pub(crate) started: i64,
    pub(crate) ended: Option<i64>,
    pub(crate) call: Option<&'a Call>,
}

/// Attempts of each lane in the order of their beginnings, and what could not be joined.
pub(crate) struct Join<'a> {
    pub(crate) lanes: BTreeMap<Lane, Vec<Joined<'a>>>,
    /// Calls without an attempt, and why.
    pub(crate) stray: Vec<(&'a Call, String)>,
    /// Instants that can't be read.
    pub(crate) unread: Vec<String>,
}

/// Milliseconds between a call's last byte on our side and its arrival there.
const ON_THE_WIRE: i64 = 250;

pub(crate) fn lane_of(evidence: &Evidence, row: &Row) -> Option<Lane> {
    let bot = evidence.driver.accounts.get(&row.account)?;
    Some((
        *bot,
        row.chat.clone(),
        row.thread.clone().unwrap_or_default(),
    ))
}

pub(crate) fn join(evidence: &Evidence) -> Join<'_> {
    let mut join = Join {
        lanes: BTreeMap::new(),
        stray: Vec::new(),
        unread: Vec::new(),
    };
    for row in &evidence.product {
        let Some(lane) = lane_of(evidence, row) else {
            continue;
        };
        for part in &row.parts {
            for attempt in &part.attempts {
                let Some(started) = milliseconds(&attempt.started_at) else {
                    join.unread.push(format!("{} {:?}", row.id, attempt));
                    continue;
                };
                let ended = attempt.ended_at.as_deref().and_then(milliseconds);
                join.lanes.entry(lane.clone()).or_default().push(Joined {
                    row,
                    part,
                    attempt,
                    started,
                    ended,
                    call: None,
                });
            }
        }
    }
    for attempts in join.lanes.values_mut() {
        attempts.sort_by_key(|one| (one.started, one.part.seq, one.attempt.n));
    }
    // An edit names no topic; it is in that of the message which it changes.
    let made = evidence.fake.calls.iter().filter(|call| call.makes());
    let threads: HashMap<(i64, i64, Option<i64>), Option<i64>> = made
        .map(|call| ((call.bot, call.chat, call.message), call.thread))
        .collect();
    let mut calls: HashMap<Lane, Vec<&Call>> = HashMap::new();
    let shown = evidence.fake.calls.iter();
    for call in shown.filter(|call| call.shows() && call.chat != 0) {
        let place = (call.bot, call.chat, call.message);
        let thread = call.thread.or(threads.get(&place).copied().flatten());
        let thread = thread.map(|one| one.to_string()).unwrap_or_default();
        let lane = (call.bot, call.chat.to_string(), thread);
        calls.entry(lane).or_default().push(call);
    }
    for (lane, mut calls) in calls {
        calls.sort_by_key(|call| call.at);
        let mut none = Vec::new();
        let attempts = join.lanes.get_mut(&lane).unwrap_or(&mut none);
        for call in calls {
            if let Err(why) = put(attempts, call) {
                join.stray.push((call, why));
            }
        }
    }
    join
}

/// Both ledgers go by one clock, cut to milliseconds; where two attempts share one, the earlier without a call comes first.
fn put<'a>(attempts: &mut [Joined<'a>], call: &'a Call) -> Result<(), String> {
    let begun = attempts.partition_point(|one| one.started <= call.at);
    let Some(last) = begun.checked_sub(1) else {
        return Err("no attempt had begun in its lane".to_owned());
    };
    let around = attempts
        .iter()
        .take(begun)
        .position(|one| one.call.is_none() && one.ended.is_some_and(|ended| ended >= call.at));
    let Some(attempt) = attempts.get_mut(around.unwrap_or(last)) else {
        return Err("no attempt had begun in its lane".to_owned());
    };
    let what = format!(
        "attempt {} of {} part {}",
        attempt.attempt.n, attempt.row.id, attempt.part.n
    );
    if let Some(other) = attempt.call {
        let since = call.at - other.at;
        return Err(format!("{what} has a call already, {since} ms before"));
    }
    if let Some(ended) = attempt.ended
        && ended + ON_THE_WIRE < call.at
    {
        let since = call.at - ended;
        return Err(format!("the last one, {what}, had ended {since} ms before"));
    }
    attempt.call = Some(call);
    Ok(())
}
