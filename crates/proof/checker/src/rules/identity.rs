//! I7: each text and each file stands where its token says.

use std::collections::HashMap;

use super::Report;
use crate::evidence::{Call, Evidence, Inbound};

pub(super) fn check(evidence: &Evidence, report: &mut Report) {
    let tokens: HashMap<&str, &Inbound> = evidence
        .driver
        .inbound
        .iter()
        .map(|inbound| (inbound.token.as_str(), inbound))
        .collect();
    for call in &evidence.fake.calls {
        if call.shows() && call.chat != 0 {
            one(evidence, &tokens, call, report);
        }
    }
}

fn one(evidence: &Evidence, tokens: &HashMap<&str, &Inbound>, call: &Call, report: &mut Report) {
    let place = format!("{} to {} by bot {}", call.method, call.chat, call.bot);
    let words = known(tokens, &call.text);
    for inbound in &words {
        stands_right(evidence, inbound, call, &place, "words", report);
    }
    let Some(file) = &call.file else {
        let unmarked = call
            .text
            .strip_prefix(evidence.driver.mark.as_str())
            .map_or(call.text.as_str(), str::trim_start);
        let empty = evidence
            .driver
            .placeholders
            .iter()
            .chain(&evidence.driver.anonymous)
            .any(|beginning| unmarked.starts_with(beginning.as_str()));
        if words.is_empty() && !empty {
            let start: String = call.text.chars().take(60).collect();
            report.find(
                "I7",
                format!("{place}: nobody knows whose words these are: '{start}'"),
            );
        }
        return;
    };
    let bytes = known(tokens, &file.head);
    if bytes.is_empty() {
        report.find(
            "I7",
            format!("{place}: nobody knows whose file {} is", file.name),
        );
    }
    for inbound in &bytes {
        stands_right(evidence, inbound, call, &place, "file", report);
        if !file.name.contains(&inbound.token) {
            let what = format!(
                "{place}: {} holds the bytes of {}",
                file.name, inbound.token
            );
            report.find("I7", what);
        }
    }
}

fn stands_right(
    evidence: &Evidence,
    inbound: &Inbound,
    call: &Call,
    place: &str,
    what: &str,
    report: &mut Report,
) {
    let bot = evidence.driver.accounts.get(&inbound.account);
    if bot != Some(&call.bot) || inbound.chat != call.chat {
        let text = format!(
            "{place}: the {what} of {}, which was for {}:{}",
            inbound.token, inbound.account, inbound.chat
        );
        report.find("I7", text);
    }
}

/// The tokens in a text.
fn known<'a>(tokens: &HashMap<&str, &'a Inbound>, text: &str) -> Vec<&'a Inbound> {
    let mut found: Vec<&Inbound> = text
        .split(|sign: char| !sign.is_ascii_alphanumeric())
        .filter_map(|word| tokens.get(word).copied())
        .collect();
    found.dedup_by(|one, other| one.token == other.token);
    found
}
