//! A whole line of prose, taken apart: words, directives, flags.

use super::hold::LABEL;
use super::marks::{self, balanced, code_span};
use super::path;
use super::payload::{self, Payload};
use super::piece::Flag;
use crate::slice;

/// What a directive begins with, in letters of either case.
pub(super) const WORD: &str = "media:";

/// The flags' names, as they stand between double brackets.
pub(super) const FLAGS: [(&str, Flag); 2] = [
    ("audio_as_voice", Flag::Voice),
    ("as_document", Flag::Document),
];

/// A part of a line; positions are bytes of the line, `start` and `end` with everything that goes away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    Words {
        start: usize,
        end: usize,
    },
    Attach {
        start: usize,
        end: usize,
        payload: Payload,
    },
    Flag {
        start: usize,
        flag: Flag,
    },
}

/// Takes a line apart. `content` is where its text begins.
pub(super) fn scan(line: &str, content: usize) -> Vec<Segment> {
    let mut scan = Scan {
        line,
        words: 0,
        segments: Vec::new(),
    };
    if !json(slice::from(line, content)) {
        scan.run(content, code_tags_alone(line, content));
    }
    scan.words_until(line.len());
    scan.segments
}

/// Whether words say something: not only blanks, punctuation and marks.
pub(super) fn says_something(words: &str) -> bool {
    words.chars().any(|sign| {
        !(sign.is_whitespace()
            || path::wide_stop(sign)
            || matches!(
                sign,
                '-' | '*'
                    | '+'
                    | '•'
                    | '_'
                    | '~'
                    | '#'
                    | '`'
                    | '.'
                    | ','
                    | ':'
                    | ';'
                    | '!'
                    | '('
                    | ')'
                    | '['
                    | ']'
                    | '{'
                    | '}'
                    | '<'
                    | '>'
                    | '|'
                    | '&'
                    | '\''
                    | '"'
                    | '–'
                    | '—'
            ))
    })
}

struct Scan<'a> {
    line: &'a str,
    /// Where the words begin that were not yet made a segment.
    words: usize,
    segments: Vec<Segment>,
}

impl Scan<'_> {
    fn run(&mut self, content: usize, code_tags: bool) {
        let mut at = content;
        while let Some(sign) = slice::from(self.line, at).chars().next() {
            at = match sign {
                '`' => self.code(at, code_tags),
                '[' => self.bracket(at),
                'm' | 'M' => self.directive(at),
                _ => None,
            }
            .unwrap_or(at + sign.len_utf8());
        }
    }

    fn words_until(&mut self, end: usize) {
        if end > self.words {
            self.segments.push(Segment::Words {
                start: self.words,
                end,
            });
        }
        self.words = self.words.max(end);
    }

    fn attach(&mut self, start: usize, end: usize, payload: Payload) -> Option<usize> {
        self.words_until(start);
        self.segments.push(Segment::Attach {
            start,
            end,
            payload,
        });
        self.words = end;
        Some(end)
    }

    fn code(&mut self, at: usize, tags: bool) -> Option<usize> {
        let Some((inner, end)) = code_span(self.line, at) else {
            return Some(at + slice::run(slice::from(self.line, at), '`'));
        };
        let payload = if tags { tag_in(inner) } else { None };
        if let Some(payload) = payload {
            return self.attach(at, end, payload);
        }
        Some(end)
    }

    fn bracket(&mut self, at: usize) -> Option<usize> {
        let rest = slice::from(self.line, at);
        if let Some((flag, length)) = flag(rest) {
            self.words_until(at);
            self.segments.push(Segment::Flag { start: at, flag });
            self.words = at + length;
            return Some(at + length);
        }
        let close = rest.find(']').filter(|close| *close <= LABEL)?;
        let label = slice::between(rest, 1, close);
        if label.contains('[') {
            return None;
        }
        let target_at = at + close + 2;
        if !slice::from(rest, close + 1).starts_with('(') {
            return None;
        }
        let length = balanced(slice::from(self.line, target_at), '(', ')')?;
        let target = slice::between(self.line, target_at, target_at + length);
        let payload = tag_in(target_without_title(target))?;
        let image = slice::to(self.line, at).ends_with('!');
        let start = if image { at - 1 } else { at };
        let end = target_at + length + 1;
        let named = says_something(label) && tag_in(label).is_none();
        if named {
            self.words_until(start);
            self.segments.push(Segment::Words {
                start: at + 1,
                end: at + close,
            });
            self.words = self.words.max(at + close);
            self.segments.push(Segment::Attach {
                start,
                end,
                payload,
            });
            self.words = end;
            return Some(end);
        }
        self.attach(start, end, payload)
    }

    fn directive(&mut self, at: usize) -> Option<usize> {
        let before = slice::to(self.line, at);
        let tag = slice::from(self.line, at);
        if !slice::begins(tag, WORD) || !path::word_can_begin(before) && self.words != at {
            return None;
        }
        if quoted_mention(before, tag) {
            return None;
        }
        let frame = marks::frame(self.line, self.words, at, at + WORD.len());
        let inside = slice::between(self.line, frame.payload.start, frame.payload.end);
        let payload = payload::parse(inside)?;
        let payload_end = frame.payload.start + payload.length;
        let behind = slice::between(self.line, payload_end, frame.payload.end);
        let (start, mut end) = match frame.end {
            // Words stand between the path and the closing mark: they stay, and so do the marks.
            Some(_) if says_something(behind) => (at, payload_end),
            Some(end) => (frame.start, end),
            None => (frame.start, payload_end),
        };
        if slice::between(self.line, start, at).ends_with('[')
            && slice::from(self.line, end).starts_with('(')
        {
            end +=
                balanced(slice::from(self.line, end + 1), '(', ')').map_or(0, |length| length + 2);
        }
        self.attach(start, end, payload)
    }
}

