//! The machine: one character at a time, a line at a time.

use super::Piece;
use super::hold::Hold;
use super::layout::{self, Left, Line};
use super::output::Output;
use super::path;
use super::scan;
use crate::block::{self, Blocks, Kind};
use crate::slice;

/// Most bytes of a line that are kept. Beyond, what is held is decided as if the line ended, and the line goes on.
const MOST: usize = 8 * 1024;

/// Takes directives and flags out of a text that comes in deltas.
///
/// However the text is cut, the pieces' texts joined, the directives and the flags are the same. Nothing that belongs to a
/// directive is ever part of a text piece; a text piece, once given, is never taken back. At most 8 KiB of a line and 8 KiB
/// of blank lines are held. Blank lines before the first word and blanks after the last are dropped.
#[derive(Debug, Clone)]
pub struct DirectiveParser {
    blocks: Blocks,
    line: String,
    shown: usize,
    kind: Kind,
    hold: Hold,
    left: Left,
    /// The beginning of the line was decided and dropped, since the line is too long.
    going_on: bool,
    /// Something of the line was taken away.
    removed: bool,
    output: Output,
}

impl Default for DirectiveParser {
    fn default() -> Self {
        Self::new()
    }
}

impl DirectiveParser {
    /// At the beginning of a text.
    #[must_use]
    pub fn new() -> Self {
        Self {
            blocks: Blocks::new(),
            line: String::new(),
            shown: 0,
            kind: Kind::Undecided,
            hold: Hold::new(),
            left: Left::default(),
            going_on: false,
            removed: false,
            output: Output::default(),
        }
    }

    /// Takes in what came and gives what is decided.
    pub fn feed(&mut self, delta: &str) -> Vec<Piece> {
        for sign in delta.chars() {
            if sign == '\n' {
                self.end_line("\n");
            } else {
                self.push(sign);
            }
        }
        self.output.take()
    }

    /// Nothing more comes: gives the rest.
    #[must_use]
    pub fn finish(mut self) -> Vec<Piece> {
        self.end_line("");
        self.output.take()
    }

    fn push(&mut self, sign: char) {
        let at = self.line.len();
        self.line.push(sign);
        match self.kind {
            Kind::Undecided => {
                let too_long = self.line.len() > block::LEAD;
                self.kind = match self.blocks.classify(&self.line, too_long) {
                    Kind::Blank | Kind::Opening(_) => Kind::Prose {
                        content: 0,
                        list: None,
                        indent: 0,
                    },
                    kind @ (Kind::Undecided
                    | Kind::Prose { .. }
                    | Kind::Opaque
                    | Kind::Indented) => kind,
                };
                match self.kind {
                    Kind::Prose { content, .. } => {
                        self.hold_again(content);
                        self.release();
                    }
                    Kind::Opaque | Kind::Indented => self.show(self.line.len()),
                    Kind::Undecided | Kind::Blank | Kind::Opening(_) => {}
                }
            }
            Kind::Prose { .. } => {
                self.hold.push(&self.line, at, sign);
                self.release();
            }
            Kind::Opaque | Kind::Indented | Kind::Blank | Kind::Opening(_) => {
                self.show(self.line.len());
            }
        }
        if self.line.len() >= MOST {
            self.shorten();
        }
    }

    fn release(&mut self) {
        self.show(self.hold.at(self.line.len()));
    }

    fn show(&mut self, until: usize) {
        if until > self.shown {
            let words = slice::between(&self.line, self.shown, until);
            self.left.add(words);
            self.output.text(words);
            self.shown = until;
        }
    }

    /// The line is too long to keep: drops what was shown, and if too much is held, decides it.
    fn shorten(&mut self) {
        let prose = matches!(self.kind, Kind::Prose { .. });
        let kept = if prose && self.shown >= MOST / 2 {
            slice::from(&self.line, self.shown).to_owned()
        } else if prose {
            self.lay();
            String::new()
        } else {
            self.show(self.line.len());
            String::new()
        };
        self.line = kept;
        self.shown = 0;
        self.going_on = true;
        self.hold = Hold::default();
        if let Kind::Prose { content, .. } = &mut self.kind {
            *content = 0;
        }
        self.hold_again(0);
    }

    fn hold_again(&mut self, content: usize) {
        for (at, sign) in self.line.char_indices().filter(|(at, _)| *at >= content) {
            let until = slice::to(&self.line, at + sign.len_utf8());
            self.hold.push(until, at, sign);
        }
    }

    /// Puts out what the line holds, without its directives.
    fn lay(&mut self) {
        let content = match self.kind {
            Kind::Prose { content, .. } => content,
            Kind::Undecided | Kind::Blank | Kind::Opaque | Kind::Indented | Kind::Opening(_) => 0,
        };
        let segments = scan::scan(&self.line, content);
        let line = layout::lay(
            &self.line,
            content,
            segments,
            self.shown,
            &mut self.left,
            &mut self.output,
        );
        self.removed |= line == Line::Gone;
        self.shown = self.line.len();
    }

    fn end_line(&mut self, newline: &str) {
        if self.kind == Kind::Undecided {
            self.kind = self.blocks.classify(&self.line, true);
        }
        let carriage = matches!(self.kind, Kind::Prose { .. })
            && self.line.ends_with('\r')
            && self.shown < self.line.len()
            && !newline.is_empty();
        if carriage {
            self.line.pop();
        }
        let ending = match (carriage, newline) {
            (true, _) => "\r\n",
            (false, newline) => newline,
        };
        match self.kind {
            Kind::Blank | Kind::Undecided => {}
            Kind::Opaque | Kind::Indented | Kind::Opening(_) => self.show(self.line.len()),
            Kind::Prose { .. } => {
                if newline.is_empty() {
                    let kept = self.line.trim_end_matches(path::blank).len();
                    self.line.truncate(kept.max(self.shown));
                }
                self.lay();
            }
        }
        let gone = self.removed && self.left.last.is_none();
        if !gone {
            let blank = if self.kind == Kind::Blank && !self.going_on {
                self.line.as_str()
            } else {
                ""
            };
            self.output.end_line(blank, ending);
        }
        if !self.going_on || !self.blocks.fenced() {
            self.blocks.end_line(&self.line, self.kind);
        }
        self.line.clear();
        self.shown = 0;
        self.kind = Kind::Undecided;
        self.hold = Hold::new();
        self.left = Left::default();
        self.going_on = false;
        self.removed = false;
    }
}
