//! Where to cut.

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, GraphemeIncomplete};
use waybill::Limit;

use crate::slice;

/// How many bytes at the beginning of `text` measure at most `room` units: at least one sign, so that every cut moves on.
fn fitting(text: &str, limit: Limit, room: usize) -> usize {
    let mut units = 0;
    let mut end = 0;
    for (at, sign) in text.char_indices() {
        units += match limit {
            Limit::Utf16(_) => sign.len_utf16(),
            Limit::Chars(_) => 1,
            Limit::Bytes(_) => sign.len_utf8(),
        };
        if units > room && at > 0 {
            return end;
        }
        end = at + sign.len_utf8();
    }
    end
}

/// The best places of each kind, as positions.
#[derive(Debug, Default)]
struct Places {
    paragraph: Option<usize>,
    line: Option<usize>,
    sentence: Option<usize>,
    word: Option<usize>,
}

impl Places {
    fn best(&self, floor: usize) -> Option<usize> {
        let roomy = |place: Option<usize>| place.filter(|at| *at >= floor);
        roomy(self.paragraph)
            .or_else(|| roomy(self.line))
            .or_else(|| roomy(self.sentence))
            .or(self.word)
    }
}

/// Where to end a piece that begins at `start` of `text` and has room for `room` units; `whole` are stretches that are cut
/// only if there is no other place, and no blank before `least` is a place. The position is after `start`, and `text.len()`
/// if all fits.
pub(super) fn place(
    text: &str,
    start: usize,
    limit: Limit,
    room: usize,
    whole: &[Range<usize>],
    least: usize,
) -> usize {
    let rest = slice::from(text, start);
    let most = fitting(rest, limit, room);
    if most == rest.len() {
        return text.len();
    }
    let near: Vec<&Range<usize>> = whole
        .iter()
        .filter(|range| range.start <= start + most && range.end > start)
        .collect();
    let lead = (rest.len() - rest.trim_start().len()).max(least.saturating_sub(start));
    let (mut kind, mut rough) = (Places::default(), Places::default());
    let mut before = None;
    for (at, sign) in rest.char_indices().take_while(|(at, _)| *at <= most) {
        let candidate = sign.is_whitespace() || before.is_some_and(wide_stop);
        if at > lead && candidate {
            let position = start + at;
            note(&mut rough, rest, at, before, sign);
            if !near
                .iter()
                .any(|range| range.start < position && position < range.end)
            {
                note(&mut kind, rest, at, before, sign);
            }
        }
        before = Some(sign);
    }
    let floor = most / 2;
    kind.best(floor)
        .or_else(|| rough.best(floor))
        .map_or_else(|| start + cluster(rest, most), |at| start + at)
}

/// A sentence's end in scripts that put no blank behind it.
fn wide_stop(sign: char) -> bool {
    matches!(sign, '。' | '！' | '？')
}

/// Takes a position into account: `before` stands before it, `sign` after it.
fn note(places: &mut Places, rest: &str, at: usize, before: Option<char>, sign: char) {
    let Some(before) = before else {
        return;
    };
    if wide_stop(before) && !sign.is_whitespace() {
        places.sentence = Some(at);
    }
    // The place is before the blanks, all of which go.
    if !sign.is_whitespace() || before.is_whitespace() {
        return;
    }
    places.word = Some(at);
    if matches!(before, '.' | '!' | '?' | '…' | ':') || wide_stop(before) {
        places.sentence = Some(at);
    }
    let blanks = slice::from(rest, at);
    let mut lines = 0;
    for sign in blanks
        .chars()
        .take_while(|sign| sign.is_whitespace())
        .take(64)
    {
        lines += usize::from(sign == '\n');
    }
    if lines > 0 {
        places.line = Some(at);
    }
    if lines > 1 {
        places.paragraph = Some(at);
    }
}

/// The last place at or before `most` that is not inside a cluster of signs that looks like one, or `most` itself.
fn cluster(text: &str, most: usize) -> usize {
    let mut cursor = GraphemeCursor::new(most, text.len(), true);
    let boundary: Result<bool, GraphemeIncomplete> = cursor.is_boundary(text, 0);
    if boundary.unwrap_or(true) {
        return most;
    }
    match cursor.prev_boundary(text, 0) {
        Ok(Some(at)) if at > 0 => at,
        Ok(_) | Err(_) => most,
    }
}

/// Where the next piece begins after a cut at `at` in ordinary text: blanks go, the indentation of a line stays.
pub(super) fn after_blanks(text: &str, at: usize) -> usize {
    let rest = slice::from(text, at);
    let blanks = slice::to(rest, rest.len() - rest.trim_start().len());
    if blanks.len() == rest.len() {
        return text.len();
    }
    at + blanks
        .rfind('\n')
        .map_or(blanks.len(), |newline| newline + 1)
}

/// Where the next piece begins after a cut at `at` in code: one line break goes.
pub(super) fn after_newline(text: &str, at: usize) -> usize {
    let rest = slice::from(text, at);
    if rest.starts_with("\r\n") {
        at + 2
    } else if rest.starts_with('\n') {
        at + 1
    } else {
        at
    }
}

/// Stretches between marks that isolate a direction of writing: a piece should not leave one open.
pub(super) fn isolates(text: &str) -> Vec<Range<usize>> {
    let mut open = Vec::new();
    let mut found = Vec::new();
    for (at, sign) in text.char_indices() {
        match sign {
            '\u{2066}'..='\u{2068}' => open.push(at),
            '\u{2069}' => {
                if let Some(start) = open.pop()
                    && open.is_empty()
                {
                    found.push(start..at + sign.len_utf8());
                }
            }
            _ => {}
        }
    }
    found
}
