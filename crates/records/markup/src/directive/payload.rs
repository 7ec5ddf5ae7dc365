//! What follows `MEDIA:` on its line: quoted, a path of Windows, a word, or a path whose end is a matter of reading.

use super::path;
use super::reading;
use super::scan::{FLAGS, WORD};
use crate::slice;

/// One way to understand a payload; `rest` as it stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) paths: Vec<String>,
    pub(super) rest: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Payload {
    pub(super) cuts: Vec<Cut>,
    pub(super) preferred: usize,
    /// How many bytes of the text belong to the directive.
    pub(super) length: usize,
}

impl Payload {
    fn one(path: &str, length: usize) -> Self {
        Self {
            cuts: vec![Cut {
                paths: vec![path::plain(path)],
                rest: String::new(),
            }],
            preferred: 0,
            length,
        }
    }
}

/// Reads what stands after the colon; `None` if it does not look like a path.
pub(super) fn parse(text: &str) -> Option<Payload> {
    let mut lead = text.len() - text.trim_start_matches(path::blank).len();
    let after_blank = lead > 0;
    let mut rest = slice::from(text, lead);
    if let Some(mark) = rest.chars().next().filter(|sign| QUOTES.contains(sign)) {
        match quoted(rest, mark) {
            Quoted::Path(path, length) => return Some(Payload::one(path, lead + length)),
            Quoted::NoPath => return None,
            Quoted::Unclosed(length) => {
                lead += length;
                rest = slice::from(text, lead);
            }
        }
    }
    if path::windows(rest) {
        let end = rest
            .find(['"', '|', '<', '>', '*', '?', '`'])
            .unwrap_or(rest.len());
        let end = end.min(next_tag(rest).unwrap_or(rest.len()));
        let path = trim_tail(slice::to(rest, end), Followed::from(end < rest.len()));
        return Some(Payload::one(path, lead + path.len()));
    }
    if !path::rooted(rest) {
        let word = relative_word(rest.split(path::blank).next()?, after_blank)?;
        let mut length = lead + word.len();
        length += end_of_sequence(slice::from(text, length));
        length += query(slice::from(text, length));
        return Some(Payload::one(word, length));
    }
    let tag = next_tag(rest);
    let reach = tag.unwrap_or(rest.len());
    let stop = slice::to(rest, reach)
        .find(['`', '"', '|', '<', '>', '\t'])
        .unwrap_or(reach);
    let path = trim_tail(slice::to(rest, stop), Followed::from(tag == Some(stop)));
    if !path::rooted(path) {
        return None;
    }
    let (mut cuts, preferred) = reading::readings(path);
    let swallowed = end_of_sequence(slice::from(rest, stop));
    let tail = slice::between(rest, path.len(), stop);
    let tail = slice::to(tail, tail.trim_end_matches(path::blank).len());
    // Punctuation behind a path with several readings belongs to the words that a reading leaves, so it goes with them.
    let with_tail = cuts.len() > 1 && tag != Some(stop);
    if with_tail {
        for cut in &mut cuts {
            cut.rest.push_str(tail);
        }
    }
    let length = if swallowed > 0 {
        stop + swallowed
    } else if with_tail {
        path.len() + tail.len()
    } else {
        path.len()
    };
    Some(Payload {
        cuts,
        preferred,
        length: lead + length,
    })
}

const QUOTES: [char; 8] = ['"', '\'', '`', '“', '‘', '<', '*', '~'];

enum Quoted<'a> {
    Path(&'a str, usize),
    NoPath,
    /// The mark's length: what follows is read as if it were not there.
    Unclosed(usize),
}

fn quoted(text: &str, mark: char) -> Quoted<'_> {
    if text.starts_with("~/") {
        return Quoted::Unclosed(0);
    }
    let length = match mark {
        '`' | '*' | '~' => slice::run(text, mark),
        _ => mark.len_utf8(),
    };
    let inner = slice::from(text, length);
    let close = match mark {
        '“' => inner.find('”').map(|at| (at, '”'.len_utf8())),
        '‘' => inner.find('’').map(|at| (at, '’'.len_utf8())),
        '<' => inner.find('>').map(|at| (at, 1)),
        '\'' => inner
            .match_indices('\'')
            .find(|(at, _)| {
                !slice::from(inner, at + 1)
                    .chars()
                    .next()
                    .is_some_and(char::is_alphanumeric)
            })
            .map(|(at, _)| (at, 1)),
        _ => inner.find(slice::to(text, length)).map(|at| (at, length)),
    };
    let Some((at, closing)) = close else {
        return if mark == '<' {
            Quoted::NoPath
        } else {
            Quoted::Unclosed(length)
        };
    };
    let path = slice::to(inner, at).trim();
    let likely = path::certain(path)
        || (!path.contains("://") && (path::has_extension(path) || path::relative(path, false)));
    if likely {
        Quoted::Path(path, length + at + closing)
    } else {
        Quoted::NoPath
    }
}

