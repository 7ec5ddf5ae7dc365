//! A line after its directives were taken out: no orphaned comma, no double blank, no empty line left behind.

use super::output::Output;
use super::path;
use super::piece::{Directive, Piece, Reading};
use super::scan::{Segment, says_something};
use crate::slice;

/// What was shown of the line before.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Left {
    /// The last sign that is not blank.
    pub(super) last: Option<char>,
}

impl Left {
    pub(super) fn add(&mut self, words: &str) {
        self.last = words
            .chars()
            .rev()
            .find(|sign| !path::blank(*sign))
            .or(self.last);
    }
}

/// What is left of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// Words, or at least nothing was taken away.
    Stays,
    /// Nothing: the line is gone.
    Gone,
}

/// Puts a line out. Its first `shown` bytes are out already, `left` tells what they were.
pub(super) fn lay(
    line: &str,
    content: usize,
    segments: Vec<Segment>,
    shown: usize,
    left: &mut Left,
    output: &mut Output,
) -> Line {
    let removal = |segment: &Segment| !matches!(segment, Segment::Words { .. });
    debug_assert!(
        segments.iter().all(|segment| match segment {
            Segment::Words { .. } => true,
            Segment::Attach { start, .. } | Segment::Flag { start, .. } => *start >= shown,
        }),
        "a directive was shown"
    );
    if !segments.iter().any(removal) {
        let words = slice::from(line, shown);
        output.text(words);
        left.add(words);
        return Line::Stays;
    }
    let words = segments.iter().any(|segment| match segment {
        Segment::Words { start, end } => {
            says_something(slice::between(line, (*start).max(content), *end))
        }
        Segment::Attach { .. } | Segment::Flag { .. } => false,
    });
    if left.last.is_none() && !words {
        let lead = slice::to(line, content);
        for segment in segments {
            match segment {
                Segment::Words { .. } => {}
                Segment::Flag { flag, .. } => output.piece(Piece::Flag(flag)),
                Segment::Attach {
                    start,
                    end,
                    payload,
                } => {
                    let before = format!("{}{lead}", output.due());
                    let raw = slice::between(line, start, end);
                    let directive = directive(raw, payload, Left::default(), &before, Alone::Yes);
                    output.piece(Piece::Attach(directive));
                }
            }
        }
        output.line_removed();
        return Line::Gone;
    }
    let mut after_removal = false;
    let mut segments = segments.into_iter().peekable();
    while let Some(segment) = segments.next() {
        match segment {
            Segment::Words { start, end } => {
                let next = segments.peek();
                let before_removal = next.is_none_or(removal);
                let mut words = slice::between(line, start.max(shown), end.max(shown)).to_owned();
                if after_removal {
                    if next.is_some() && before_removal && separator(&words) {
                        continue;
                    }
                    words = joined(&words, *left);
                }
                if before_removal {
                    words.truncate(words.trim_end_matches(path::blank).len());
                }
                output.text(&words);
                left.add(&words);
                after_removal = false;
            }
            Segment::Flag { flag, .. } => {
                output.piece(Piece::Flag(flag));
                after_removal = true;
            }
            Segment::Attach {
                start,
                end,
                payload,
            } => {
                let raw = slice::between(line, start, end);
                output.piece(Piece::Attach(directive(raw, payload, *left, "", Alone::No)));
                after_removal = true;
            }
        }
    }
    Line::Stays
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alone {
    Yes,
    No,
}

fn directive(
    raw: &str,
    payload: super::payload::Payload,
    left: Left,
    before: &str,
    alone: Alone,
) -> Directive {
    let readings = payload
        .cuts
        .into_iter()
        .map(|cut| {
            let rest = joined(&cut.rest, left);
            let rest = rest.trim_end_matches(path::blank);
            Reading {
                paths: cut.paths,
                rest: match alone {
                    Alone::Yes if says_something(rest) => format!("{before}{rest}"),
                    Alone::Yes => String::new(),
                    Alone::No => rest.to_owned(),
                },
            }
        })
        .collect();
    Directive {
        readings,
        raw: raw.to_owned(),
        preferred: payload.preferred,
        own_line: alone == Alone::Yes,
    }
}

/// Words between two directives that only hold them together.
fn separator(words: &str) -> bool {
    let word =
        words.trim_matches(|sign| path::blank(sign) || matches!(sign, ',' | ';' | '、' | '，'));
    word.is_empty() || matches!(word, "and" | "&" | "+" | "|" | "-" | "–" | "·" | "•" | "/")
}

/// Words as they follow on what stands left of the directive before them.
fn joined(words: &str, left: Left) -> String {
    let mut rest = words.trim_start_matches(path::blank);
    let mut apart = rest.len() < words.len();
    let orphaned = left.last.is_none_or(|last| {
        matches!(
            last,
            ':' | '：' | ',' | ';' | '.' | '!' | '?' | '(' | '-' | '–' | '—' | '，' | '。'
        )
    });
    if orphaned {
        let without = rest.trim_start_matches(|sign| {
            path::blank(sign) || matches!(sign, ',' | '.' | ';' | '，' | '。' | '、' | '；')
        });
        apart |= without.len() < rest.len();
        rest = without;
    }
    let word = rest
        .chars()
        .next()
        .is_some_and(|sign| sign.is_alphanumeric() && !path::unspaced(sign));
    if !rest.is_empty() && left.last.is_some() && (apart || word) {
        format!(" {rest}")
    } else {
        rest.to_owned()
    }
}
