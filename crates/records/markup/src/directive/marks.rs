//! Marks around a directive: emphasis, brackets, code.

use std::ops::Range;

use crate::slice;

/// What stands around a directive.
pub(super) struct Frame {
    /// Where its opening marks begin, or the directive itself.
    pub(super) start: usize,
    /// Where its payload may lie.
    pub(super) payload: Range<usize>,
    /// Where its closing marks end, if it has any.
    pub(super) end: Option<usize>,
}

/// The marks around the directive at `word`, whose payload begins at `payload`; nothing before `from` belongs to it.
pub(super) fn frame(line: &str, from: usize, word: usize, payload: usize) -> Frame {
    let mut marks = Vec::new();
    let mut start = word;
    while let Some((length, closer)) = wrapper(slice::between(line, from, start)) {
        start -= length;
        marks.push((start, closer));
    }
    let bare = Frame {
        start: word,
        payload: payload..line.len(),
        end: None,
    };
    let Some((opening, innermost)) = marks.first() else {
        return bare;
    };
    let inner = slice::from(line, payload);
    if is_emphasis(innermost) && inner.starts_with(innermost.as_str()) {
        // As in `**MEDIA:** /x.png`.
        return Frame {
            start: *opening,
            payload: payload + innermost.len()..line.len(),
            end: None,
        };
    }
    let Some(length) = closing(inner, innermost) else {
        return bare;
    };
    let bound = payload + length;
    let (mut start, mut end) = (word, bound);
    for (opening, closer) in &marks {
        if !slice::from(line, end).starts_with(closer.as_str()) {
            break;
        }
        start = *opening;
        end += closer.len();
    }
    Frame {
        start,
        payload: payload..bound,
        end: Some(end),
    }
}

fn is_emphasis(closer: &str) -> bool {
    closer.starts_with(['*', '_', '~'])
}

/// The mark that opens directly before a directive: its length and what closes it.
fn wrapper(before: &str) -> Option<(usize, String)> {
    let last = before.chars().next_back()?;
    let close = match last {
        '*' | '_' | '~' => {
            let length = before.len() - before.trim_end_matches(last).len();
            return Some((length, String::from(last).repeat(length)));
        }
        '(' => ')',
        '[' => ']',
        '<' => '>',
        '（' => '）',
        '【' => '】',
        '「' => '」',
        '『' => '』',
        '《' => '》',
        _ => return None,
    };
    Some((last.len_utf8(), close.to_string()))
}

/// Where the closing mark stands.
fn closing(inner: &str, closer: &str) -> Option<usize> {
    let mark = closer.chars().next()?;
    match mark {
        ')' => balanced(inner, '(', ')'),
        ']' => balanced(inner, '[', ']'),
        '_' => inner
            .match_indices(closer)
            .find(|(at, _)| {
                !slice::from(inner, at + closer.len())
                    .chars()
                    .next()
                    .is_some_and(|sign| sign.is_alphanumeric() || sign == '_')
            })
            .map(|(at, _)| at),
        _ => inner.find(closer),
    }
}

/// Where the bracket closes that was open before the text.
pub(super) fn balanced(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, sign) in text.char_indices() {
        if sign == open {
            depth += 1;
        } else if sign == close {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(at),
            }
        }
    }
    None
}

/// The inside of a code span that opens at `at`, and where it ends.
pub(super) fn code_span(line: &str, at: usize) -> Option<(&str, usize)> {
    let length = slice::run(slice::from(line, at), '`');
    let start = at + length;
    let mut from = start;
    loop {
        let open = from + slice::from(line, from).find('`')?;
        let run = slice::run(slice::from(line, open), '`');
        if run == length {
            return Some((slice::between(line, start, open), open + run));
        }
        from = open + run;
    }
}
