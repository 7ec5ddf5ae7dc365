//! Pieces that people got.

use chat::{RichText, Style};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;
use waybill::Limit;

use super::{split, split_markdown};
use crate::rich::{rich, tests_markdown, tests_valid};

fn texts(pieces: &[RichText]) -> Vec<&str> {
    pieces.iter().map(|piece| piece.text.as_str()).collect()
}

fn plain(text: &str, limit: Limit) -> Vec<String> {
    split(&RichText::plain(text), limit)
        .into_iter()
        .map(|piece| piece.text)
        .collect()
}

#[test]
fn cuts_are_made_where_a_reader_would() {
    assert_eq!(
        plain("one two\n\nthree four. five", Limit::Chars(14)),
        ["one two", "three four.", "five"]
    );
    assert_eq!(
        plain("aaaa bbbb\ncccc dddd", Limit::Chars(15)),
        ["aaaa bbbb", "cccc dddd"]
    );
    assert_eq!(
        plain("One two. Three four five", Limit::Chars(15)),
        ["One two.", "Three four five"]
    );
    assert_eq!(
        plain("一二三。四五六。七", Limit::Chars(6)),
        ["一二三。", "四五六。七"]
    );
    assert_eq!(plain("abcdefghij", Limit::Chars(4)), ["abcd", "efgh", "ij"]);
    assert_eq!(
        plain("- a\n  - bbbb\n  - cccc", Limit::Chars(13)),
        ["- a\n  - bbbb", "  - cccc"]
    );
    assert_eq!(plain("exact", Limit::Chars(5)), ["exact"]);
    assert_eq!(plain("", Limit::Chars(5)), Vec::<String>::new());
    assert_eq!(
        plain(&" ".repeat(20), Limit::Chars(5)),
        Vec::<String>::new()
    );
    assert_eq!(plain("ab", Limit::Bytes(0)), ["a", "b"]);
}

#[test]
fn c03_01_emoji_are_counted_in_the_platforms_unit() {
    let text = "😀".repeat(2049);
    let pieces = plain(&text, Limit::Utf16(4096));
    assert_eq!(
        pieces
            .iter()
            .map(|piece| piece.encode_utf16().count())
            .collect::<Vec<_>>(),
        [4096, 2]
    );
    assert_eq!(plain(&text, Limit::Chars(4096)).len(), 1);
    assert_eq!(plain(&text, Limit::Bytes(4096)).len(), 3);
}

#[test]
fn c03_04_no_family_flag_or_skin_tone_is_cut() {
    for sign in ["👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u{301}", "🎩"] {
        for lead in 0..30 {
            let text = format!("{}{}", "x".repeat(lead), sign.repeat(20));
            for piece in plain(&text, Limit::Utf16(33)) {
                assert!(piece.encode_utf16().count() <= 33);
                let whole = piece
                    .graphemes(true)
                    .all(|cluster| cluster == sign || cluster == "x");
                assert!(whole, "{piece:?}");
            }
        }
    }
}

#[test]
fn c03_08_a_code_block_goes_on_with_its_language() {
    let code = "let a = 1;\n".repeat(600);
    let markdown = format!("Look:\n\n```python\n{code}```\n\nafter");
    let pieces = split_markdown(&markdown, Limit::Utf16(4096));
    assert!(pieces.len() >= 2);
    for piece in &pieces {
        assert!(piece.encode_utf16().count() <= 4096);
        assert_eq!(piece.matches("```").count() % 2, 0, "{piece}");
        assert_eq!(
            piece.matches("```python").count() * 2,
            piece.matches("```").count()
        );
    }
    let rejoined: String = pieces
        .iter()
        .map(|piece| piece.matches("let a = 1;").count())
        .sum::<usize>()
        .to_string();
    assert_eq!(rejoined, "600");

    let pieces = split(&rich(&markdown), Limit::Utf16(4096));
    for piece in &pieces {
        assert!(
            piece
                .spans
                .iter()
                .any(|span| span.style == Style::Pre(Some("python".into())))
        );
        tests_valid(piece);
    }
    let lines: usize = pieces
        .iter()
        .map(|piece| piece.text.matches("let a = 1;").count())
        .sum();
    assert_eq!(lines, 600);
}

#[test]
fn code_keeps_its_indentation_over_a_cut() {
    let markdown = "```\nfn a() {\n    one();\n    two();\n}\n```";
    assert_eq!(
        split_markdown(markdown, Limit::Chars(35)),
        ["```\nfn a() {\n    one();\n```", "```\n    two();\n}\n```"]
    );
    let pieces = split(&rich(markdown), Limit::Chars(20));
    assert_eq!(texts(&pieces), ["fn a() {\n    one();", "    two();\n}"]);
}

