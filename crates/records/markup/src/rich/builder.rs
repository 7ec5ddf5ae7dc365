//! The text that grows, and its spans.

use chat::{RichText, Span, Style};

/// Lines are broken lazily: a break that nothing follows is never written, and no span begins or ends in one.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    text: String,
    /// The text's length in UTF-16 units.
    units: usize,
    spans: Vec<Span>,
    /// Line breaks before the next word.
    breaks: usize,
    /// What stands before each further line of a list's item.
    indent: String,
    verbatim: bool,
}

impl Builder {
    fn push(&mut self, words: &str) {
        self.units += words.encode_utf16().count();
        self.text.push_str(words);
    }

    /// Puts the breaks that are due, with the indentation of the line that begins.
    pub(crate) fn due(&mut self) {
        if self.text.is_empty() {
            self.breaks = 0;
            return;
        }
        if self.breaks > 0 {
            let breaks = "\n".repeat(std::mem::take(&mut self.breaks));
            self.push(&breaks);
            let indent = self.indent.clone();
            self.push(&indent);
        }
    }

    pub(crate) fn words(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        self.due();
        if self.verbatim || !words.contains('\n') {
            self.push(words);
            return;
        }
        for (count, line) in words.split('\n').enumerate() {
            if count > 0 {
                self.breaks += 1;
            }
            if !line.is_empty() {
                self.due();
                self.push(line);
            }
        }
    }

    /// At least so many line breaks before the next word.
    pub(crate) fn lines(&mut self, lines: usize) {
        self.breaks = self.breaks.max(lines);
    }

    /// One more line.
    pub(crate) fn line_break(&mut self) {
        self.breaks += 1;
    }

    /// What stands before further lines from here on.
    pub(crate) fn indent(&mut self, indent: String) {
        self.indent = indent;
    }

    /// Whether line breaks in words are kept as they are, without indentation.
    pub(crate) fn verbatim(&mut self, verbatim: bool) {
        self.verbatim = verbatim;
    }

    /// Where a span that begins here begins: after the breaks that are due.
    pub(crate) fn open(&mut self) -> usize {
        if !self.verbatim && self.breaks > 0 {
            self.due();
        }
        self.units
    }

    /// Ends a span here. An empty one is none.
    pub(crate) fn close(&mut self, offset: usize, style: Style) {
        let length = self.units.saturating_sub(offset);
        if length > 0 {
            self.spans.push(Span {
                offset,
                length,
                style,
            });
        }
    }

    /// Takes the line break at the end of a code block away.
    pub(crate) fn trim_newline(&mut self) {
        if self.text.ends_with('\n') {
            self.text.pop();
            self.units -= 1;
        }
    }

    pub(crate) fn finish(mut self) -> RichText {
        let kept = self.text.trim_end().len();
        let dropped = self.text.get(kept..).unwrap_or_default();
        let units = self.units - dropped.encode_utf16().count();
        self.text.truncate(kept);
        for span in &mut self.spans {
            span.length = span.length.min(units.saturating_sub(span.offset));
        }
        self.spans.retain(|span| span.length > 0);
        // An outer span comes before what it holds; of two equal ones the later closed is the outer.
        self.spans.reverse();
        self.spans
            .sort_by_key(|span| (span.offset, std::cmp::Reverse(span.length)));
        RichText {
            text: self.text,
            spans: self.spans,
        }
    }
}
