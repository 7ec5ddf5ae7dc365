//! What the person sees of a command while it runs: its last line, at most once in a second.

use std::time::Duration;

use chat::Activity;
use model::ToolCall;
use tokio::time::Instant;
use waybill::ChatKey;

use super::Bench;
use crate::Ports;

/// Between two lines that are shown.
const BETWEEN: Duration = Duration::from_secs(1);
/// Most characters of a line.
const LINE: usize = 160;
/// Most bytes of a line that is not ended.
const OPEN: usize = 4096;

/// The progress of one call.
pub(super) struct Progress<'a> {
    ports: &'a Ports,
    chat: Option<&'a ChatKey>,
    id: String,
    tool: String,
    detail: String,
    /// The line that is being said.
    open: Vec<u8>,
    /// The last one that says something, if it was not shown yet.
    line: Option<String>,
    next: Instant,
}

impl<'a> Progress<'a> {
    pub(super) fn of(bench: &Bench<'a>, call: &ToolCall) -> Self {
        Self {
            ports: bench.ports,
            chat: bench.chat,
            id: call.id.clone(),
            tool: call.name.clone(),
            detail: super::detail(call),
            open: Vec::new(),
            line: None,
            next: Instant::now() + BETWEEN,
        }
    }

    /// Shows a sentence of the gateway's own at once.
    pub(super) fn tell(&mut self, sentence: &str) {
        self.line = Some(sentence.chars().take(LINE).collect());
        self.show();
    }

    /// Takes in output that is free of secrets.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        if self.chat.is_none() {
            return;
        }
        for byte in bytes {
            if matches!(byte, b'\n' | b'\r') {
                self.end_line();
            } else if self.open.len() < OPEN {
                self.open.push(*byte);
            }
        }
    }

    fn end_line(&mut self) {
        let line = plain(&String::from_utf8_lossy(&std::mem::take(&mut self.open)));
        if !line.trim().is_empty() {
            self.line = Some(line.trim().chars().take(LINE).collect());
        }
    }

    /// Returns when a line may be shown; never while there is none.
    pub(super) async fn due(&self) {
        match self.line {
            Some(_) => tokio::time::sleep_until(self.next).await,
            None => std::future::pending().await,
        }
    }

    /// Shows the line: the call begins once more, with a line below its command.
    pub(super) fn show(&mut self) {
        let (Some(chat), Some(line)) = (self.chat, self.line.take()) else {
            return;
        };
        self.next = Instant::now() + BETWEEN;
        self.ports.outlet.activity(
            chat,
            Activity::ToolBegan {
                id: self.id.clone(),
                tool: self.tool.clone(),
                detail: format!("{}\n{line}", self.detail),
            },
        );
    }
}

/// A line without what moves a cursor or colours a terminal.
pub(crate) fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut signs = line.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\u{1b}' => skip_escape(&mut signs),
            '\t' => plain.push(' '),
            sign if sign.is_control() => {}
            sign => plain.push(sign),
        }
    }
    plain
}

fn skip_escape(signs: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match signs.next() {
        // ECMA-48: a control sequence ends with a sign from `@` to `~`.
        Some('[') => while signs.next().is_some_and(|sign| !matches!(sign, '@'..='~')) {},
        // A title and its like end with a bell or `ESC \`.
        Some(']') => {
            while let Some(sign) = signs.next() {
                if sign == '\u{7}' || (sign == '\u{1b}' && signs.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        }
        Some(_) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn colours_and_titles_are_no_words() {
        for (said, shown) in [
            ("\u{1b}[1;32mok\u{1b}[0m", "ok"),
            ("\u{1b}]0;title\u{7}words", "words"),
            ("\u{1b}]0;title\u{1b}\\words", "words"),
            ("a\tb\u{8}c", "a bc"),
            ("cut \u{1b}[1", "cut "),
            ("\u{1b}", ""),
        ] {
            assert_eq!(plain(said), shown, "{said:?}");
        }
    }
}