/// The payload of a text that is one directive from its beginning to its end.
fn tag_in(text: &str) -> Option<Payload> {
    let text = text.trim();
    let text = text
        .strip_prefix('<')
        .and_then(|text| text.strip_suffix('>'))
        .unwrap_or(text);
    if !slice::begins(text, WORD) {
        return None;
    }
    payload::parse(slice::from(text, WORD.len()))
}

fn target_without_title(target: &str) -> &str {
    let trimmed = target.trim_end();
    let Some(open) = trimmed.strip_suffix('"') else {
        return target;
    };
    open.rfind(" \"").map_or(target, |at| slice::to(target, at))
}

/// Whether nothing else stands on the line than directives in code spans: then they are meant, and not shown.
fn code_tags_alone(line: &str, content: usize) -> bool {
    let mut others = String::new();
    let mut at = content;
    while let Some(sign) = slice::from(line, at).chars().next() {
        if sign == '`' {
            at = match code_span(line, at) {
                Some((inner, _)) if tag_in(inner).is_none() => return false,
                Some((_, end)) => end,
                None => at + slice::run(slice::from(line, at), '`'),
            };
            continue;
        }
        if let Some((_, length)) = flag(slice::from(line, at)) {
            at += length;
            continue;
        }
        others.push(sign);
        at += sign.len_utf8();
    }
    let others = others.trim();
    !says_something(others) || others.eq_ignore_ascii_case("and")
}

/// A flag at the beginning of the text, and its length.
fn flag(text: &str) -> Option<(Flag, usize)> {
    let inner = text.strip_prefix("[[")?;
    let trimmed = inner.trim_start();
    let (name, flag) = FLAGS
        .iter()
        .find(|(name, _)| slice::begins(trimmed, name))?;
    let after = slice::from(trimmed, name.len()).trim_start();
    after
        .starts_with("]]")
        .then(|| (*flag, text.len() - after.len() + 2))
}

/// Whether the directive stands in somebody's quotation marks, as in JSON or in speech about it.
fn quoted_mention(before: &str, tag: &str) -> bool {
    let adjacent = before.ends_with(['"', '\'', '“', '‘']);
    let inside = before.matches('"').count() % 2 == 1 && tag.contains('"');
    adjacent || inside
}

/// Whether the line begins like a member of a JSON object.
fn json(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('"') else {
        return false;
    };
    inner
        .find('"')
        .is_some_and(|at| slice::from(inner, at + 1).trim_start().starts_with(':'))
}
