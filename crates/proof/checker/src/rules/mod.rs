//! The rules, and what they found.

mod ends;
mod identity;
mod order;

use std::fmt;

use serde::Serialize;

use crate::evidence::{Evidence, Part, Row, Try};
use crate::join::{Join, Joined, Lane, join};

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which invariant it breaks: `I1` to `I7`, or `evidence` where a ledger can't be read.
    pub invariant: &'static str,
    /// What was seen.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.invariant, self.text)
    }
}

/// What came out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Messages that were written in.
    pub inbound: usize,
    /// Messages of the product.
    pub messages: usize,
    /// Their parts.
    pub parts: usize,
    /// Parts that were delivered.
    pub delivered: usize,
    /// Parts that were given up.
    pub dead: usize,
    /// Parts that wait for the owner.
    pub held: usize,
    /// Attempts whose end nobody knows.
    pub unknown: usize,
    /// Parts that showed more than once.
    pub repeated: usize,
    /// Answers of 429.
    pub throttled: usize,
    /// What must not be.
    pub findings: Vec<Finding>,
}

/// Judges a run.
#[must_use]
pub fn check(evidence: &Evidence) -> Report {
    let join = join(evidence);
    let mut report = Report {
        inbound: evidence.driver.inbound.len(),
        messages: evidence.product.len(),
        ..Report::default()
    };
    for what in &join.unread {
        report.find(
            "evidence",
            format!("an attempt's time can't be read: {what}"),
        );
    }
    ends::check(evidence, &mut report);
    order::check(evidence, &join, &mut report);
    identity::check(evidence, &mut report);
    report
}

impl Report {
    fn find(&mut self, invariant: &'static str, text: String) {
        self.findings.push(Finding { invariant, text });
    }
}

fn name(row: &Row, part: &Part) -> String {
    format!(
        "{} part {} ({} to {}:{})",
        row.id, part.n, row.kind, row.account, row.chat
    )
}

/// The attempts of one part, in order.
fn of_part<'a, 'b>(
    join: &'b Join<'a>,
    lane: &Lane,
    part: &'a Part,
) -> impl Iterator<Item = &'b Joined<'a>> {
    join.lanes
        .get(lane)
        .into_iter()
        .flatten()
        .filter(move |one| std::ptr::eq(one.part, part))
}

/// What an attempt's recorded end says of whether the platform did it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Done,
    NotDone,
    Unknown,
}

fn said(attempt: &Try) -> Said {
    match attempt.outcome.as_deref() {
        Some("sent" | "step" | "stepped" | "duplicate" | "no_change") => Said::Done,
        Some(
            "not_sent" | "throttled" | "temp_reject" | "perm_item" | "perm_chat" | "perm_account"
            | "moved",
        ) => Said::NotDone,
        Some(_) | None => Said::Unknown,
    }
}