#[test]
fn a_fence_that_ends_at_the_cut_is_not_opened_again() {
    let markdown = format!("```\n{}\n```\n{}", "a".repeat(30), "b".repeat(30));
    for most in 24..70 {
        for piece in split_markdown(&markdown, Limit::Chars(most)) {
            assert!(piece.chars().count() <= most, "{most}: {piece:?}");
            assert_eq!(piece.matches("```").count() % 2, 0, "{most}: {piece:?}");
            assert!(!piece.contains("```\n```"), "{most}: {piece:?}");
        }
    }
}

#[test]
fn inline_markup_and_links_are_cut_last() {
    assert_eq!(
        split_markdown("aaaa bbbb **cccc dddd** eeee", Limit::Chars(20)),
        ["aaaa bbbb", "**cccc dddd** eeee"]
    );
    let pieces = split(&rich("aaaa bbbb `cccc dddd` eeee"), Limit::Chars(17));
    assert_eq!(texts(&pieces), ["aaaa bbbb", "cccc dddd eeee"]);
    assert_eq!(pieces[1].spans[0].style, Style::Code);
}

#[test]
fn c03_20_no_piece_leaves_an_isolate_open() {
    let text = format!(
        "{} \u{2067}שלום שלום\u{2069} end",
        "word ".repeat(4).trim_end()
    );
    for piece in plain(&text, Limit::Chars(26)) {
        assert_eq!(
            piece.matches('\u{2067}').count(),
            piece.matches('\u{2069}').count(),
            "{piece:?}"
        );
    }
}

fn limit() -> impl Strategy<Value = Limit> {
    (0_usize..3, 4_usize..80).prop_map(|(unit, most)| match unit {
        0 => Limit::Utf16(most),
        1 => Limit::Chars(most),
        _ => Limit::Bytes(most),
    })
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|sign| !sign.is_whitespace()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn pieces_fit_and_join_to_the_text(markdown in tests_markdown(), limit in limit()) {
        let source = rich(&markdown);
        let pieces = split(&source, limit);
        let mut rest = source.text.as_str();
        for piece in &pieces {
            prop_assert!(limit.fits(&piece.text) && !piece.text.trim().is_empty());
            tests_valid(piece);
            let at = rest.find(piece.text.as_str());
            prop_assert!(at.is_some());
            let (gap, after) = rest.split_at(at.unwrap());
            prop_assert!(gap.trim().is_empty(), "lost {:?}", gap);
            rest = after.strip_prefix(piece.text.as_str()).unwrap();
        }
        prop_assert!(rest.trim().is_empty(), "lost {:?}", rest);
    }

    #[test]
    fn spans_cover_the_same_signs_after_a_split(markdown in tests_markdown(), limit in limit()) {
        let source = rich(&markdown);
        let covered = |rich: &RichText| {
            let units: Vec<u16> = rich.text.encode_utf16().collect();
            let mut signs = Vec::new();
            for (at, unit) in units.iter().enumerate() {
                if char::from_u32(u32::from(*unit)).is_some_and(char::is_whitespace) {
                    continue;
                }
                let styles: Vec<Style> = rich.spans.iter().filter(|span| span.offset <= at && at < span.offset + span.length).map(|span| span.style.clone()).collect();
                signs.push((*unit, styles));
            }
            signs
        };
        let pieces: Vec<_> = split(&source, limit).iter().flat_map(covered).collect();
        prop_assert_eq!(pieces, covered(&source));
    }

    #[test]
    fn markdown_pieces_fit_and_lose_nothing(markdown in tests_markdown(), limit in limit()) {
        let pieces = split_markdown(&markdown, limit);
        for piece in &pieces {
            prop_assert!(limit.fits(piece) && !piece.trim().is_empty());
        }
        // A block of code that is cut is closed and opened again.
        if !markdown.contains("```") && !markdown.contains("~~~") {
            prop_assert_eq!(without_blanks(&pieces.concat()), without_blanks(&markdown));
        }
    }

    #[test]
    fn every_piece_of_a_code_block_has_its_fences(lines in proptest::collection::vec("[a-z ]{0,30}", 1..30), most in 40_usize..120) {
        let markdown = format!("intro words\n\n```rust\nfn\n{}\n```\n\nend words", lines.join("\n"));
        for piece in split_markdown(&markdown, Limit::Chars(most)) {
            prop_assert!(piece.chars().count() <= most);
            prop_assert_eq!(piece.matches("```").count() % 2, 0, "{}", piece);
            prop_assert_eq!(piece.matches("```rust").count() * 2, piece.matches("```").count(), "{}", piece);
        }
    }
}
