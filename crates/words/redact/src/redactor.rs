//! The matcher over every form of every value.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use waybill::Secret;

use crate::forms::forms;

/// Shortest value in bytes that is looked for: shorter ones stand in ordinary words.
pub const SHORTEST: usize = 8;

/// Before and after a name in a mark.
const BEFORE: &str = "[redacted: ";
const AFTER: &str = "]";

/// Line breaks in a row that may stand in the middle of a value; more of them end it.
const BREAKS: usize = 2;

/// The values are too many or too long to be looked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the secrets are too many or too long to be kept out of what is said; take out those that are no secrets"
)]
pub struct TooMany;

/// Takes known secrets out of text. The default knows none and lets everything pass.
#[derive(Default)]
pub struct Redactor {
    matcher: Option<Matcher>,
}

struct Matcher {
    automaton: AhoCorasick,
    /// Every form, sorted; the automaton's patterns in its order.
    forms: Vec<Vec<u8>>,
    /// What stands in place of each.
    marks: Vec<String>,
    longest: usize,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forms = self
            .matcher
            .as_ref()
            .map_or(0, |matcher| matcher.forms.len());
        write!(out, "Redactor({forms} forms)")
    }
}

/// Whether more may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It may.
    Follows,
    /// This is the end.
    Ended,
}

impl Redactor {
    /// Looks for these values; a value that has two names is called by the first. Values shorter than [`SHORTEST`] are left
    /// alone.
    ///
    /// # Errors
    /// [`TooMany`] if no matcher can be made of them.
    pub fn new<N: Into<String>>(
        values: impl IntoIterator<Item = (N, Secret)>,
    ) -> Result<Self, TooMany> {
        let mut named: BTreeMap<Vec<u8>, String> = BTreeMap::new();
        for (name, value) in values {
            let mark = format!("{BEFORE}{}{AFTER}", name.into());
            for form in forms(value.reveal()) {
                named.entry(form).or_insert_with(|| mark.clone());
            }
        }
        if named.is_empty() {
            return Ok(Self::default());
        }
        let (forms, marks): (Vec<Vec<u8>>, Vec<String>) = named.into_iter().unzip();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&forms)
            .map_err(|_too_large| TooMany)?;
        let longest = forms.iter().map(Vec::len).max().unwrap_or_default();
        Ok(Self {
            matcher: Some(Matcher {
                automaton,
                forms,
                marks,
                longest,
            }),
        })
    }

    /// Whether it looks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.matcher.is_none()
    }

    /// The text with `[redacted: NAME]` in place of each value.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Values are text, so what is left around them is text.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// As [`Redactor::redact`], for what may be no text.
    #[must_use]
    pub fn redact_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(matcher) = &self.matcher else {
            return Cow::Borrowed(bytes);
        };
        let (clean, _all) = matcher.advance(bytes, Rest::Ended);
        if clean == bytes {
            return Cow::Borrowed(bytes);
        }
        Cow::Owned(clean)
    }

    /// The name of a secret whose mark, `[redacted: NAME]`, stands in a text. Only names that it looks for.
    #[must_use]
    pub fn marked(&self, text: &str) -> Option<&str> {
        let matcher = self.matcher.as_ref()?;
        text.match_indices(BEFORE).find_map(|(at, _)| {
            let rest = text.get(at..)?;
            let mut marks = matcher.marks.iter();
            let mark = marks.find(|mark| rest.starts_with(mark.as_str()))?;
            mark.strip_prefix(BEFORE)?.strip_suffix(AFTER)
        })
    }

    /// What may be said of `bytes` by now, and how many of them that was.
    pub(crate) fn advance(&self, bytes: &[u8], rest: Rest) -> (Vec<u8>, usize) {
        match &self.matcher {
            None => (bytes.to_vec(), bytes.len()),
            Some(matcher) => matcher.advance(bytes, rest),
        }
    }
}

impl Matcher {
    fn advance(&self, bytes: &[u8], rest: Rest) -> (Vec<u8>, usize) {
        let (seen, places) = unbroken(bytes);
        let open_from = |done: usize| match rest {
            Rest::Follows => self.open(&seen, done),
            Rest::Ended => seen.len(),
        };
        let mut open = open_from(0);
        let place = |position: usize| places.get(position).copied().unwrap_or(bytes.len());
        let mut clean = Vec::with_capacity(bytes.len());
        let (mut done, mut from) = (0, 0);
        while let Some(found) = self.automaton.find(Input::new(&seen).range(done..)) {
            if found.start() >= open {
                break;
            }
            clean.extend_from_slice(bytes.get(from..place(found.start())).unwrap_or_default());
            let mark = self.marks.get(found.pattern().as_usize());
            clean.extend_from_slice(mark.map(String::as_bytes).unwrap_or_default());
            done = found.end();
            from = place(found.end().saturating_sub(1)).saturating_add(1);
            if open < done {
                open = open_from(done);
            }
        }
        let until = place(open);
        clean.extend_from_slice(bytes.get(from..until).unwrap_or_default());
        (clean, until)
    }

    /// The first place from which a value may still be growing, not before `done`.
    fn open(&self, seen: &[u8], done: usize) -> usize {
        let earliest = (seen.len() + 1).saturating_sub(self.longest);
        (earliest.max(done)..seen.len())
            .find(|start| {
                let end = seen.get(*start..).unwrap_or_default();
                let after = self.forms.partition_point(|form| form.as_slice() < end);
                let next = self.forms.get(after);
                let longer = self.forms.get(after + 1);
                // Sorted: if the form itself is next, one that goes on from it comes right behind.
                [next, longer]
                    .into_iter()
                    .flatten()
                    .any(|form| form.len() > end.len() && form.starts_with(end))
            })
            .unwrap_or(seen.len())
    }
}

/// The bytes without line breaks, and where each of them stood.
fn unbroken(bytes: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let mut seen = Vec::with_capacity(bytes.len());
    let mut places = Vec::with_capacity(bytes.len());
    let mut breaks = 0;
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(byte, b'\r' | b'\n') {
            breaks += 1;
            if breaks <= BREAKS {
                continue;
            }
        } else {
            breaks = 0;
        }
        seen.push(*byte);
        places.push(place);
    }
    (seen, places)
}
