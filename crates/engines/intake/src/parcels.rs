//! `/outbox` and `/resend`: what a chat is told of its own parcels, and what may be done with them there. A parcel of another
//! chat, another thread included, is not there.

use std::collections::BTreeMap;

use outbox::{
    Acted, ListFilter, MessageRow, OutboxStore, PartRow, PartState, StoreError, Verb, meaning,
    view, when,
};
use waybill::{ChatKey, MessageId, Timestamp};

use crate::service::Stored;

/// Parcels in one list: what a person reads on a phone.
const MOST: usize = 10;
/// What was given up longer ago than these hours is not listed any more.
const RECENT_HOURS: i64 = 7 * 24;
/// Rows read at once. Threads of one conversation are told apart here, so more are read than are shown.
const PAGE: usize = 50;
/// Pages of one state: a bound for a group with many threads.
const PAGES: usize = 4;
/// Attempts of a part that are told.
const ATTEMPTS: usize = 3;
/// Characters of a parcel's words, and of a platform's.
const WORDS: usize = 40;
const REASON: usize = 160;

const ALL_WELL: &str = "Everything that was promised here has arrived.";
const OLDER: &str = "Nothing waits here. What was given up here is longer ago than a week.";
const DAMAGED: &str = "What is stored of this parcel can't be read any more: nothing was done with it. The gateway's log says \
                       what is damaged.";
const NONE: &str = "There is no such parcel here; `/outbox` lists what did not arrive.";

/// A chat that asks: its id, and those that it had before.
pub(crate) struct Here(Vec<ChatKey>);

impl Here {
    pub(crate) fn new(chat: &ChatKey, former: Vec<ChatKey>) -> Self {
        Self([vec![chat.clone()], former].concat())
    }

    /// What was promised here and did not simply arrive.
    pub(crate) async fn list(&self, store: &dyn OutboxStore, now: Timestamp) -> Stored<String> {
        let mut found = BTreeMap::new();
        let mut older = false;
        for state in PartState::ALL.into_iter().filter(|state| tells(*state)) {
            for row in self.with(store, state).await? {
                if row.parts.iter().any(|part| is_open(&row, part, now)) {
                    found.insert(row.id, row);
                } else {
                    older = true;
                }
            }
        }
        if found.is_empty() {
            return Ok(if older { OLDER } else { ALL_WELL }.to_owned());
        }
        let mut text = "This did not arrive yet, or not surely:\n".to_owned();
        for row in found.values().rev().take(MOST) {
            text.push_str(&entry(row, now));
        }
        if found.len() > MOST {
            text.push_str(&format!("\nOnly the newest {MOST} are shown.\n"));
        }
        text.push_str("\n`/outbox ID` tells more of one, `/resend ID` sends it again.");
        Ok(text)
    }

    /// One parcel's life.
    pub(crate) async fn show(
        &self,
        store: &dyn OutboxStore,
        argument: &str,
        now: Timestamp,
    ) -> Stored<String> {
        let found = self.own(store, argument).await;
        told(found.map(|found| found.map_or_else(|| NONE.to_owned(), |row| life(&row, now))))
    }

    /// Sends a parcel of this chat again.
    pub(crate) async fn resend(
        &self,
        store: &dyn OutboxStore,
        argument: &str,
        now: Timestamp,
    ) -> Stored<String> {
        if argument.is_empty() {
            return Ok("Which one? `/resend ID`; `/outbox` lists them with their ids.".to_owned());
        }
        told(self.send_again(store, argument, now).await)
    }

    async fn send_again(
        &self,
        store: &dyn OutboxStore,
        argument: &str,
        now: Timestamp,
    ) -> Stored<String> {
        let Some(row) = self.own(store, argument).await? else {
            return Ok(NONE.to_owned());
        };
        let acted = store.act(row.id, None, Verb::Retry, now).await?;
        Ok(acted.map_or_else(|| NONE.to_owned(), |acted| became(&row, &acted)))
    }

