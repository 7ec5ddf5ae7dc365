//! While a line is still coming: how much of it can be shown already.
//!
//! Held back are an unfinished `MEDIA:` or flag with whatever may open it (blanks, emphasis, brackets, quotes), a link's
//! label until its address is known, and, once a directive has begun, the line to its end: only there is it known what
//! of it is a path. Whatever [`super::scan`] may take away must lie in the held part.

use super::path;
use super::scan::{FLAGS, WORD};
use crate::slice;

/// Longest label of a link that a directive may stand in, in bytes.
pub(super) const LABEL: usize = 512;

#[derive(Debug, Clone, Default)]
pub(super) struct Hold {
    /// Where the signs begin that may belong to a directive, up to the end of the line as far as it came.
    run: Option<usize>,
    /// How much of the word has come.
    matched: usize,
    /// From where the line is held for a link or a flag that is not finished.
    link: Option<usize>,
    /// Where the newest bracket stands: labels hold no brackets, and a flag has two.
    bracket: usize,
    /// A directive that may prove to be none: from where the line is held for it, and where its payload begins.
    open: Option<(usize, usize)>,
    /// A directive stands here: held to the end of the line.
    fixed: Option<usize>,
}

enum Verdict {
    Open,
    No,
    Yes,
}

impl Hold {
    /// A new line, of which nothing was shown.
    pub(super) fn new() -> Self {
        Self {
            run: Some(0),
            ..Self::default()
        }
    }

    /// From where on the line is held.
    pub(super) fn at(&self, end: usize) -> usize {
        [
            self.run,
            self.link,
            self.fixed,
            self.open.map(|(from, _)| from),
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(end)
    }

    /// Takes in the sign that stands at `at`; `line` ends with it.
    pub(super) fn push(&mut self, line: &str, at: usize, sign: char) {
        if let Some((from, payload)) = self.open {
            match verdict(slice::from(line, payload), sign) {
                Verdict::Open => {}
                Verdict::Yes => self.fixed = Some(from),
                Verdict::No => self.open = None,
            }
        }
        if self.fixed.is_some() {
            return;
        }
        self.word(line, at, sign);
        if sign == '[' {
            self.link = Some(self.run.unwrap_or(at));
            self.bracket = at;
        } else if let Some(start) = self.link {
            match link(line, self.bracket) {
                Verdict::Open => {}
                Verdict::No => self.link = None,
                Verdict::Yes => self.fixed = Some(start),
            }
        }
    }

    fn word(&mut self, line: &str, at: usize, sign: char) {
        let expected = WORD.chars().nth(self.matched);
        if self.matched > 0 && expected.is_some_and(|next| next.eq_ignore_ascii_case(&sign)) {
            self.matched += 1;
            if self.matched == WORD.len() {
                let from = self.at(at);
                if self.open.is_some() {
                    self.fixed = Some(from);
                }
                self.open = Some((from, at + sign.len_utf8()));
                self.matched = 0;
                self.run = None;
            }
            return;
        }
        if self.matched > 0 {
            self.matched = 0;
            self.run = None;
        }
        if opener(sign) {
            self.run = self.run.or(Some(at));
        } else if sign.eq_ignore_ascii_case(&'m') && path::word_can_begin(slice::to(line, at)) {
            self.run = self.run.or(Some(at));
            self.matched = 1;
        } else {
            self.run = None;
        }
    }
}

/// What may stand directly before a directive and go away with it.
pub(super) fn opener(sign: char) -> bool {
    path::blank(sign)
        || matches!(
            sign,
            '*' | '_'
                | '~'
                | '`'
                | '('
                | '（'
                | '['
                | '<'
                | '!'
                | '"'
                | '\''
                | '“'
                | '‘'
                | '「'
                | '『'
                | '【'
                | '《'
        )
}

/// Whether what follows the colon can be a path; `last` is the newest sign.
fn verdict(payload: &str, last: char) -> Verdict {
    let rest = payload.trim_start_matches(path::blank);
    let after_blank = rest.len() < payload.len();
    let mut signs = rest.chars();
    match (signs.next(), signs.next()) {
        (None, _) | (Some('/' | '\\'), None) => Verdict::Open,
        (Some('/'), Some(next)) if next == '/' || next.is_whitespace() => Verdict::No,
        (Some('/' | '\\' | '"' | '\'' | '`' | '“' | '~' | '<' | '.' | '*'), _) => Verdict::Yes,
        _ if path::certain(rest) => Verdict::Yes,
        _ if !path::blank(last) => Verdict::Open,
        _ => {
            // A closing mark that is not known yet may cut the word shorter, so that every beginning of it counts.
            let word = rest.split(path::blank).next().unwrap_or_default();
            let word = word.split(path::insane).next().unwrap_or_default();
            let dotted = word
                .match_indices('.')
                .any(|(at, _)| slice::from(word, at + 1).starts_with(char::is_alphanumeric));
            if dotted || (!after_blank && word.contains('/')) {
                Verdict::Yes
            } else {
                Verdict::No
            }
        }
    }
}

/// Whether what begins with the bracket at `bracket` can become a flag or a link to a directive.
fn link(line: &str, bracket: usize) -> Verdict {
    let inner = slice::from(line, bracket + 1);
    if slice::to(line, bracket).ends_with('[') {
        match flag(inner.trim_start()) {
            Verdict::No => {}
            decided @ (Verdict::Open | Verdict::Yes) => return decided,
        }
    }
    let Some(close) = inner.find(']') else {
        return if inner.len() > LABEL {
            Verdict::No
        } else {
            Verdict::Open
        };
    };
    let after = slice::from(inner, close + 1);
    if after.is_empty() {
        return Verdict::Open;
    }
    let Some(target) = after.strip_prefix('(') else {
        return Verdict::No;
    };
    let target = target.trim_start_matches(|sign: char| sign.is_whitespace() || sign == '<');
    if slice::begins(target, WORD) {
        Verdict::Yes
    } else if target.len() < WORD.len() && slice::begins(WORD, target) {
        Verdict::Open
    } else {
        Verdict::No
    }
}

fn flag(inner: &str) -> Verdict {
    for (name, _) in FLAGS {
        if slice::begins(name, inner) {
            return Verdict::Open;
        }
        if slice::begins(inner, name) {
            let rest = slice::from(inner, name.len()).trim_start();
            if rest.starts_with("]]") {
                return Verdict::Yes;
            }
            if rest.is_empty() || rest == "]" {
                return Verdict::Open;
            }
        }
    }
    Verdict::No
}
