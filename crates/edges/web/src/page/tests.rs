use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use url::Url;

use super::*;

fn read(html: &str) -> Readable {
    let base = Url::parse("https://site.example/docs/page").unwrap();
    readable(html, &base, &AtomicBool::new(false)).unwrap()
}

fn text(html: &str) -> String {
    read(html).text
}

#[test]
fn what_a_reader_sees() {
    for (html, expected) in [
        ("<p>one<p>two", "one\n\ntwo"),
        ("a  b\n c", "a b c"),
        ("a<br>b<br><br>c", "a\nb\n\nc"),
        ("<h1>T</h1>x<h3>U</h3>y", "# T\n\nx\n\n### U\n\ny"),
        ("<h1></h1>x", "x"),
        ("<ul><li>a<li>b</ul>c", "- a\n- b\n\nc"),
        (
            "<ol><li>a</li><li>b<ul><li>c</li></ul></li><li>d</ol>",
            "1. a\n2. b\n\n  - c\n\n3. d",
        ),
        (
            "<ul><li><p>a</p><p>b</p></li><li></li><li>c</ul>",
            "- a\n\n  b\n\n- c",
        ),
        ("<dl><dt>t<dd>m<dt>u<dd>n</dl>", "t\n: m\n\nu\n: n"),
        ("<blockquote>a<p>b</blockquote>c", "> a\n>\n> b\n\nc"),
        ("<a href='/x'>go</a>!", "[go](https://site.example/x)!"),
        ("<a href='y z'>go", "[go](https://site.example/docs/y%20z)"),
        ("<a href='#top'>go</a>", "go"),
        ("<a href='javascript:x()'>go</a>", "go"),
        ("<a href='mailto:a@b.example'>go</a>", "go"),
        ("<a href=/x></a>a<a href=/y> <img></a>b", "a b"),
        (
            "<a href=/x><h3>T</h3><p>d</p></a>",
            "### [T](https://site.example/x)\n\nd",
        ),
        (
            "<a href=/x>one<a href=/y>two</a>",
            "[one](https://site.example/x)[two](https://site.example/y)",
        ),
        (
            "<base href='https://o.example/q/'><a href=r>go</a>",
            "[go](https://o.example/q/r)",
        ),
        (
            "<img alt='a cat' src=c.png>",
            "![a cat](https://site.example/docs/c.png)",
        ),
        ("<img src=c.png><img alt='' src=d.png>x", "x"),
        ("<img alt=cat src='data:image/png;base64,AAAA'>", "cat"),
        ("a <code>b</code>c <code></code>d", "a `b`c d"),
        ("<pre>  a\n    b\n</pre>c", "```\n  a\n    b\n```\n\nc"),
        ("<pre>a<pre>b</pre></pre>c", "```\nab\n```\n\nc"),
        (
            "<ul><li>x<pre>a\nb</pre></ul>",
            "- x\n\n  ```\n  a\n  b\n  ```",
        ),
        (
            "<table><tr><th>a<th>b<tr><td>1<td>2</table>c",
            "a | b\n1 | 2\n\nc",
        ),
        (
            "<table><tr><td><p>a</p></td><td></td><td><p>b</p><p>c</p></td></tr></table>",
            "a | b\n\nc",
        ),
        ("a<hr>b", "a\n\n---\n\nb"),
        (
            "&lt;b&gt; &amp; &nbsp;&#8364; &unknown;",
            "<b> & € &unknown;",
        ),
        (
            "a<script>if (a<b) '</p>x'</script>b<style>p{}</style><!-- c -->",
            "ab",
        ),
        ("<p hidden>no<p>yes", "yes"),
        (
            "<div style='display : none ! important'>no<div>no</div></div>yes",
            "yes",
        ),
        (
            "<span style='color:red;visibility:hidden'>no</span>yes",
            "yes",
        ),
        ("<b aria-hidden=true>no</b>yes", "yes"),
        ("<svg><title>no</title><text>no</text></svg>yes", "yes"),
        ("<p>a</b></i></div></p></table>b", "a\n\nb"),
        ("<div><span>a</div>b</span>c", "a\nbc"),
        ("<table><td>a</div>b</table>", "ab"),
        (
            "<button>Copy</button>x<select><option>1<option>2</select>",
            "x",
        ),
        ("", ""),
        ("<", "<"),
        ("<a", ""),
        ("</>", ""),
        ("x\u{0}y", "x\u{0}y"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn the_matter_is_taken_and_what_stands_around_it_is_left() {
    let matter = "A long story of a house. ".repeat(20);
    let page = |inside: &str| {
        format!(
            "<html><head><title> The\n House </title></head><body><header><h1>Site</h1></header><nav><ul><li>Home</ul></nav>\
             {inside}<aside>Ads</aside><footer>Imprint</footer></body></html>"
        )
    };
    let expected = matter.trim();
    for inside in [
        format!("<main><p>{matter}</p></main>"),
        format!("<div role=main>{matter}</div>"),
        format!("<p>teaser</p><main><header></header>{matter}</main><p>more</p>"),
        format!("<article>{matter}</article><div>about us</div>"),
        format!("<div role=navigation>Skip</div><div>{matter}</div>"),
    ] {
        let read = read(&page(&inside));
        assert_eq!(read.text, expected, "{inside}");
        assert_eq!(read.title.as_deref(), Some("The House"), "{inside}");
    }
    // Teasers are no matter; a page that is nothing but navigation shows it.
    let list: String = (0..30).map(|n| format!("<article>{n}</article>")).collect();
    assert!(text(&page(&format!("{list}<p>{matter}"))).contains("A long story"));
    assert_eq!(text(&page("")), "# Site\n\n- Home\n\nAds\nImprint");
    // An unclosed `nav` does not swallow the page.
    assert!(text(&format!("<nav><p>Home<div>{matter}</div>")).contains(expected));
}

#[test]
fn markup_of_any_shape_is_read_in_its_length() {
    let times = |piece: &str, count: usize| piece.repeat(count);
    for html in [
        times("<div>", 50_000),
        times("<b><i><p>", 25_000),
        times("</x>", 50_000),
        times("<a href=x>y", 20_000),
        times("<li>", 50_000),
        times("<table><tr><td>", 50_000),
        times("<ul><li>x", 20_000),
        times("<blockquote>x", 20_000),
        times("<nav>x</div>", 20_000),
        times("<p hidden>", 20_000),
        times("<!--", 50_000),
        times("<pre>\n", 25_000),
        times("&amp", 50_000),
        times("&", 100_000),
        format!("<p {}>x", times("a=b ", 25_000)),
        format!(
            "<p {}>x",
            (0..20_000).map(|n| format!("a{n}=b ")).collect::<String>()
        ),
        format!("<a href='{}'>x</a>", times("../", 50_000)),
        format!("<title>{}", times("x", 150_000)),
    ] {
        let start: String = html.chars().take(40).collect();
        let clock = tokio::time::Instant::now();
        read(&html);
        // Milliseconds in a build for people; what takes the square of its length would take hours.
        assert!(
            clock.elapsed() < std::time::Duration::from_secs(120),
            "{start}"
        );
    }
}

#[test]
fn a_page_without_end_is_cut() {
    let read = read(&"<p>0123456789".repeat(400_000));
    assert!(read.cut);
    assert!(read.text.len() <= 2_000_000);
}

#[test]
fn a_conversion_that_is_given_up_ends() {
    let base = Url::parse("https://site.example/").unwrap();
    assert_eq!(readable("<p>x", &base, &AtomicBool::new(true)), None);
}

fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<p>".to_owned()),
        Just("</p>".to_owned()),
        Just("<ul><li>".to_owned()),
        Just("</ul>".to_owned()),
        Just("<ol>".to_owned()),
        Just("<table><tr><td>".to_owned()),
        Just("</table>".to_owned()),
        Just("</td>".to_owned()),
        Just("<pre>".to_owned()),
        Just("</pre>".to_owned()),
        Just("<code>".to_owned()),
        Just("</code>".to_owned()),
        Just("<a href=x>".to_owned()),
        Just("</a>".to_owned()),
        Just("<h2>".to_owned()),
        Just("<blockquote>".to_owned()),
        Just("</blockquote>".to_owned()),
        Just("<div hidden>".to_owned()),
        Just("</div>".to_owned()),
        Just("<main>".to_owned()),
        Just("</main>".to_owned()),
        Just("<article>".to_owned()),
        Just("<nav>".to_owned()),
        Just("<br>".to_owned()),
        Just("<img alt=i src=s>".to_owned()),
        Just("<script>".to_owned()),
        Just("</script>".to_owned()),
        "[ a-zäß日\n<>&\"'=/-]{0,8}",
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn soup_is_read_without_a_panic_and_says_the_same_twice(html in soup()) {
        let once = read(&html);
        prop_assert_eq!(&once, &read(&html));
        prop_assert!(html.contains("<pre>") || !once.text.contains("\n\n\n"), "{}", once.text);
    }

    #[test]
    fn words_in_a_page_without_hiding_places_arrive(words in proptest::collection::vec("[a-z]{1,8}", 1..30), tags in soup()) {
        // Everything that hides, holds text raw or takes a part for the whole is taken out.
        let tags = ["<div hidden>", "<script>", "<main>", "<article>", "<nav>", "<", ">"]
            .iter()
            .fold(tags, |tags, hiding| if hiding.len() > 1 { tags.replace(hiding, "") } else { tags });
        let open = tags.rfind('<').is_some_and(|at| !tags.get(at..).unwrap_or_default().contains('>'));
        prop_assume!(!open && !tags.contains("<!") && !tags.contains("\"") && !tags.contains('\''));
        let html = format!("{tags}<p>{}", words.join(" "));
        let text = text(&html);
        let seen: String = text.split_whitespace().collect();
        prop_assert!(seen.contains(&words.concat()) || html.contains("<pre>"), "{html} -> {text}");
    }

    #[test]
    fn no_bytes_are_too_odd(
        start in prop_oneof![Just(&b""[..]), Just(&b"\xff\xfe"[..]), Just(&b"<meta charset=shift_jis>"[..]), Just(&b"<?xml encoding='gbk'?>"[..])],
        bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'<'), Just(b'>'), Just(b'/'), Just(b'&'), Just(b';'), Just(b'!'), Just(b'-')], 0..300),
    ) {
        let text = crate::readable(&[start, &bytes].concat());
        prop_assert!(text.len() <= 2_000_000);
    }
}
