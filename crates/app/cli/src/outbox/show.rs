//! `tidings outbox show`: a parcel's life, the way people read a parcel tracker.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use outbox::{
    AttemptRow, Death, MessageRow, OutboxStore as _, PartRow, PartState, Verb, meaning, view, when,
};
use settings::Home;
use waybill::{Clock, MessageId, Timestamp};

use super::table::{PAGE, cell, cut, width};
use super::{Paint, list, look, no_such};
use crate::exit::Failure;
use crate::printable::printable;

/// Columns before an event's words: its time, how long ago, and blanks.
const TIME: usize = 20;
const AGO: usize = 11;
const MARGIN: usize = 2 + TIME + 2 + AGO + 2;
/// Columns of a part's words in its head.
const WORDS: usize = 60;

/// Who looks, and how.
pub(crate) struct Looker<'a> {
    /// With colours or without.
    pub(crate) paint: Paint,
    /// What was given as `--home`: the commands that are told must name it too.
    pub(crate) home: Option<&'a Path>,
    /// Now.
    pub(crate) now: Timestamp,
}

/// Shows one parcel with its whole history.
pub(crate) fn show(
    home: &Home,
    id: MessageId,
    as_json: bool,
    paint: Paint,
    given: Option<&Path>,
    clock: &dyn Clock,
) -> Result<ExitCode, Failure> {
    let row = look(home, async |store| {
        store.show(id).await.context("the outbox can't be read")
    })?;
    let row = row.ok_or_else(|| no_such(id))?;
    if as_json {
        println!("{}", list::json(&row)?);
        return Ok(ExitCode::SUCCESS);
    }
    let looker = Looker {
        paint,
        home: given,
        now: clock.now(),
    };
    for line in looker.life(&row) {
        println!("{line}");
    }
    Ok(ExitCode::SUCCESS)
}

impl Looker<'_> {
    /// A parcel with its parts and all that happened to them.
    fn life(&self, row: &MessageRow) -> Vec<String> {
        let mut lines = vec![format!(
            "{}  {}",
            self.paint.strong(&row.id.to_string()),
            self.paint.state(row.state(), row.state().name())
        )];
        let waybill = row.waybill.clone();
        lines.extend(wrapped(
            &format!(
                "{} of profile {} to {}, from {}",
                meaning::of_kind(row.kind),
                waybill.profile(),
                waybill.chat(),
                waybill.origin()
            ),
            0,
        ));
        let whose = [
            waybill.turn().map(|turn| format!("turn {turn}")),
            waybill.task().map(|task| format!("task {task}")),
        ];
        let whose: Vec<String> = whose.into_iter().flatten().collect();
        if !whose.is_empty() {
            lines.push(whose.join(", "));
        }
        lines.push(format!(
            "made {} ({}), expires {} ({})",
            stamp(row.created_at),
            when::ago(row.created_at, self.now),
            stamp(row.expires_at),
            when::ago(row.expires_at, self.now)
        ));
        for part in &row.parts {
            lines.push(String::new());
            lines.extend(self.part(row, part));
        }
        lines
    }

    fn part(&self, row: &MessageRow, part: &PartRow) -> Vec<String> {
        let mut lines = vec![format!(
            "{} {}  {}",
            self.paint
                .strong(&format!("part {} of {}", part.n, row.parts.len())),
            cut(&contents(part), WORDS),
            self.paint.state(part.state, part.state.name())
        )];
        for note in notes(part) {
            lines.extend(wrapped(note, 2));
        }
        let mut events = vec![(row.created_at, "made".to_owned(), None)];
        events.extend(part.attempts.iter().map(|attempt| {
            let (words, detail) = tried(attempt);
            (attempt.started_at, words, detail)
        }));
        events.extend(part.death.iter().flat_map(died));
        events.sort_by_key(|(at, ..)| *at);
        for (at, words, detail) in &events {
            lines.extend(self.event(*at, words));
            if let Some(detail) = detail {
                lines.extend(wrapped(detail, MARGIN + 2));
            }
        }
        lines.extend(self.next(part));
        lines.extend(self.commands(row, part));
        lines
    }

    /// What stands on one line of the timeline.
    fn event(&self, at: Timestamp, words: &str) -> Vec<String> {
        let mut lines = wrapped(words, MARGIN);
        if let Some(first) = lines.first_mut() {
            let time = format!("  {}  {}  ", stamp(at), cell(&when::ago(at, self.now), AGO));
            *first = format!("{}{}", self.paint.faint(&time), first.trim_start());
        }
        lines
    }

    /// The end, or what it waits for.
    fn next(&self, part: &PartRow) -> Vec<String> {
        match part.state {
            PartState::Sent => match &part.receipt {
                Some(receipt) if !receipt.as_str().is_empty() => wrapped(
                    &format!("arrived; the platform's receipt is {}", receipt.as_str()),
                    MARGIN,
                ),
                Some(_) | None => wrapped("counts as sent; there is no receipt", MARGIN),
            },
            PartState::Queued | PartState::Retry | PartState::Unknown
                if part.next_at > self.now =>
            {
                self.event(part.next_at, next(part.state))
            }
            PartState::Queued
            | PartState::Retry
            | PartState::Unknown
            | PartState::Sending
            | PartState::Held
            | PartState::Failed
            | PartState::Expired
            | PartState::Cancelled
            | PartState::Superseded => wrapped(meaning::of_state(part.state), MARGIN),
        }
    }

    /// What can be done with it, as commands to copy.
    fn commands(&self, row: &MessageRow, part: &PartRow) -> Vec<String> {
        let whole = match row.parts.len() {
            1 => String::new(),
            _ => format!(" --part {}", part.n),
        };
        let home = self
            .home
            .map(|home| format!(" --home {}", quoted(&home.display().to_string())))
            .unwrap_or_default();
        let lines: Vec<(String, &str)> = view::verbs(part.state)
            .map(|verb| {
                let command = format!("tidings outbox {} {}{whole}{home}", verb.name(), row.id);
                (command, purpose(verb, part.state))
            })
            .collect();
        let wide = lines
            .iter()
            .map(|(command, _)| width(command))
            .max()
            .unwrap_or(0);
        lines
            .iter()
            .map(|(command, purpose)| {
                let command = cell(command, wide);
                format!(
                    "    {command}  {}",
                    self.paint.faint(&format!("# {purpose}"))
                )
            })
            .collect()
    }
}

