//! What people saw of formatted text.

use chat::{RichText, Style};
use proptest::prelude::*;

use super::rich;

/// The text with its spans as marks, to compare at a glance.
fn marked(rich: &RichText) -> Vec<(String, Style)> {
    let units: Vec<u16> = rich.text.encode_utf16().collect();
    rich.spans
        .iter()
        .map(|span| {
            let words = String::from_utf16(&units[span.offset..span.offset + span.length]).unwrap();
            (words, span.style.clone())
        })
        .collect()
}

#[track_caller]
fn check(markdown: &str, text: &str, spans: &[(&str, Style)]) {
    let rich = rich(markdown);
    assert_eq!(rich.text, text, "{markdown:?}");
    let spans: Vec<(String, Style)> = spans
        .iter()
        .map(|(words, style)| ((*words).to_owned(), style.clone()))
        .collect();
    assert_eq!(marked(&rich), spans, "{markdown:?}");
}

fn link(address: &str) -> Style {
    Style::Link(address.to_owned())
}

#[test]
fn inline_styles() {
    check(
        "a **bold** _italic_ ~~gone~~ `code` end",
        "a bold italic gone code end",
        &[
            ("bold", Style::Bold),
            ("italic", Style::Italic),
            ("gone", Style::Strike),
            ("code", Style::Code),
        ],
    );
    check(
        "**bold _both_**",
        "bold both",
        &[("bold both", Style::Bold), ("both", Style::Italic)],
    );
    check("***x***", "x", &[("x", Style::Italic), ("x", Style::Bold)]);
    check(
        "😀 **b** `c`",
        "😀 b c",
        &[("b", Style::Bold), ("c", Style::Code)],
    );
    check("one\ntwo  \nthree", "one\ntwo\nthree", &[]);
}

#[test]
fn blocks() {
    check(
        "# Title\n\ntext\n\n## Sub\nmore",
        "Title\n\ntext\n\nSub\n\nmore",
        &[("Title", Style::Bold), ("Sub", Style::Bold)],
    );
    check("text\n\n---\n\nmore", "text\n\n———\n\nmore", &[]);
    check(
        "> one\n> two\n\nafter",
        "one\ntwo\n\nafter",
        &[("one\ntwo", Style::Quote)],
    );
    check(
        "before\n\n```rust\nfn a() {\n\n}\n```\nafter",
        "before\n\nfn a() {\n\n}\n\nafter",
        &[("fn a() {\n\n}", Style::Pre(Some("rust".into())))],
    );
    check("```\n  x\n```", "  x", &[("  x", Style::Pre(None))]);
    check(
        "```python\nopen",
        "open",
        &[("open", Style::Pre(Some("python".into())))],
    );
}

#[test]
fn lists_keep_their_numbers_and_depth() {
    check(
        "- a\n- b\n  - c\n    more\n- d\n\nafter",
        "• a\n• b\n  • c\n    more\n• d\n\nafter",
        &[],
    );
    check("3. a\n4. b", "3. a\n4. b", &[]);
    check("- [x] done\n- [ ] open", "• ☑ done\n• ☐ open", &[]);
    check("- a\n\n- b\n\n  second\n", "• a\n• b\n  second", &[]);
    check("- **a**: b", "• a: b", &[("a", Style::Bold)]);
}

#[test]
fn links_lead_only_where_a_person_can_go() {
    check(
        "[a](https://e.x/a_b?x=1&y=2)",
        "a",
        &[("a", link("https://e.x/a_b?x=1&y=2"))],
    );
    check(
        "[a](javascript:alert(1)) [b](/etc/passwd) [c](file:///x)",
        "a b c",
        &[],
    );
    check(
        "[m](mailto:a@b.c) [t](tg://user?id=1)",
        "m t",
        &[("m", link("mailto:a@b.c")), ("t", link("tg://user?id=1"))],
    );
    check(
        "![a cat](https://e.x/c.png) ![](https://e.x/d.png)",
        "a cat https://e.x/d.png",
        &[
            ("a cat", link("https://e.x/c.png")),
            ("https://e.x/d.png", link("https://e.x/d.png")),
        ],
    );
}

