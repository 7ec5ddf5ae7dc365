//! Cutting text with spans.

use std::ops::Range;

use chat::{RichText, Span, Style};
use waybill::Limit;

use super::place::{after_blanks, after_newline, isolates, place};
use crate::slice;

/// Cuts a text into pieces that each fit.
///
/// Read one after the other the pieces are the text, without the blanks around each cut: outside of code those before it
/// and after it, but for the indentation of a line that begins there; in code the one line break that is cut. Spans go on in
/// the next piece with the same style, code with the same language. No piece is empty or blank, so that a text without
/// words gives none. A limit that is smaller than a single sign is exceeded by that sign.
#[must_use]
pub fn split(rich: &RichText, limit: Limit) -> Vec<RichText> {
    let text = rich.text.as_str();
    if limit.fits(text) {
        return if text.trim().is_empty() {
            Vec::new()
        } else {
            vec![rich.clone()]
        };
    }
    let positions = Positions::new(text);
    let bytes =
        |span: &Span| positions.byte(span.offset)..positions.byte(span.offset + span.length);
    let mut whole = isolates(text);
    let mut code = Vec::new();
    for span in &rich.spans {
        match span.style {
            Style::Code | Style::Link(_) => whole.push(bytes(span)),
            Style::Pre(_) => code.push(bytes(span)),
            Style::Bold | Style::Italic | Style::Strike | Style::Quote => {}
        }
    }
    let inside_code = |at: usize| code.iter().any(|range| range.start < at && at < range.end);
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut units = 0;
    while start < text.len() {
        let cut = place(text, start, limit, limit.most(), &whole, 0);
        let (end, next) = if cut == text.len() {
            (cut, cut)
        } else if inside_code(cut) {
            (cut, after_newline(text, cut))
        } else {
            let kept = slice::between(text, start, cut).trim_end().len();
            (start + kept, after_blanks(text, cut))
        };
        let words = slice::between(text, start, end);
        let length = words.encode_utf16().count();
        if !words.trim().is_empty() {
            pieces.push(RichText {
                text: words.to_owned(),
                spans: spans(&rich.spans, units..units + length),
            });
        }
        units += length + slice::between(text, end, next).encode_utf16().count();
        start = next;
    }
    pieces
}

/// The spans of a stretch, counted from its beginning.
fn spans(spans: &[Span], stretch: Range<usize>) -> Vec<Span> {
    spans
        .iter()
        .filter_map(|span| {
            let start = span.offset.max(stretch.start);
            let end = (span.offset + span.length).min(stretch.end);
            (start < end).then(|| Span {
                offset: start - stretch.start,
                length: end - start,
                style: span.style.clone(),
            })
        })
        .collect()
}

/// Bytes for positions in UTF-16 units.
struct Positions(Vec<usize>);

impl Positions {
    fn new(text: &str) -> Self {
        let mut bytes = Vec::with_capacity(text.len() + 1);
        for (at, sign) in text.char_indices() {
            bytes.extend(std::iter::repeat_n(at, sign.len_utf16()));
        }
        bytes.push(text.len());
        Self(bytes)
    }

    fn byte(&self, units: usize) -> usize {
        let last = self.0.last().copied().unwrap_or(0);
        self.0.get(units).copied().unwrap_or(last)
    }
}
