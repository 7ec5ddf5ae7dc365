//! I1: everything has an end that somebody can see.

use std::collections::{HashMap, HashSet};

use super::{Report, name};
use crate::evidence::{Evidence, Inbound, Part, Row};
use crate::instant::milliseconds;

pub(super) fn check(evidence: &Evidence, report: &mut Report) {
    let visible: HashSet<(i64, String, String)> = evidence
        .fake
        .visible
        .iter()
        .map(|shown| (shown.bot, shown.chat.to_string(), shown.message.to_string()))
        .collect();
    let mut receipts: HashMap<(i64, &str, &str), &Row> = HashMap::new();
    for row in &evidence.product {
        for part in &row.parts {
            report.parts += 1;
            match part.state.as_str() {
                "sent" => report.delivered += 1,
                "held" => report.held += 1,
                "cancelled" | "superseded" => {}
                "failed" | "expired" => {
                    report.dead += 1;
                    if row.kind != "notice" && !noticed(evidence, row, part) {
                        let what = format!("{} was given up and nobody was told", name(row, part));
                        report.find("I1", what);
                    }
                }
                open => {
                    let what = format!("{} is still '{open}'", name(row, part));
                    report.find("I1", what);
                }
            }
            let (Some(receipt), Some(bot)) = (
                part.receipt
                    .as_deref()
                    .filter(|receipt| !receipt.is_empty()),
                evidence.driver.accounts.get(&row.account),
            ) else {
                continue;
            };
            if part.state != "sent" {
                continue;
            }
            if !visible.contains(&(*bot, row.chat.clone(), receipt.to_owned())) {
                let what = format!(
                    "{} has the receipt {receipt}, and nothing shows there",
                    name(row, part)
                );
                report.find("I1", what);
            }
            if let Some(other) = receipts.insert((*bot, &row.chat, receipt), row) {
                let what = format!(
                    "{} has the receipt {receipt}, which {} has too",
                    name(row, part),
                    other.id
                );
                report.find("I1", what);
            }
        }
    }
    let shown = shown(evidence);
    for inbound in &evidence.driver.inbound {
        answered(evidence, inbound, &shown, report);
    }
}

/// A death names its notice; where the ledger does not, one tells of it by its source, or came after it to its chat or to its
/// owner's home.
fn noticed(evidence: &Evidence, row: &Row, part: &Part) -> bool {
    let named = part
        .death
        .as_ref()
        .and_then(|death| death.notice.as_deref());
    let died = part
        .attempts
        .iter()
        .filter_map(|attempt| attempt.ended_at.as_deref().and_then(milliseconds))
        .max()
        .unwrap_or(0);
    let mut notices = evidence.product.iter().filter(|row| row.kind == "notice");
    notices.any(|notice| {
        let told = notice
            .parts
            .iter()
            .all(|part| ["sent", "held"].contains(&part.state.as_str()));
        if let Some(named) = named {
            return told && notice.id == named;
        }
        let near = notice.account == row.account && notice.chat == row.chat;
        let home = !evidence.driver.accounts.contains_key(&notice.account);
        let after = milliseconds(&notice.created_at).is_some_and(|made| made + 2 >= died);
        let meant = notice
            .source
            .as_ref()
            .is_some_and(|source| source.contains(&row.id));
        told && (meant || ((near || home) && after))
    })
}

type Shown = HashMap<(i64, i64), String>;

/// All that a bot's chat shows, in one text.
fn shown(evidence: &Evidence) -> Shown {
    let mut all = Shown::new();
    for shown in &evidence.fake.visible {
        let text = all.entry((shown.bot, shown.chat)).or_default();
        text.push_str(&shown.text);
        text.push('\n');
        if let Some(file) = &shown.file {
            text.push_str(&file.head);
            text.push('\n');
        }
    }
    all
}

fn answered(evidence: &Evidence, inbound: &Inbound, shown: &Shown, report: &mut Report) {
    let Some(bot) = evidence.driver.accounts.get(&inbound.account) else {
        let what = format!("the driver names the unknown account '{}'", inbound.account);
        report.find("evidence", what);
        return;
    };
    let text = shown.get(&(*bot, inbound.chat)).map_or("", String::as_str);
    let missing: Vec<&str> = inbound
        .markers
        .iter()
        .map(String::as_str)
        .filter(|marker| !text.contains(marker))
        .collect();
    if missing.is_empty() || (inbound.may_die && text.contains(&inbound.token)) {
        return;
    }
    let what = format!(
        "{} in {}:{} got no whole answer: {} of {} markers are missing, such as '{}'",
        inbound.token,
        inbound.account,
        inbound.chat,
        missing.len(),
        inbound.markers.len(),
        missing.first().copied().unwrap_or_default()
    );
    report.find("I1", what);
}