fn next(state: PartState) -> &'static str {
    match state {
        PartState::Unknown => "it is looked into, or sent again with a mark; not before then",
        PartState::Queued
        | PartState::Sending
        | PartState::Retry
        | PartState::Held
        | PartState::Sent
        | PartState::Failed
        | PartState::Expired
        | PartState::Cancelled
        | PartState::Superseded => "the next attempt; not before then",
    }
}

fn purpose(verb: Verb, state: PartState) -> &'static str {
    match (verb, state) {
        (Verb::Retry, PartState::Queued | PartState::Retry) => "try it at once",
        (Verb::Retry, _) => "send it again",
        (Verb::Cancel, _) => "don't send it any more",
        (Verb::MarkSent, _) => "it was seen to have arrived",
    }
}

/// What is peculiar about a part.
fn notes(part: &PartRow) -> impl Iterator<Item = &'static str> {
    [
        (
            part.rendition > 0,
            "in a plainer form: the platform refused the first one",
        ),
        (
            part.may_be_repeat,
            "an attempt without an answer came before: it may be seen twice",
        ),
        (
            part.forgotten,
            "its words were dropped some days after it was sent",
        ),
    ]
    .into_iter()
    .filter_map(|(is_so, note)| is_so.then_some(note))
}

fn contents(part: &PartRow) -> String {
    match &part.op {
        chat::Op::Text(_) | chat::Op::Question { .. } if part.forgotten => {
            part.op.name().to_owned()
        }
        chat::Op::Text(body) | chat::Op::Question { body, .. } => format!(
            "{} “{}”",
            part.op.name(),
            body.text()
                .chars()
                .take(WORDS)
                .collect::<String>()
                .trim_end()
        ),
        chat::Op::File { artifact, .. } => format!(
            "{} {} ({}, {})",
            part.op.name(),
            artifact.name,
            sandbox::size_text(artifact.blob.size),
            artifact.blob.mime
        ),
    }
}

