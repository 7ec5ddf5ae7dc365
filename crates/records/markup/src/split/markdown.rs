//! Cutting markdown that stays markdown: a code block that is cut is closed and opened again.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};
use waybill::Limit;

use super::place::{after_blanks, after_newline, isolates, place};
use crate::rich::options;
use crate::slice;

/// A limit that leaves less than this for the code itself gives no balanced fences.
const LEAST: usize = 16;

/// A fenced code block of the source.
struct Block {
    /// From the opening to behind the closing fence.
    range: Range<usize>,
    /// The code.
    code: Range<usize>,
    /// The opening line, to begin again with.
    open: String,
    /// The closing line.
    close: String,
}

/// Cuts markdown into pieces that each fit, added fences included.
///
/// As [`crate::split()`] does; a cut inside emphasis, a link or inline code is the last resort, and a fenced block that is cut
/// is closed at the end of one piece and opened again, with its language, in the next.
#[must_use]
pub fn split_markdown(markdown: &str, limit: Limit) -> Vec<String> {
    if limit.fits(markdown) {
        return if markdown.trim().is_empty() {
            Vec::new()
        } else {
            vec![markdown.to_owned()]
        };
    }
    let (whole, blocks) = structure(markdown);
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut prefix = String::new();
    while start < markdown.len() {
        let room = limit.most().saturating_sub(limit.measure(&prefix));
        // A piece that begins with a fence has some of the code, too.
        let least = blocks
            .iter()
            .filter(|block| start < block.code.start)
            .find(|block| {
                slice::between(markdown, start, block.range.start)
                    .trim()
                    .is_empty()
            })
            .map_or(0, |block| block.code.start);
        let mut cut = place(markdown, start, limit, room, &whole, least);
        let mut block = reopened(&blocks, markdown, cut, limit);
        if let Some(found) = block {
            let suffix = limit.measure(&found.close) + 1;
            if limit.measure(slice::between(markdown, start, cut)) + suffix > room {
                cut = place(
                    markdown,
                    start,
                    limit,
                    room.saturating_sub(suffix),
                    &whole,
                    least,
                );
                block = reopened(&blocks, markdown, cut, limit);
            }
        }
        let (end, next) = if cut == markdown.len() {
            (cut, cut)
        } else if let Some(block) = block {
            let next = after_newline(markdown, cut);
            let done = next >= block.code.end;
            (cut, if done { block.range.end } else { next })
        } else {
            let kept = slice::between(markdown, start, cut).trim_end().len();
            (start + kept, after_blanks(markdown, cut))
        };
        let words = slice::between(markdown, start, end);
        if !words.trim().is_empty() {
            let mut piece = std::mem::take(&mut prefix);
            piece.push_str(words);
            if let Some(block) = block {
                if !piece.ends_with('\n') {
                    piece.push('\n');
                }
                piece.push_str(&block.close);
            }
            pieces.push(piece);
        }
        prefix.clear();
        if let Some(block) = block.filter(|block| next < block.code.end) {
            prefix.push_str(&block.open);
            prefix.push('\n');
        }
        start = next;
    }
    pieces
}

/// The block that a cut goes through, if there is room to close and open it.
fn reopened<'a>(
    blocks: &'a [Block],
    markdown: &str,
    cut: usize,
    limit: Limit,
) -> Option<&'a Block> {
    if cut >= markdown.len() {
        return None;
    }
    let next = after_newline(markdown, cut);
    blocks.iter().find(|block| {
        let added = limit.measure(&block.open) + limit.measure(&block.close) + 2;
        next >= block.code.start
            && next <= block.code.end
            && cut < block.range.end
            && limit.most() >= added + LEAST
    })
}

/// Stretches that should stay whole, and the fenced blocks.
fn structure(markdown: &str) -> (Vec<Range<usize>>, Vec<Block>) {
    let mut whole = isolates(markdown);
    let mut blocks = Vec::new();
    for (event, range) in Parser::new_ext(markdown, options()).into_offset_iter() {
        if matches!(
            event,
            Event::Code(_)
                | Event::Start(
                    Tag::Emphasis
                        | Tag::Strong
                        | Tag::Strikethrough
                        | Tag::Link { .. }
                        | Tag::Image { .. }
                )
        ) {
            whole.push(range);
        } else if matches!(
            event,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_)))
        ) && let Some(block) = fenced(markdown, range)
        {
            whole.push(block.range.start..block.code.start + 1);
            blocks.push(block);
        }
    }
    (whole, blocks)
}

fn fenced(markdown: &str, range: Range<usize>) -> Option<Block> {
    let source = slice::between(markdown, range.start, range.end);
    let mark = source.chars().next()?;
    let length = slice::run(source, mark);
    let opening = source.lines().next()?;
    let line_start = slice::to(markdown, range.start)
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let prefix: String = slice::between(markdown, line_start, range.start)
        .chars()
        .map(|sign| {
            if matches!(sign, '>' | ' ' | '\t') {
                sign
            } else {
                ' '
            }
        })
        .collect();
    let code_start = source
        .find('\n')
        .map_or(range.end, |newline| range.start + newline + 1);
    let body = slice::between(markdown, code_start, range.end);
    let last_line = body
        .trim_end_matches('\n')
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let last = slice::from(body, last_line)
        .trim_start_matches(['>', ' ', '\t'])
        .trim_end();
    let closed =
        slice::run(last, mark) >= length && slice::from(last, slice::run(last, mark)).is_empty();
    let code_end = if closed {
        code_start + last_line
    } else {
        range.end
    };
    Some(Block {
        open: format!("{prefix}{}", opening.trim_end()),
        close: format!("{prefix}{}", String::from(mark).repeat(length)),
        code: code_start..code_end,
        range,
    })
}
