//! What the person is told when a background process has ended.

use std::time::Duration;

use outbox::{Draft, Envelope, MessageKind, NewMessage, compose};
use sandbox::Exit;
use waybill::{MessageId, Timestamp, Waybill};

use super::{How, Kept, Over};
use crate::Ports;

/// Last lines of the log that are shown.
const LINES: usize = 6;
/// Most characters of them.
const CHARACTERS: usize = 800;
/// Most characters of the command.
const COMMAND: usize = 100;
/// Tries to store a notice, and the first wait between them; doubled each time.
const TRIES: u32 = 6;
const REST: Duration = Duration::from_millis(200);

/// Tells the chat whose turn started it.
pub(super) async fn tell(ports: &Ports, install: &str, kept: &Kept) {
    let Some(message) = message(ports, install, kept) else {
        return;
    };
    let mut rest = REST;
    for attempt in 1..=TRIES {
        let stored = ports
            .inbox
            .tell(Vec::new(), vec![message.clone()], ports.clock.now());
        match stored.await {
            Ok(claimed) => return ports.outlet.carry(claimed),
            Err(error) => {
                tracing::error!(process = kept.id(), attempt, %error, "the end of a background process could not be told");
            }
        }
        tokio::time::sleep(rest).await;
        rest *= 2;
    }
}

/// Leaves what is to be said if the gateway dies meanwhile. Returns its source, to take it back by.
pub(super) async fn leave(ports: &Ports, install: &str, kept: &Kept) -> Option<String> {
    let over = Over {
        how: How::Died,
        at: kept.started(),
    };
    let message = of(ports, install, kept, &over)?;
    let source = message.source.clone();
    match ports.last_words.leave(message).await {
        Ok(()) => Some(source),
        Err(error) => {
            tracing::error!(process = kept.id(), %error, "nobody would be told of a background process if the gateway died");
            None
        }
    }
}

/// It ended otherwise, and whoever had to hear of that has.
pub(super) async fn take_back(ports: &Ports, source: Option<String>) {
    if let Some(source) = source
        && let Err(error) = ports.last_words.take_back(&source).await
    {
        tracing::error!(source, %error, "the end of a background process may be told once more at the next start");
    }
}

fn message(ports: &Ports, install: &str, kept: &Kept) -> Option<NewMessage> {
    of(ports, install, kept, &kept.over()?)
}

fn of(ports: &Ports, install: &str, kept: &Kept, over: &Over) -> Option<NewMessage> {
    let waybill = match Waybill::reply(kept.scope()) {
        Ok(waybill) => waybill,
        Err(error) => {
            tracing::info!(process = kept.id(), %error, "a background process ended, and there is nobody to tell");
            return None;
        }
    };
    let descriptor = ports.outlet.descriptor(waybill.account())?;
    let envelope = Envelope {
        id: MessageId::fresh(ports.ids.as_ref()),
        install,
        waybill: &waybill,
        kind: MessageKind::Task,
        // Numbers begin anew with every start of the gateway, also within a turn that is taken up again.
        source: &format!(
            "process:{}:{}:{}",
            kept.scope().turn(),
            kept.started().as_millisecond(),
            kept.id()
        ),
        ordinal: 0,
        descriptor: &descriptor,
        now: ports.clock.now(),
    };
    let draft = Draft {
        text: ports.redactor.redact(&words(kept, over)).into_owned(),
        ..Draft::default()
    };
    compose(envelope, draft)
}

fn words(kept: &Kept, over: &Over) -> String {
    let command = quoted(kept.command().lines().next().unwrap_or_default(), COMMAND);
    let mut text = format!(
        "Background process {} ({command}) {}.",
        kept.id(),
        ending(over, span(kept.started(), over.at))
    );
    let (head, tail, left_out) = kept.log();
    let said = if left_out == 0 { head } else { tail };
    let last = last_lines(&said);
    if !last.is_empty() {
        let fence = fence(&last);
        text.push_str(&format!("\n\n{fence}\n{last}\n{fence}"));
    }
    text
}

fn ending(over: &Over, after: String) -> String {
    match &over.how {
        How::Ended(ended) => {
            let how = match ended.exit {
                Exit::Code(code) => format!("ended after {after} with exit code {code}"),
                Exit::OutOfMemory => {
                    format!("was killed after {after}: the sandbox ran out of memory")
                }
                Exit::TimedOut => format!("was killed after {after}: its time was over"),
            };
            match &ended.note {
                Some(note) => format!("{how} ({note})"),
                None => how,
            }
        }
        How::Lost(reason) => format!("is gone after {after}: {reason}"),
        How::Died => "ended, because the gateway died while it ran; ask me to start it again if you still need it".to_owned(),
        How::Killed => format!("was killed after {after}"),
        How::Stopped => format!(
            "was stopped after {after}, because the gateway was stopped; ask me to start it again if you still need it"
        ),
    }
}

/// How long something took: `12 s`, `3 min`, `2 h 5 min`.
pub(crate) fn span(from: Timestamp, to: Timestamp) -> String {
    match to.as_second().saturating_sub(from.as_second()).max(0) {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// In a code span that its own signs can't end.
fn quoted(text: &str, most: usize) -> String {
    let mut shown: String = text
        .chars()
        .filter(|sign| !sign.is_control())
        .take(most)
        .collect();
    if text.chars().count() > most {
        shown.push('…');
    }
    let ticks = "`".repeat(longest_run(&shown) + 1);
    let gap = if shown.starts_with('`') || shown.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{gap}{shown}{gap}{ticks}")
}

fn fence(text: &str) -> String {
    "`".repeat(longest_run(text).max(2) + 1)
}

fn longest_run(text: &str) -> usize {
    text.split(|sign| sign != '`')
        .map(str::len)
        .max()
        .unwrap_or_default()
}

fn last_lines(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(crate::tools::plain)
        .filter(|line| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(LINES);
    let last = lines.into_iter().skip(first).collect::<Vec<_>>().join("\n");
    let over = last.chars().count().saturating_sub(CHARACTERS);
    last.chars().skip(over).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_said_as_people_say_it() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (seconds, said) in [
            (-5, "0 s"),
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (215, "3 min"),
            (3_600, "1 h 0 min"),
            (7_530, "2 h 5 min"),
        ] {
            assert_eq!(span(at(100), at(100 + seconds)), said);
        }
    }

    #[test]
    fn a_command_with_ticks_stays_in_its_code() {
        assert_eq!(quoted("npm run build", 100), "`npm run build`");
        assert_eq!(quoted("echo `date`", 100), "`` echo `date` ``");
        assert_eq!(quoted("abcdef", 3), "`abc…`");
    }

    #[test]
    fn the_last_lines_are_shown_without_colours_and_empty_ones() {
        let said = "1\n2\n3\n\n4\n5\n\u{1b}[32m6\u{1b}[0m\n7\n  \n";
        assert_eq!(last_lines(said), "2\n3\n4\n5\n6\n7");
        assert_eq!(last_lines(&"x".repeat(2_000)).len(), 800);
    }
}
