//! `process`: what runs in the background.

use std::time::Duration;

use sandbox::Exit;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Bench, read};
use crate::processes::{How, Kept, Over, Then, span};

/// Lines of a log that are shown unless told otherwise.
const LINES: usize = 50;
/// How long `wait` waits unless told otherwise, in seconds.
const WAIT: u64 = 30;
/// Most bytes of `text`.
const TEXT: usize = 48 << 10;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Log,
    Wait,
    Write,
    Kill,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    id: Option<String>,
    offset: Option<usize>,
    lines: Option<usize>,
    seconds: Option<u64>,
    text: Option<String>,
    enter: Option<bool>,
    eof: Option<bool>,
}

impl Bench<'_> {
    pub(super) async fn process(&self, arguments: &Map<String, Value>) -> Result<String, String> {
        let arguments: Arguments = read(arguments)?;
        let now = self.ports.clock.now();
        let session = self.scope.session();
        if matches!(arguments.action, Action::List) {
            let own = self.seat.processes().of(session, now);
            if own.is_empty() {
                return Ok("[nothing runs in the background]".to_owned());
            }
            let lines: Vec<String> = own.iter().map(|kept| self.line(kept)).collect();
            return Ok(lines.join("\n"));
        }
        let id = arguments
            .id
            .as_deref()
            .ok_or("say which: `id` is missing")?;
        let kept = self
            .seat
            .processes()
            .find(session, id, now)
            .map_err(|error| error.to_string())?;
        match arguments.action {
            Action::List | Action::Log => {}
            Action::Wait => {
                let most = self.tenant.spec.limits.command_seconds;
                let seconds = arguments.seconds.unwrap_or(WAIT).clamp(1, most);
                kept.wait(Duration::from_secs(seconds)).await;
            }
            Action::Write => {
                let (bytes, then) = input(&arguments)?;
                kept.write(bytes, then)
                    .await
                    .map_err(|error| format!("{id}: {error}"))?;
                return Ok(format!("[written to {id}; its log shows what it answers]"));
            }
            Action::Kill => {
                kept.kill().await;
            }
        }
        let lines = arguments.lines.unwrap_or(LINES).max(1);
        Ok(format!(
            "{}\n{}",
            self.line(&kept),
            part(&kept, arguments.offset, lines)
        ))
    }

    fn line(&self, kept: &Kept) -> String {
        let command: String = kept
            .command()
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(100)
            .collect();
        let state = match kept.over() {
            None => format!(
                "runs since {}",
                span(kept.started(), self.ports.clock.now())
            ),
            Some(over) => ended(&over, kept),
        };
        format!("[{}: {command}: {state}]", kept.id())
    }
}

fn ended(over: &Over, kept: &Kept) -> String {
    let after = span(kept.started(), over.at);
    match &over.how {
        How::Ended(ended) => match ended.exit {
            Exit::Code(code) => format!("ended after {after} with exit code {code}"),
            Exit::OutOfMemory => format!("killed after {after}: the sandbox ran out of memory"),
            Exit::TimedOut => format!("killed after {after}: its time was over"),
        },
        How::Lost(reason) => format!("gone after {after}: {reason}"),
        How::Killed => format!("killed after {after}"),
        How::Stopped => format!("stopped with the gateway after {after}"),
        How::Died => "gone with the gateway".to_owned(),
    }
}

/// What is to be written. A line is ended with `enter`; a terminal wants a carriage return for it, and takes a line feed, too.
fn input(arguments: &Arguments) -> Result<(Vec<u8>, Then), String> {
    let mut bytes = arguments.text.clone().unwrap_or_default().into_bytes();
    if bytes.len() > TEXT {
        return Err(format!("`text` takes {} KB at a time", TEXT >> 10));
    }
    if arguments.enter == Some(true) {
        bytes.push(b'\n');
    }
    let then = if arguments.eof == Some(true) {
        Then::End
    } else {
        Then::Open
    };
    if bytes.is_empty() && then == Then::Open {
        return Err("nothing to write: give `text`, `enter` or `eof`".to_owned());
    }
    Ok((bytes, then))
}

/// Lines of a log: from `offset` on, or the last ones.
fn part(kept: &Kept, offset: Option<usize>, lines: usize) -> String {
    let (head, tail, left_out) = kept.log();
    let mut all: Vec<&str> = head.lines().collect();
    let gap = format!("[{left_out} bytes were left out here]");
    if left_out > 0 {
        all.push(&gap);
        all.extend(tail.lines());
    }
    let first = match offset {
        Some(offset) => offset.max(1) - 1,
        None => all.len().saturating_sub(lines),
    };
    let total = all.len();
    let shown: Vec<&str> = all.into_iter().skip(first).take(lines).collect();
    if shown.is_empty() {
        return match total {
            0 => "[it said nothing yet]".to_owned(),
            total => format!("[its log has {total} lines]"),
        };
    }
    let last = first + shown.len();
    let mut text = shown.join("\n");
    if first > 0 || last < total {
        text.push_str(&format!("\n[lines {} to {last} of {total}]", first + 1));
    }
    text
}
