//! What kind of line a line is: prose, or something whose words are shown as they are (code, quotations, JSON).

use crate::slice;

/// Beyond this many bytes of blanks and markers a line counts as prose.
pub(crate) const LEAD: usize = 512;

/// An open code fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence {
    mark: char,
    length: usize,
    indent: usize,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// More of it has to be seen.
    Undecided,
    /// Nothing but blanks.
    Blank,
    /// Ordinary text.
    Prose {
        /// Where the text begins, after indentation and list markers, in bytes.
        content: usize,
        /// The column of the text, if a list marker stands before it.
        list: Option<usize>,
        /// The line's indentation in columns.
        indent: usize,
    },
    /// Shown as it is: inside a fence, a quotation, JSON.
    Opaque,
    /// Shown as it is: code by indentation.
    Indented,
    /// A fence opens here.
    Opening(Fence),
}

/// The blocks that are open between two lines.
#[derive(Debug, Clone)]
pub(crate) struct Blocks {
    fence: Option<Fence>,
    after_blank: bool,
    in_indented: bool,
    list: Option<usize>,
}

impl Blocks {
    /// The beginning of a text counts as the line after a blank one.
    pub(crate) fn new() -> Self {
        Self {
            fence: None,
            after_blank: true,
            in_indented: false,
            list: None,
        }
    }

    /// Whether the next line stands in a fence.
    pub(crate) fn fenced(&self) -> bool {
        self.fence.is_some()
    }

    /// What the line is, as far as `line` tells; `whole` says that nothing follows on it.
    pub(crate) fn classify(&self, line: &str, whole: bool) -> Kind {
        let (mut at, indent) = indentation(line);
        if slice::from(line, at).is_empty() {
            return if whole { Kind::Blank } else { Kind::Undecided };
        }
        if self.fence.is_some() {
            return Kind::Opaque;
        }
        if indent >= self.list.unwrap_or(0) + 4 && (self.after_blank || self.in_indented) {
            return Kind::Indented;
        }
        let mut list = None;
        loop {
            let rest = slice::from(line, at);
            match marker(rest, whole) {
                Marker::Open => return Kind::Undecided,
                Marker::None => break,
                Marker::Of(length) => {
                    at += length;
                    at += indentation(slice::from(line, at)).0;
                    list = Some(slice::to(line, at).chars().count());
                }
            }
        }
        let prose = Kind::Prose {
            content: at,
            list,
            indent,
        };
        let rest = slice::from(line, at);
        let mut signs = rest.chars();
        match (signs.next(), signs.next()) {
            (None, _) if !whole => Kind::Undecided,
            (Some('['), None) if !whole => Kind::Undecided,
            (Some('>' | '{'), _) | (Some('['), Some('{' | '"')) => Kind::Opaque,
            (Some(mark @ ('`' | '~')), _) => fence(rest, mark, indent, whole).unwrap_or(prose),
            _ => prose,
        }
    }

    /// Moves on to the next line.
    pub(crate) fn end_line(&mut self, line: &str, kind: Kind) {
        if let Some(open) = self.fence {
            if closes(open, line) {
                self.fence = None;
            }
            self.after_blank = false;
            return;
        }
        match kind {
            Kind::Blank | Kind::Undecided => self.after_blank = true,
            Kind::Indented => {
                self.in_indented = true;
                self.after_blank = false;
            }
            Kind::Opening(fence) => {
                self.fence = Some(fence);
                self.leave(indentation(line).1, None);
            }
            Kind::Prose { list, indent, .. } => self.leave(indent, list),
            Kind::Opaque => self.leave(indentation(line).1, None),
        }
    }

    fn leave(&mut self, indent: usize, list: Option<usize>) {
        if list.is_some() {
            self.list = list;
        } else if self.after_blank && self.list.is_some_and(|column| indent < column) {
            self.list = None;
        }
        self.in_indented = false;
        self.after_blank = false;
    }
}

/// The indentation's bytes and columns.
fn indentation(line: &str) -> (usize, usize) {
    let mut columns = 0;
    for (at, sign) in line.char_indices() {
        match sign {
            ' ' | '\r' => columns += 1,
            '\t' => columns += 4 - columns % 4,
            _ => return (at, columns),
        }
    }
    (line.len(), columns)
}

enum Marker {
    None,
    Open,
    Of(usize),
}

/// A list marker with the blank after it.
fn marker(rest: &str, whole: bool) -> Marker {
    let digits = rest.len()
        - rest
            .trim_start_matches(|sign: char| sign.is_ascii_digit())
            .len();
    let after_digits = slice::from(rest, digits);
    let length = match (digits, after_digits.chars().next()) {
        (0, Some(sign @ ('-' | '*' | '+' | '•'))) => sign.len_utf8(),
        (1..=9, None) if !whole => return Marker::Open,
        (1..=9, Some('.' | ')')) => digits + 1,
        _ => return Marker::None,
    };
    match slice::from(rest, length).chars().next() {
        Some(' ' | '\t') => Marker::Of(length),
        None if !whole => Marker::Open,
        _ => Marker::None,
    }
}

fn fence(rest: &str, mark: char, indent: usize, whole: bool) -> Option<Kind> {
    let length = slice::run(rest, mark);
    let info = slice::from(rest, length);
    if length < 3 {
        return (info.is_empty() && !whole).then_some(Kind::Undecided);
    }
    if mark == '`' && info.contains('`') {
        return None;
    }
    if !whole {
        return Some(Kind::Undecided);
    }
    Some(Kind::Opening(Fence {
        mark,
        length,
        indent,
    }))
}

fn closes(open: Fence, line: &str) -> bool {
    let (at, indent) = indentation(line);
    let rest = slice::from(line, at);
    let length = slice::run(rest, open.mark);
    indent <= open.indent + 5
        && length >= open.length
        && slice::from(rest, length).trim().is_empty()
}
