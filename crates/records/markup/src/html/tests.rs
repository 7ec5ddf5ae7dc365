//! What comes out, and what never does.

use proptest::prelude::*;

use super::to_html;
use crate::rich::tests_markdown as markdown;

#[test]
fn blocks_and_inline_styles() {
    assert_eq!(
        to_html("# A\n\n*b* **c** ~~d~~ `e<`"),
        "<h1>A</h1>\n<p><em>b</em> <strong>c</strong> <del>d</del> <code>e&lt;</code></p>\n"
    );
    assert_eq!(
        to_html("```rust x\nfn <a>\n```"),
        "<pre><code class=\"language-rust\">fn &lt;a&gt;\n</code></pre>\n"
    );
    assert_eq!(to_html("- a\n- b"), "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n");
    assert_eq!(to_html("3. a"), "<ol start=\"3\">\n<li>a</li>\n</ol>\n");
    assert_eq!(
        to_html("|a|b|\n|-|-:|\n|1|2|"),
        "<table>\n<thead><tr><th>a</th><th class=\"right\">b</th></tr></thead>\n<tbody>\n<tr><td>1</td><td class=\"right\">2</td></tr>\n</tbody></table>\n"
    );
}

#[test]
fn a_picture_is_a_link_and_nothing_is_loaded() {
    assert_eq!(
        to_html("![x](https://e.x/?q=secret)"),
        "<p><a href=\"https://e.x/?q=secret\" rel=\"noopener noreferrer\" target=\"_blank\">x</a></p>\n"
    );
    assert_eq!(
        to_html("![](https://e.x/a)")
            .matches("https://e.x/a")
            .count(),
        2
    );
    assert_eq!(
        to_html("[![x](https://e.x/i)](https://e.x)")
            .matches("<a ")
            .count(),
        1
    );
}

#[test]
fn raw_html_is_shown_as_text() {
    assert_eq!(
        to_html("<script>alert(1)</script>"),
        "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"
    );
    assert_eq!(
        to_html("a <img src=x onerror=y>"),
        "<p>a &lt;img src=x onerror=y&gt;</p>\n"
    );
    assert_eq!(
        to_html("[x](javascript:alert(1)) [y](JavaScript:z) [z](data:text/html,x)"),
        "<p>x y z</p>\n"
    );
}

/// Every tag in the page is one that we write, attributes and all, and they nest.
fn check_tags(html: &str) {
    let mut open = Vec::new();
    let mut rest = html;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag ends");
        rest = after;
        if matches!(tag, "br" | "hr") {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{html}");
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let known = [
            "p",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "blockquote",
            "pre",
            "code",
            "ul",
            "ol",
            "li",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "em",
            "strong",
            "del",
            "a",
        ];
        assert!(known.contains(&name), "{tag}");
        let fine = match name {
            "a" => attributes
                .strip_prefix("href=\"")
                .and_then(|rest| {
                    rest.strip_suffix("\" rel=\"noopener noreferrer\" target=\"_blank\"")
                })
                .is_some_and(|address| {
                    !address.contains('"')
                        && ["http:", "https:", "mailto:"]
                            .iter()
                            .any(|scheme| address.to_ascii_lowercase().starts_with(scheme))
                }),
            "code" => attributes.is_empty() || attributes.starts_with("class=\"language-"),
            "ol" => attributes.is_empty() || attributes.starts_with("start=\""),
            "th" | "td" => ["", "class=\"right\"", "class=\"center\""].contains(&attributes),
            _ => attributes.is_empty(),
        };
        assert!(fine, "{tag}");
        open.push(name);
    }
    assert!(open.is_empty(), "{html}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn nothing_active_comes_through(markdown in markdown()) {
        let html = to_html(&markdown);
        check_tags(&html);
        prop_assert!(!html.contains("<script") && !html.contains("<img"));
        prop_assert!(!html.to_ascii_lowercase().contains("href=\"javascript:"));
    }
}
