//! Takes a model's reasoning out of its answer, while the answer streams.
//!
//! Some models write their reasoning between tags into the answer itself. What stands between `<think>`, `<thinking>`,
//! `<thought>` or `<reasoning>` and its end is dropped; of `<final>` only the tags are. Code that discusses such tags stays.

#[cfg(test)]
mod tests;

use crate::block::{Blocks, Kind, LEAD};
use crate::slice;

/// Tags, and whether what they hold is dropped.
const TAGS: [(&str, Holds); 5] = [
    ("think", Holds::Reasoning),
    ("thinking", Holds::Reasoning),
    ("thought", Holds::Reasoning),
    ("reasoning", Holds::Reasoning),
    ("final", Holds::Answer),
];

/// Longest tag with its attributes, in bytes.
const TAG: usize = 80;

/// Most bytes of a line that are held for a code span to close.
const MOST: usize = 8 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Reasoning,
    Answer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Tag {
    Open(&'static str, Holds),
    Close(Holds),
}

/// Takes reasoning out of a text that comes in deltas. However it is cut, what comes out is the same.
#[derive(Debug, Clone)]
pub struct ReasoningFilter {
    blocks: Blocks,
    /// The line so far, up to the length that tells what kind it is; not what was dropped.
    head: String,
    /// Signs that are not decided: a tag's beginning, or what follows an open code span.
    held: String,
    /// Back-ticks of the code span that is open on this line, if it is one.
    span: usize,
    /// Back-ticks that stand at the end of what was shown.
    ticks: usize,
    /// Something in an open code span looks like a tag: the line is held until the span closes.
    waiting: bool,
    inside: Option<&'static str>,
    /// Blanks after a tag that was taken away are dropped where nothing stands before them.
    trim: bool,
    fresh: bool,
    out: String,
}

impl Default for ReasoningFilter {
    fn default() -> Self {
        Self::new()
    }
}

impl ReasoningFilter {
    /// At the beginning of a text.
    #[must_use]
    pub fn new() -> Self {
        Self {
            blocks: Blocks::new(),
            head: String::new(),
            held: String::new(),
            span: 0,
            ticks: 0,
            waiting: false,
            inside: None,
            trim: false,
            fresh: true,
            out: String::new(),
        }
    }

    /// Takes in what came and gives what is decided.
    pub fn feed(&mut self, delta: &str) -> String {
        for sign in delta.chars() {
            self.push(sign);
        }
        std::mem::take(&mut self.out)
    }

    /// Nothing more comes: gives the rest. Reasoning that never ended is dropped.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.settle();
        let held = std::mem::take(&mut self.held);
        if self.inside.is_none() {
            self.show(&held);
        }
        self.out
    }

    /// Whether the text, so far, is in reasoning that has not ended.
    #[must_use]
    pub fn reasoning(&self) -> bool {
        self.inside.is_some()
    }

    fn push(&mut self, sign: char) {
        if sign == '\n' {
            self.settle();
        }
        self.step(sign);
    }

    fn step(&mut self, sign: char) {
        if self.waiting {
            self.held.push(sign);
            self.wait();
        } else {
            self.plain(sign);
        }
    }

    /// A sign outside of doubtful code.
    fn plain(&mut self, sign: char) {
        if self.held.is_empty() {
            if sign == '<' && (self.inside.is_some() || !self.opaque()) {
                self.settle_ticks();
                self.held.push(sign);
            } else {
                self.pass(sign);
            }
            return;
        }
        self.held.push(sign);
        match tag(&self.held) {
            Some(None) => {}
            Some(Some(tag)) => {
                if self.span > 0 && self.inside.is_none() {
                    self.waiting = true;
                } else {
                    self.held.clear();
                    self.take(tag);
                }
            }
            None => {
                let held = std::mem::take(&mut self.held);
                let mut signs = held.chars();
                if let Some(first) = signs.next() {
                    self.pass(first);
                }
                for sign in signs {
                    self.plain(sign);
                }
            }
        }
    }

    fn take(&mut self, tag: Tag) {
        match (tag, self.inside) {
            (Tag::Open(name, Holds::Reasoning), None) => self.inside = Some(name),
            (Tag::Close(Holds::Reasoning), _) => self.inside = None,
            (Tag::Open(..) | Tag::Close(Holds::Answer), _) => {}
        }
        self.trim = self.trim || self.fresh;
    }

    /// In a code span that may not close: does it, before the newest sign?
    fn wait(&mut self) {
        let mut signs = self.held.chars();
        let last = signs.next_back();
        let before = signs.as_str();
        let run = before.len() - before.trim_end_matches('`').len();
        if run == self.span && last.is_some_and(|last| last != '`') {
            self.held.pop();
            self.code_closed();
            if let Some(last) = last {
                self.plain(last);
            }
        } else if self.held.len() > MOST {
            self.settle();
        }
    }

    fn code_closed(&mut self) {
        self.waiting = false;
        let held = std::mem::take(&mut self.held);
        self.show(&held);
        self.span = 0;
        self.ticks = 0;
    }

    /// The line ends, or is too long: what was held for a code span is decided.
    fn settle(&mut self) {
        while self.waiting {
            let run = self.held.len() - self.held.trim_end_matches('`').len();
            if run == self.span {
                self.code_closed();
                return;
            }
            // The span never closed, and so was none: its first tag counts, and with each round one is settled.
            self.waiting = false;
            self.span = 0;
            let held = std::mem::take(&mut self.held);
            for sign in held.chars() {
                self.step(sign);
            }
        }
    }

    fn opaque(&self) -> bool {
        self.blocks.fenced()
            || matches!(
                self.blocks.classify(&format!("{}<", self.head), false),
                Kind::Indented | Kind::Opening(_)
            )
            || fence_begins(&self.head)
    }

    fn pass(&mut self, sign: char) {
        if self.inside.is_some() {
            return;
        }
        let mut bytes = [0; 4];
        self.show(sign.encode_utf8(&mut bytes));
    }

    fn show(&mut self, words: &str) {
        for sign in words.chars() {
            if self.trim && sign.is_whitespace() {
                continue;
            }
            self.trim = false;
            self.out.push(sign);
            self.note(sign);
        }
    }

    /// Keeps in mind what was shown of the line.
    fn note(&mut self, sign: char) {
        self.fresh = sign == '\n' || (self.fresh && sign.is_whitespace());
        if sign == '\n' {
            let kind = self.blocks.classify(&self.head, true);
            self.blocks.end_line(&self.head, kind);
            self.head.clear();
            self.span = 0;
            self.ticks = 0;
            return;
        }
        if self.head.len() < LEAD {
            self.head.push(sign);
        }
        if sign == '`' {
            self.ticks += 1;
            return;
        }
        self.settle_ticks();
    }

    /// Back-ticks end here: a code span opens or closes.
    fn settle_ticks(&mut self) {
        if self.ticks > 0 {
            if self.span == 0 {
                self.span = self.ticks;
            } else if self.span == self.ticks {
                self.span = 0;
            }
            self.ticks = 0;
        }
    }
}