    /// This chat's parcels with a part in that state.
    async fn with(&self, store: &dyn OutboxStore, state: PartState) -> Stored<Vec<MessageRow>> {
        let mut own = Vec::new();
        for chat in &self.0 {
            let mut filter = ListFilter {
                state: Some(state),
                account: Some(chat.account.clone()),
                conversation: Some(chat.conversation.as_str().to_owned()),
                most: PAGE,
                ..ListFilter::default()
            };
            for _page in 0..PAGES {
                let rows = store.list(filter.clone()).await?;
                let read = rows.len();
                filter.before = rows.last().map(|row| row.id);
                // What was promised to an id that the chat had before waits in a lane of the one that it has.
                let ours = |row: &MessageRow| self.0.contains(row.waybill.chat());
                own.extend(rows.into_iter().filter(ours));
                if read < PAGE || own.len() > MOST {
                    break;
                }
            }
        }
        Ok(own)
    }

    /// The parcel that was named, if it belongs to this chat.
    async fn own(&self, store: &dyn OutboxStore, argument: &str) -> Stored<Option<MessageRow>> {
        let named = argument.split_whitespace().next().unwrap_or_default();
        let Ok(id) = named.trim_matches('`').parse::<MessageId>() else {
            return Ok(None);
        };
        let found = store.show(id).await?;
        Ok(found.filter(|row| self.0.contains(row.waybill.chat())))
    }
}

/// The answer; what can't be read, which time does not heal, is answered in words, too.
fn told(answer: Stored<String>) -> Stored<String> {
    match answer {
        Err(error @ StoreError::Unreadable { .. }) => {
            tracing::error!(%error, "a parcel that somebody asked for can't be read");
            Ok(DAMAGED.to_owned())
        }
        answer => answer,
    }
}

/// Whether parts in this state are worth a word to the chat: what arrived, was taken back or replaced is not.
fn tells(state: PartState) -> bool {
    match state {
        PartState::Queued
        | PartState::Sending
        | PartState::Retry
        | PartState::Unknown
        | PartState::Held
        | PartState::Failed
        | PartState::Expired => true,
        PartState::Sent | PartState::Cancelled | PartState::Superseded => false,
    }
}

/// Whether a part is still of interest.
fn is_open(row: &MessageRow, part: &PartRow, now: Timestamp) -> bool {
    let dead = matches!(part.state, PartState::Failed | PartState::Expired);
    let at = part.death.as_ref().map_or(row.created_at, |death| death.at);
    tells(part.state) && (!dead || now.duration_since(at).as_hours() < RECENT_HOURS)
}

/// A parcel in the list.
fn entry(row: &MessageRow, now: Timestamp) -> String {
    let mut parts = row.parts.iter().filter(|part| is_open(row, part, now));
    let told = parts.next().map(|part| fate(row, part, now));
    let more = match parts.count() {
        0 => String::new(),
        more => format!("; {more} more of its parts did not arrive either"),
    };
    format!(
        "\n- `{}`, {}: {}{more}\n",
        row.id,
        when::ago(row.created_at, now),
        told.unwrap_or_default()
    )
}

/// A part and what becomes of it.
fn fate(row: &MessageRow, part: &PartRow, now: Timestamp) -> String {
    let of = match row.parts.len() {
        1 => String::new(),
        all => format!("part {} of {all}, ", part.n),
    };
    let reason = reason(part).map_or_else(String::new, |reason| {
        format!(": {}", quoted(reason, REASON))
    });
    format!("{of}{} {}{reason}", name(part), when::standing(part, now))
}

/// Why it did not arrive, in the platform's words or ours.
fn reason(part: &PartRow) -> Option<&str> {
    match (&part.death, &part.fault) {
        (Some(death), _) => Some(&death.reason),
        (None, Some(fault)) => Some(&fault.text),
        (None, None) => None,
    }
}

