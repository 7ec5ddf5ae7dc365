//! The sentences of the gateway itself about what did not arrive.

use chat::{Body, Op, RichText};
use serde::{Deserialize, Serialize};
use waybill::{ChatKey, Limit, MessageId};

use crate::MessageKind;

/// Lines that a gathered notice shows; of the rest it tells the number.
const MOST_LINES: usize = 5;

/// Longest of these lines, in UTF-16 units: five of them with the blank lines between and the number of the rest stay under
/// [`LONGEST`].
const LONGEST_LINE: usize = 700;

/// Longest gathered notice, in UTF-16 units: it fits into one message everywhere (the least is Telegram's 4,096), also under
/// the mark of a repeat.
const LONGEST: Limit = Limit::Utf16(4_096 - 32);

/// The sentences of a notice: the first few, and how many there are besides. However many come, it stays small.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gathered {
    lines: Vec<String>,
    more: u64,
}

impl Gathered {
    /// One sentence.
    #[must_use]
    pub fn new(line: &str) -> Self {
        Self {
            lines: vec![cut_line(line)],
            more: 0,
        }
    }

    /// Another one; from the sixth on only their number is kept.
    pub fn add(&mut self, line: &str) {
        if self.lines.len() < MOST_LINES {
            self.lines.push(cut_line(line));
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// Whether a sentence can be one of several and lose nothing.
    #[must_use]
    pub fn takes_whole(line: &str) -> bool {
        Limit::Utf16(LONGEST_LINE).fits(line)
    }
}

/// One notice of several: its text from the sentences that were gathered, in the form that `like` has.
#[must_use]
pub fn gather(gathered: &Gathered, like: &Op) -> Op {
    let shown = gathered.lines.iter().take(MOST_LINES);
    let mut shown: Vec<String> = shown.map(|line| cut_line(line)).collect();
    if gathered.more > 0 {
        shown.push(format!("… and {} more; /outbox lists them.", gathered.more));
    }
    let text = shown.join("\n\n");
    match like {
        Op::Text(Body::Markdown(_)) => Op::Text(Body::Markdown(text)),
        Op::Text(Body::Rich(_)) | Op::Question { .. } | Op::File { .. } => {
            let rich = markup::rich(&text);
            // Formatting may take more room than its marks did.
            let fits = LONGEST.fits(&rich.text);
            Op::Text(Body::Rich(if fits { rich } else { RichText::plain(text) }))
        }
    }
}

/// The line in place of gathered sentences that can't be read any more.
#[must_use]
pub fn lost() -> String {
    "⚠ Something was given up that can't be told here any more: its stored row is damaged. /outbox lists what was given up."
        .to_owned()
}

/// The line about a part that waits for the owner's decision.
#[must_use]
pub fn held(chat: &ChatKey, id: MessageId, op: &Op) -> String {
    format!(
        "⏸ {} waits for you: nobody can find out whether it arrived at {chat}. `tidings outbox retry {id}` sends it again, \
         `tidings outbox mark-sent {id}` or `cancel {id}` ends it.",
        name(op)
    )
}

/// The line about a file that could not be attached (`INTERFACE.md`: one line in the chat).
#[must_use]
pub fn not_attached(name: &str, reason: &str) -> String {
    format!("⚠ {name} was not attached: {reason}")
}

/// The line about a part that was given up: what, and why.
#[must_use]
pub fn undelivered(op: &Op, reason: &str) -> String {
    match op {
        Op::File { artifact, .. } => {
            format!("⚠ {} could not be delivered: {reason}", artifact.name)
        }
        Op::Text(body) | Op::Question { body, .. } => format!(
            "⚠ A message could not be delivered: {reason}. It began: “{}”",
            beginning(body)
        ),
    }
}

fn name(op: &Op) -> String {
    match op {
        Op::File { artifact, .. } => artifact.name.clone(),
        Op::Text(body) | Op::Question { body, .. } => format!("The message “{}”", beginning(body)),
    }
}

fn beginning(body: &Body) -> String {
    cut(body.text(), 60).replace('\n', " ")
}

fn cut(text: &str, most: usize) -> String {
    let mut start: String = text.chars().take(most).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}

/// The line itself, or so much of it that it has [`LONGEST_LINE`] units with the sign that it goes on.
fn cut_line(line: &str) -> String {
    if Gathered::takes_whole(line) {
        return line.to_owned();
    }
    let mut left = LONGEST_LINE - 1;
    let mut start: String = line
        .chars()
        .take_while(|letter| match left.checked_sub(letter.len_utf16()) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        })
        .collect();
    start.push('…');
    start
}

/// What was given up with a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Nothing else.
    Alone,
    /// All that waited for its chat.
    WholeChat,
}

/// The line about a part that was given up, for the owner who reads it elsewhere. A notice is told whole, since what it told
/// of is told nowhere else.
#[must_use]
pub fn undelivered_to(
    chat: &ChatKey,
    kind: MessageKind,
    op: &Op,
    reason: &str,
    loss: Loss,
) -> String {
    let too = match loss {
        Loss::Alone => "",
        Loss::WholeChat => "; this and everything else that waits for that chat was given up",
    };
    match op {
        Op::Text(body) if kind == MessageKind::Notice => {
            format!(
                "⚠ A notice could not be shown at {chat}: {reason}{too}. It said:\n\n{}",
                body.text()
            )
        }
        Op::Text(_) | Op::Question { .. } | Op::File { .. } => {
            format!("{} (to {chat}{too})", undelivered(op, reason))
        }
    }
}
