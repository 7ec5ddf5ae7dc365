//! What came of a run, a line a row.

use std::collections::BTreeMap;

use crate::case::Outcome;

#[derive(Default)]
struct Line {
    cases: usize,
    ends: usize,
    inbound: usize,
    parts: usize,
    delivered: usize,
    dead: usize,
    unknown: usize,
    repeated: usize,
    throttled: usize,
    findings: usize,
}

impl Line {
    fn add(&mut self, outcome: &Outcome) {
        let report = &outcome.report;
        self.cases += 1;
        self.ends += outcome.ends;
        self.inbound += report.inbound;
        self.parts += report.parts;
        self.delivered += report.delivered;
        self.dead += report.dead;
        self.unknown += report.unknown;
        self.repeated += report.repeated;
        self.throttled += report.throttled;
        self.findings += report.findings.len();
    }

    fn write(&self, name: &str) -> String {
        format!(
            "{name:<18}{:>6}{:>7}{:>10}{:>8}{:>11}{:>6}{:>9}{:>10}{:>6}{:>10}\n",
            self.cases,
            self.ends,
            self.inbound,
            self.parts,
            self.delivered,
            self.dead,
            self.unknown,
            self.repeated,
            self.throttled,
            self.findings
        )
    }
}

/// The table of a run, by row and by behaviour, with the sum.
#[must_use]
pub fn table(outcomes: &[Outcome]) -> String {
    let mut rows: BTreeMap<(usize, &str), Line> = BTreeMap::new();
    let mut behaviours: BTreeMap<&str, Line> = BTreeMap::new();
    let mut sum = Line::default();
    for outcome in outcomes {
        let name = outcome.case.row.name;
        let place = crate::mishap::ROWS.iter().position(|row| row.name == name);
        rows.entry((place.unwrap_or(usize::MAX), name))
            .or_default()
            .add(outcome);
        behaviours
            .entry(outcome.case.behaviour.name())
            .or_default()
            .add(outcome);
        sum.add(outcome);
    }
    let mut text = format!(
        "{:<18}{:>6}{:>7}{:>10}{:>8}{:>11}{:>6}{:>9}{:>10}{:>6}{:>10}\n",
        "row",
        "cases",
        "ends",
        "messages",
        "parts",
        "delivered",
        "dead",
        "unknown",
        "repeated",
        "429",
        "findings"
    );
    for ((_, name), line) in &rows {
        text.push_str(&line.write(name));
    }
    text.push('\n');
    for (name, line) in &behaviours {
        text.push_str(&line.write(name));
    }
    text.push('\n');
    text.push_str(&sum.write("all"));
    for outcome in outcomes.iter().filter(|outcome| !outcome.is_good()) {
        text.push_str(&format!("\n{}\n", outcome.case.command()));
        for finding in outcome.findings().iter().take(20) {
            text.push_str(&format!("  {finding}\n"));
        }
    }
    text
}