fn name(part: &PartRow) -> String {
    match &part.op {
        chat::Op::File { artifact, .. } => quoted(&artifact.name, WORDS),
        chat::Op::Text(_) | chat::Op::Question { .. } if part.forgotten => "a message".to_owned(),
        chat::Op::Text(body) | chat::Op::Question { body, .. } => {
            format!("“{}”", quoted(body.text(), WORDS))
        }
    }
}

fn life(row: &MessageRow, now: Timestamp) -> String {
    let mut text = format!(
        "`{}`, {}, made {}.\n",
        row.id,
        meaning::of_kind(row.kind),
        when::ago(row.created_at, now)
    );
    let arrived = row
        .parts
        .iter()
        .filter(|part| part.state == PartState::Sent);
    match (arrived.count(), row.parts.len()) {
        (0, _) => {}
        (arrived, all) if arrived == all => text.push_str("\nIt arrived.\n"),
        (arrived, all) => text.push_str(&format!("\n{arrived} of its {all} parts arrived.\n")),
    }
    for part in &row.parts {
        if part.state == PartState::Sent {
            continue;
        }
        text.push_str(&format!("\n- {}\n", fate(row, part, now)));
        let told = part.attempts.len().saturating_sub(ATTEMPTS);
        for attempt in part.attempts.iter().skip(told) {
            let outcome = attempt
                .outcome
                .as_deref()
                .map_or("no end is recorded", |outcome| {
                    meaning::of_outcome(outcome).unwrap_or(outcome)
                });
            text.push_str(&format!(
                "    - attempt {}, {}: {}\n",
                attempt.n,
                when::ago(attempt.started_at, now),
                quoted(outcome, REASON)
            ));
        }
    }
    let again = |part: &PartRow| view::verbs(part.state).any(|verb| verb == Verb::Retry);
    if row.parts.iter().any(again) {
        text.push_str(&format!("\n`/resend {}` sends it again, at once.", row.id));
    }
    text
}

/// What became of a resend.
fn became(row: &MessageRow, acted: &Acted) -> String {
    let part = |n: u32| match row.parts.len() {
        1 => String::new(),
        _ => format!("part {n}: "),
    };
    let mut lines: Vec<String> = acted
        .changed
        .iter()
        .map(|(n, state)| format!("{}{}.", part(*n), Verb::Retry.effect(*state)))
        .collect();
    if lines.is_empty() {
        lines.push("Nothing is sent again.".to_owned());
    }
    for (n, state) in &acted.left {
        if let Some(why) = meaning::of_refusal(Verb::Retry, *state) {
            lines.push(format!("{}{why}.", part(*n)));
        }
    }
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

/// What somebody else wrote, on one line, cut, and without meaning as markdown.
fn quoted(text: &str, most: usize) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = String::new();
    for (at, sign) in one_line.chars().enumerate() {
        if at == most {
            out.push('…');
            break;
        }
        if sign.is_ascii_punctuation() && !matches!(sign, '.' | ',' | ':' | ';' | '\'' | '/' | '-')
        {
            out.push('\\');
        }
        out.push(if misleads(sign) { '�' } else { sign });
    }
    out
}

/// Controls, and characters that change the order of others (Unicode's `Bidi_Control`).
fn misleads(sign: char) -> bool {
    sign.is_control()
        || matches!(
            sign,
            '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_others_wrote_is_no_markdown_and_one_line() {
        for (wrote, most, shown) in [
            (
                "two\nlines\tand **bold**",
                40,
                "two lines and \\*\\*bold\\*\\*",
            ),
            ("[a](http://b)", 40, "\\[a\\]\\(http://b\\)"),
            ("report\u{202e}gpj.exe", 40, "report�gpj.exe"),
            ("größer als 10", 10, "größer als…"),
            ("größer als", 10, "größer als"),
        ] {
            assert_eq!(quoted(wrote, most), shown);
        }
    }
}