/// The path from the working directory that a word is, without what ends it.
fn relative_word(word: &str, after_blank: bool) -> Option<&str> {
    let stop = word
        .find(|sign| {
            matches!(sign, '`' | '"' | '|' | '<' | '>' | '?' | '#' | '[') || path::wide_stop(sign)
        })
        .unwrap_or(word.len());
    let stop = stop.min(next_tag(word).unwrap_or(word.len()));
    let word = trim_tail(slice::to(word, stop), Followed::Nothing);
    path::relative(word, after_blank).then_some(word)
}

/// Where the next directive or flag begins, be it glued to what stands before it.
fn next_tag(text: &str) -> Option<usize> {
    let directive = text.char_indices().find_map(|(at, _)| {
        let tag = slice::from(text, at);
        let payload = slice::begins(tag, WORD).then(|| slice::from(tag, WORD.len()))?;
        let payload = payload
            .trim_start_matches(|sign| path::blank(sign) || QUOTES.contains(&sign) && sign != '~');
        let relative = || {
            path::word_can_begin(slice::to(text, at))
                && payload
                    .split(path::blank)
                    .next()
                    .is_some_and(|word| path::relative(word, true))
        };
        (path::certain(payload) || relative()).then_some(at)
    });
    let flag = slice::to(text, directive.unwrap_or(text.len()))
        .match_indices("[[")
        .map(|(at, _)| at)
        .find(|at| {
            let name = slice::from(text, at + 2).trim_start();
            FLAGS.iter().any(|(flag, _)| slice::begins(name, flag))
        });
    flag.or(directive)
}

/// The length of a token that a model's template leaked, such as `<|eos|>`.
fn end_of_sequence(text: &str) -> usize {
    if text.starts_with("<|") {
        return text.find("|>").map_or(0, |at| at + 2);
    }
    ["</s>", "<eos>", "<EOS>"]
        .iter()
        .find(|token| text.starts_with(**token))
        .map_or(0, |token| token.len())
}

/// The length of a query or fragment that was put behind a file's name as if it were an address.
pub(super) fn query(text: &str) -> usize {
    if text.starts_with(['?', '#'])
        && slice::from(text, 1)
            .chars()
            .next()
            .is_some_and(|sign| sign.is_ascii_alphanumeric())
    {
        text.find(path::blank).unwrap_or(text.len())
    } else {
        0
    }
}

/// Whether a directive or a flag follows on the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Followed {
    Tag,
    Nothing,
}

impl From<bool> for Followed {
    fn from(tag: bool) -> Self {
        if tag { Self::Tag } else { Self::Nothing }
    }
}

/// A path without the punctuation and the closing marks that ended up behind it.
pub(super) fn trim_tail(path: &str, followed: Followed) -> &str {
    let mut path = path;
    loop {
        let before = path.len();
        path = path.trim_end_matches(|sign| {
            path::blank(sign)
                || matches!(
                    sign,
                    '.' | ','
                        | ';'
                        | ':'
                        | '!'
                        | '?'
                        | '*'
                        | '\''
                        | '’'
                        | '”'
                        | '…'
                        | '，'
                        | '。'
                        | '：'
                        | '、'
                        | '；'
                        | '！'
                        | '？'
                )
        });
        for (open, close) in [
            ('(', ')'),
            ('[', ']'),
            ('{', '}'),
            ('（', '）'),
            ('【', '】'),
            ('「', '」'),
            ('『', '』'),
            ('《', '》'),
        ] {
            if path.ends_with(close) && path.matches(close).count() > path.matches(open).count() {
                path = path.trim_end_matches(close);
            }
        }
        for marks in ["__", "~~"] {
            path = path.strip_suffix(marks).unwrap_or(path);
        }
        if followed == Followed::Tag {
            for word in [" and", " &", " +", " -", " –"] {
                path = path.strip_suffix(word).unwrap_or(path);
            }
        }
        if path.len() == before {
            return path;
        }
    }
}