#[test]
fn a_table_is_drawn_in_columns_or_as_lines_where_it_is_wide() {
    check(
        "| Name | Size |\n|---|---:|\n| a | 1 |\n| 文件 | **20** |",
        "Name │ Size\n─────┼─────\na    │    1\n文件 │   20",
        &[(
            "Name │ Size\n─────┼─────\na    │    1\n文件 │   20",
            Style::Pre(None),
        )],
    );
    let long = "x".repeat(60);
    check(
        &format!("| Name | What |\n|---|---|\n| a | {long} |\n| b | {long} |"),
        &format!("• a\n  What: {long}\n• b\n  What: {long}"),
        &[("a", Style::Bold), ("b", Style::Bold)],
    );
}

#[test]
fn c03_10_triple_back_ticks_in_a_sentence_keep_the_bold() {
    let rich = rich("Use ``` to open a block, and ``` to close it. **Bold** here.");
    assert!(marked(&rich).contains(&("Bold".into(), Style::Bold)));
    assert!(rich.text.contains("to open a block"));
}

#[test]
fn c03_13_tags_that_a_model_wrote_are_shown_as_written() {
    let html = "<h1>Title</h1><div>Text<br>line</div><table><tr><td>1</td></tr></table>";
    check(html, html, &[]);
    check("a <b>x</b> c", "a <b>x</b> c", &[]);
}

#[test]
fn c03_14_mis_nested_markup_is_valid_and_snake_case_stays() {
    let rich = rich(
        "**bold [link](https://e.com/a_b?x=1&y=2) _mix** italic_  and  a*b*c  and  snake_case_name",
    );
    assert!(rich.text.contains("snake_case_name"));
    assert!(marked(&rich).contains(&("link".into(), link("https://e.com/a_b?x=1&y=2"))));
    valid(&rich);
}

#[test]
fn c03_17_every_sign_is_visible() {
    check(
        "Takes only `--model`, not `--runtime` and costs $5_$6",
        "Takes only --model, not --runtime and costs $5_$6",
        &[("--model", Style::Code), ("--runtime", Style::Code)],
    );
}

#[test]
fn c03_19_addresses_are_not_rewritten() {
    let text =
        "see http://host/page.htmlThe next word ; (https://e.com/a_(b)) ; https://e.com/路径。";
    check(text, text, &[]);
}

#[test]
fn c03_20_marks_of_right_to_left_text_are_kept() {
    check(
        "\u{200f}שלום, run `ls -la` !",
        "\u{200f}שלום, run ls -la !",
        &[("ls -la", Style::Code)],
    );
    check("\u{2067}שלום\u{2069}", "\u{2067}שלום\u{2069}", &[]);
}

/// Spans are sorted, nest or are apart, and cut no surrogate pair.
#[track_caller]
pub(crate) fn valid(rich: &RichText) {
    let mut boundaries = vec![0];
    for sign in rich.text.chars() {
        boundaries.push(boundaries.last().unwrap() + sign.len_utf16());
    }
    let mut open: Vec<usize> = Vec::new();
    let mut last = 0;
    for span in &rich.spans {
        let end = span.offset + span.length;
        assert!(span.length > 0 && span.offset >= last, "{rich:?}");
        assert!(
            boundaries.binary_search(&span.offset).is_ok()
                && boundaries.binary_search(&end).is_ok(),
            "{rich:?}"
        );
        open.retain(|outer| *outer > span.offset);
        assert!(open.last().is_none_or(|outer| end <= *outer), "{rich:?}");
        open.push(end);
        last = span.offset;
    }
}

pub(crate) fn markdown() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![
            4 => proptest::sample::select(vec![
                "**", "*", "_", "`", "```", "```rust\n", "\n", "\n\n", "- ", "1. ", "  ", "    ", "> ", "# ", "| a | b |\n|---|---|\n| c | d |\n",
                "[a](https://e.x)", "[", "](", ")", "![b](https://e.x/i.png)", "![](javascript:x)", "<b>", "<script>", "</div>", "~~", "---\n", "😀",
                "👨‍👩‍👧", "🇩🇪", "e\u{301}", "word ", "two words. ", "文字。", "&amp;", "<https://e.x>", "\\", "- [x] ", "\u{2067}", "\u{2069}", "\t", "\r\n",
                "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "[x](data:text/html,y)", "\" onclick=\"x", "|",
            ]).prop_map(str::to_owned),
            1 => "[a-z ]{0,12}",
            1 => any::<char>().prop_map(String::from),
        ],
        0..30,
    )
    .prop_map(|fragments| fragments.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn spans_are_always_valid(markdown in markdown()) {
        let rich = rich(&markdown);
        valid(&rich);
        prop_assert!(rich.text.trim_end() == rich.text);
    }
}
