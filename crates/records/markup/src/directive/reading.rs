//! Where an unquoted path with blanks may end: all the readings, best first.
//!
//! An existing longer path is stronger evidence than a shorter one, so that whoever looks tries long ones first; where
//! none exists, the shortest that looks like a file's name is what the model most likely meant.

use super::path;
use super::payload::{Cut, Followed, query, trim_tail};
use crate::slice;

/// Most readings of one directive.
const MOST: usize = 12;

/// Longest path that is cut out of prose, in bytes. A whole line may be longer.
const LONGEST: usize = 1024;

/// Most readings that end in an extension, and most that don't.
const WITH_EXTENSION: usize = 6;
const WITHOUT_EXTENSION: usize = 3;

/// A single path and the words behind it.
struct Single<'a> {
    path: &'a str,
    rest: &'a str,
    /// The cut goes through a word.
    glued: bool,
}

/// All readings and the position of the preferred one.
pub(super) fn readings(payload: &str) -> (Vec<Cut>, usize) {
    let parts = parts(payload);
    let Some((last, before)) = parts.split_last() else {
        return (Vec::new(), 0);
    };
    let (singles, preferred) = singles(last);
    let cut = |paths: &[&str], path: &str, rest: &str| Cut {
        paths: paths
            .iter()
            .chain([&path])
            .map(|path| path::plain(path))
            .collect(),
        rest: rest.to_owned(),
    };
    let mut cuts: Vec<Cut> = singles
        .iter()
        .map(|single| cut(before, single.path, single.rest))
        .collect();
    if let Some(first) = before.first() {
        cuts.truncate(MOST - 2);
        cuts.push(cut(&[], payload, ""));
        cuts.push(cut(&[], first, slice::from(payload, first.len())));
    }
    cuts.truncate(MOST);
    (cuts, preferred)
}

/// The paths of a list such as `/one.png, /two.png and /three.png`, the last with all that follows it.
fn parts(payload: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in payload.char_indices().skip(1) {
        let before = slice::between(payload, start, at);
        let after_separator =
            before.ends_with(|sign| path::blank(sign) || matches!(sign, ',' | ';' | '、' | '，'));
        if at > start && after_separator && path::rooted(slice::from(payload, at)) {
            let part = trim_tail(before, Followed::Tag);
            if !part.is_empty() && (path::has_extension(part) || !part.contains(path::blank)) {
                parts.push(part);
                start = at;
            }
        }
    }
    parts.push(slice::from(payload, start));
    parts
}

fn singles(text: &str) -> (Vec<Single<'_>>, usize) {
    let mut found: Vec<Single<'_>> = Vec::new();
    for (end, glued) in ends(text) {
        let path = trim_tail(slice::to(text, end), Followed::Nothing);
        if !path::rooted(path) || found.iter().any(|single| single.path == path) {
            continue;
        }
        let mut rest = slice::from(text, path.len());
        if path::has_extension(path) {
            rest = slice::from(rest, query(rest));
        } else if rest.starts_with(['?', '#']) {
            continue;
        }
        found.push(Single { path, rest, glued });
    }
    found.sort_by_key(|single| std::cmp::Reverse(single.path.len()));
    let named = |single: &Single<'_>| path::has_extension(single.path);
    let (mut with, mut without): (Vec<_>, Vec<_>) = found.into_iter().partition(named);
    let whole = without
        .first()
        .is_some_and(|single| single.rest.is_empty())
        .then(|| without.remove(0));
    thin(&mut with, WITH_EXTENSION);
    let short = without.len().saturating_sub(WITHOUT_EXTENSION);
    let all: Vec<Single<'_>> = with
        .into_iter()
        .chain(whole)
        .chain(without.into_iter().skip(short))
        .collect();
    let preferred = preferred(&all);
    (all, preferred)
}

/// Keeps the longest and the shortest.
fn thin(singles: &mut Vec<Single<'_>>, most: usize) {
    let half = most / 2;
    if singles.len() > most {
        singles.drain(half..singles.len() - (most - half));
    }
}

fn preferred(singles: &[Single<'_>]) -> usize {
    let shortest = |fits: &dyn Fn(&Single<'_>) -> bool| {
        singles
            .iter()
            .enumerate()
            .filter(|(_, single)| fits(single))
            .min_by_key(|(_, single)| single.path.len())
            .map(|(at, _)| at)
    };
    let unglued = |single: &Single<'_>| !single.glued && path::has_known_extension(single.path);
    // A cut through a word counts where the other half looks like the beginning of a sentence.
    let sentence = |single: &Single<'_>| {
        single.glued
            && single
                .rest
                .chars()
                .next()
                .is_some_and(|sign| sign.is_uppercase() || !sign.is_ascii())
    };
    shortest(&unglued)
        .or_else(|| shortest(&sentence))
        .or_else(|| shortest(&|single| !single.glued && path::has_extension(single.path)))
        .or_else(|| shortest(&|single| !single.glued && !single.rest.contains('/')))
        .unwrap_or(0)
}

/// Positions where a path may end, and whether each cuts through a word.
fn ends(text: &str) -> Vec<(usize, bool)> {
    let mut ends = vec![(text.len(), false)];
    let mut after_blank = false;
    for (at, sign) in text
        .char_indices()
        .skip(1)
        .take_while(|(at, _)| *at <= LONGEST)
    {
        let blank = path::blank(sign);
        if (blank && !after_blank)
            || path::wide_stop(sign)
            || matches!(sign, '?' | '#' | '(' | ',' | ';')
        {
            ends.push((at, false));
        }
        if sign == '.' {
            let after_dot = slice::from(text, at + 1);
            ends.extend(path::glued_extensions(after_dot).map(|length| (at + 1 + length, true)));
        }
        after_blank = blank;
    }
    ends
}