/// Whether a line begins like a fence.
fn fence_begins(head: &str) -> bool {
    let head = head.trim_start();
    ['`', '~'].into_iter().any(|mark| {
        slice::run(head, mark) >= 3 && !slice::from(head, slice::run(head, mark)).contains('`')
    })
}

/// Whether the text, which begins with `<`, is a tag of ours (`Some(Some)`), may become one (`Some(None)`) or not.
fn tag(text: &str) -> Option<Option<Tag>> {
    let inner = slice::from(text, 1);
    let (closing, name) = match inner.strip_prefix('/') {
        Some(name) => (true, name),
        None => (false, inner),
    };
    if inner.is_empty() {
        return Some(None);
    }
    if text.len() > TAG {
        return None;
    }
    let letters = name.len()
        - name
            .trim_start_matches(|sign: char| sign.is_ascii_alphabetic())
            .len();
    let (word, rest) = (slice::to(name, letters), slice::from(name, letters));
    let Some(first) = rest.chars().next() else {
        return TAGS
            .iter()
            .any(|(tag, _)| slice::begins(tag, word))
            .then_some(None);
    };
    let (tag, holds) = TAGS
        .iter()
        .find(|(tag, _)| tag.eq_ignore_ascii_case(word))?;
    match first {
        '>' if closing => Some(Some(Tag::Close(*holds))),
        '>' => Some(Some(Tag::Open(tag, *holds))),
        ' ' | '\t' if rest.ends_with('>') && closing => Some(Some(Tag::Close(*holds))),
        ' ' | '\t' if rest.ends_with('>') => Some(Some(Tag::Open(tag, *holds))),
        ' ' | '\t' if !rest.contains(['<', '\n']) => Some(None),
        _ => None,
    }
}