/// An attempt in words, and the platform's.
fn tried(attempt: &AttemptRow) -> (String, Option<String>) {
    let took = attempt.ended_at.map_or_else(String::new, |ended| {
        match ended.duration_since(attempt.started_at).as_millis() {
            ms @ ..1_000 => format!(" ({ms} ms)"),
            ms => format!(" ({} s)", ms / 1_000),
        }
    });
    let Some(outcome) = attempt.outcome.as_deref() else {
        let words = format!("attempt {}: no end is recorded", attempt.n);
        return (words, attempt.detail.clone());
    };
    let words = meaning::of_outcome(outcome).unwrap_or(outcome);
    let said = attempt.detail.as_deref().filter(|said| !said.is_empty());
    let detail = match (outcome, said) {
        ("sent" | "step", said) => said.map(str::to_owned),
        (_, None) => Some(outcome.to_owned()),
        (_, Some(said)) => Some(format!("{outcome}: {said}")),
    };
    (format!("attempt {}{took}: {words}", attempt.n), detail)
}

fn died(death: &Death) -> Vec<(Timestamp, String, Option<String>)> {
    let told = match death.notice {
        Some(notice) => format!("told by {notice}"),
        None => "nobody was told yet".to_owned(),
    };
    let mut events = vec![(death.at, format!("given up: {}", death.reason), Some(told))];
    if let Some((verb, at)) = &death.resolved {
        events.push((*at, format!("then its owner wanted: {verb}"), None));
    }
    events
}

/// To the second, in UTC.
fn stamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// The text made printable, broken into lines of the page behind so many blanks.
fn wrapped(text: &str, indent: usize) -> Vec<String> {
    let blank = " ".repeat(indent);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in printable(text).split_whitespace() {
        if !line.is_empty() && indent + width(&line) + 1 + width(word) > PAGE {
            lines.push(format!("{blank}{line}"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(format!("{blank}{line}"));
    lines
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "/._-+@".contains(sign);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, evil, obeys_nothing};
    use super::*;

    fn looker(home: Option<&Path>) -> Looker<'_> {
        Looker {
            paint: Paint::Plain,
            home,
            now: at(12),
        }
    }

    #[test]
    fn what_a_stranger_or_a_platform_wrote_commands_no_terminal() {
        let lines = looker(None).life(&evil());
        for line in &lines {
            obeys_nothing(line);
        }
        assert!(lines.join("\n").contains("words"), "{lines:#?}");
    }

    #[test]
    fn a_parcels_life_is_told_in_the_order_in_which_it_happened() {
        let mut row = evil();
        row.parts.remove(0);
        let part = &mut row.parts[0];
        part.attempts[0].outcome = Some("perm_item".to_owned());
        part.attempts[0].detail = Some("400 wrong file identifier".to_owned());
        part.death = Some(Death {
            reason: "wrong file identifier".to_owned(),
            at: at(2),
            notice: None,
            resolved: Some(("retry".to_owned(), at(3))),
        });
        let text = looker(Some(Path::new("/srv/my home")))
            .life(&row)
            .join("\n");
        let place = |words: &str| {
            text.find(words)
                .unwrap_or_else(|| panic!("{words}: {text}"))
        };
        let told = [
            "12 s ago     made",
            "11 s ago     attempt 1: The platform does not take this content.",
            "perm_item: 400 wrong file identifier",
            "10 s ago     given up: wrong file identifier",
            "9 s ago      then its owner wanted: retry",
            "It was given up.",
        ];
        assert!(told.map(place).is_sorted(), "{text}");
        let command = format!("tidings outbox retry {} --home '/srv/my home'", row.id);
        assert!(text.contains(&command), "{text}");
    }

    #[test]
    fn what_waits_says_until_when() {
        let mut row = evil();
        row.parts[0].state = PartState::Retry;
        row.parts[0].next_at = at(40);
        let text = looker(None).life(&row).join("\n");
        assert!(
            text.contains("1970-01-01 00:00:40Z  in 28 s      the next attempt; not before then"),
            "{text}"
        );
        assert!(
            text.contains(&format!("tidings outbox cancel {} --part 1", row.id)),
            "{text}"
        );
    }
}
