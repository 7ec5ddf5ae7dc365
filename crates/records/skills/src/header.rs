//! The header of a `SKILL.md`: the part of YAML in which people write one.
//!
//! Understood are fields in the first column with a word, a quoted text, a text that goes on in indented lines, or a block
//! (`|`, `>`). What is indented below another field (`metadata:`) is passed over. A text without quotes may hold `: `, which
//! YAML forbids and people write.

use std::collections::BTreeMap;

use crate::Fault;

/// The header's lines, and what stands below it.
pub(crate) fn split(text: &str) -> Result<(Vec<&str>, &str), Fault> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let mut rest = text;
    let mut lines = Vec::new();
    let mut first = true;
    loop {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let line = line.trim_end_matches('\r');
        let is_mark = line.trim_end() == "---";
        match (first, is_mark) {
            (true, false) => return Err(Fault::NoHeader),
            (true, true) => first = false,
            (false, true) => return Ok((lines, after)),
            (false, false) => lines.push(line),
        }
        if after.is_empty() {
            return Err(Fault::Unclosed);
        }
        rest = after;
    }
}

/// The fields that are a text. Lines are counted from 2: the first is the mark.
pub(crate) fn fields(lines: &[&str]) -> Result<BTreeMap<String, String>, Fault> {
    let mut found = BTreeMap::new();
    let mut lines = lines.iter().copied().zip(2_usize..).peekable();
    while let Some((line, number)) = lines.next() {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let odd = || Fault::Line {
            line: number,
            text: line.chars().take(80).collect(),
        };
        let (key, value) = line.split_once(':').ok_or_else(odd)?;
        let begins = |sign: char| sign.is_ascii_alphabetic() || sign == '_';
        if !key.starts_with(begins) || key.contains(char::is_whitespace) {
            return Err(odd());
        }
        if !(value.is_empty() || value.starts_with([' ', '\t'])) {
            return Err(odd());
        }
        let mut below = Vec::new();
        while let Some((next, _)) = lines.peek().copied() {
            let blank = next.trim().is_empty();
            if !blank && !next.starts_with([' ', '\t']) {
                break;
            }
            below.push(next);
            lines.next();
        }
        if found.contains_key(key) {
            return Err(Fault::Twice(key.to_owned()));
        }
        let value = value.trim();
        let text = match value.chars().next() {
            Some('|') => Some(block(&below, Lines::Kept)),
            Some('>') => Some(block(&below, Lines::Folded)),
            Some('"') => Some(double(&joined(value, &below)).ok_or_else(odd)?),
            Some('\'') => Some(single(&joined(value, &below)).ok_or_else(odd)?),
            // Lists, maps, and what refers to another place: no text.
            Some('[' | '{' | '&' | '*' | '!' | '%' | '@' | '`') => None,
            Some(_) => Some(plain(value, &below)),
            None if below.iter().any(|line| is_nested(line)) => None,
            None => Some(plain("", &below)),
        };
        found.insert(key.to_owned(), text.unwrap_or_default());
    }
    Ok(found)
}

/// Whether a line below a field makes it a list or a map.
fn is_nested(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("- ")
        || line.split_once(':').is_some_and(|(key, value)| {
            !key.contains(char::is_whitespace) && (value.is_empty() || value.starts_with(' '))
        })
}

/// A text without quotes; a comment may end each line.
fn plain(first: &str, below: &[&str]) -> String {
    let lines = std::iter::once(first).chain(below.iter().copied());
    let words: Vec<&str> = lines
        .map(|line| {
            let line = line.trim();
            let comment = line.find(" #");
            let kept = comment.and_then(|at| line.get(..at)).unwrap_or(line);
            if line.starts_with('#') {
                ""
            } else {
                kept.trim_end()
            }
        })
        .filter(|line| !line.is_empty())
        .collect();
    words.join(" ")
}

/// A quoted text in one line.
fn joined(first: &str, below: &[&str]) -> String {
    let below = below.iter().map(|line| line.trim());
    let lines: Vec<&str> = std::iter::once(first)
        .chain(below)
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" ")
}

/// What follows a text's end: nothing, or a comment.
fn is_over(rest: &str) -> bool {
    rest.is_empty() || rest.trim_start().starts_with('#')
}

fn double(text: &str) -> Option<String> {
    let mut signs = text.strip_prefix('"')?.chars();
    let mut read = String::new();
    loop {
        match signs.next()? {
            '"' => return is_over(signs.as_str()).then_some(read),
            '\\' => read.push(match signs.next()? {
                'n' => '\n',
                't' => '\t',
                '0' => '\0',
                'x' => code(&mut signs, 2)?,
                'u' => code(&mut signs, 4)?,
                'U' => code(&mut signs, 8)?,
                sign @ ('"' | '\\' | '/' | ' ') => sign,
                _ => return None,
            }),
            sign => read.push(sign),
        }
    }
}

fn code(signs: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let text: String = signs.take(digits).collect();
    let whole = text.len() == digits;
    let code = u32::from_str_radix(&text, 16).ok().filter(|_| whole)?;
    char::from_u32(code)
}

fn single(text: &str) -> Option<String> {
    let mut signs = text.strip_prefix('\'')?.chars().peekable();
    let mut read = String::new();
    loop {
        match signs.next()? {
            '\'' if signs.peek() == Some(&'\'') => {
                signs.next();
                read.push('\'');
            }
            '\'' => {
                let rest: String = signs.collect();
                return is_over(&rest).then_some(read);
            }
            sign => read.push(sign),
        }
    }
}

/// What becomes of a block's line ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    Kept,
    Folded,
}

fn block(below: &[&str], ends: Lines) -> String {
    let deep = |line: &&str| line.len() - line.trim_start().len();
    let indent = below
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(deep)
        .min()
        .unwrap_or(0);
    let mut text = String::new();
    for line in below {
        let line = line.get(indent..).unwrap_or("").trim_end();
        if !text.is_empty() {
            let apart = ends == Lines::Kept || line.is_empty() || text.ends_with('\n');
            text.push(if apart { '\n' } else { ' ' });
        }
        text.push_str(line);
    }
    text.trim().to_owned()
}
