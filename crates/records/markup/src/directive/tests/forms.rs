//! The tables of forms: what is a directive, what is not, and what is left of the words.

use super::super::Flags;
use super::{check, every_split};

#[test]
fn forms_of_a_single_directive() {
    for input in [
        "MEDIA:/d/a.png",
        "MEDIA: /d/a.png",
        "media:/d/a.png",
        "Media:  /d/a.png  ",
        "MEDIA:`/d/a.png`",
        "MEDIA:\"/d/a.png\"",
        "MEDIA:'/d/a.png'",
        "MEDIA: “/d/a.png”",
        "MEDIA:</d/a.png>",
        "MEDIA:\"/d/a.png",
        "**MEDIA:/d/a.png**",
        "**MEDIA:** /d/a.png",
        "**MEDIA:**/d/a.png",
        "*MEDIA:/d/a.png*",
        "__MEDIA:/d/a.png__",
        "_MEDIA:/d/a.png_",
        "**_MEDIA:/d/a.png_**",
        "MEDIA: **/d/a.png**",
        "`MEDIA:/d/a.png`",
        "``MEDIA:/d/a.png``",
        "```MEDIA:/d/a.png```",
        "**`MEDIA:/d/a.png`**",
        "- MEDIA:/d/a.png",
        "* `MEDIA:/d/a.png`",
        "1. MEDIA:/d/a.png",
        "(MEDIA:/d/a.png)",
        "[MEDIA:/d/a.png]",
        "（MEDIA:/d/a.png）",
        "[](MEDIA:/d/a.png)",
        "[MEDIA:/d/a.png](MEDIA:/d/a.png)",
        "[MEDIA:/d/a.png](/d/a.png)",
        "MEDIA:/d/a.png.",
        "MEDIA:/d/a.png,",
        "MEDIA:/d/a.png。",
        "MEDIA:/d/a.png\r\n",
        "MEDIA:/d/a.png<|eos|>",
        "MEDIA:/d/a.png<|im_end|>",
        "MEDIA:/d/a.png</s>",
        "MEDIA:/d/a.png?x=1",
        "MEDIA:/d/a.png#frag",
        "MEDIA:file:///d/a.png",
        "MEDIA:file://localhost/d/%61.png",
        "\n\nMEDIA:/d/a.png\n\n",
    ] {
        check(input, "", &["/d/a.png"]);
    }
    check("MEDIA:\"/d/my report.png\"", "", &["/d/my report.png"]);
    check("MEDIA:/d/my report.png", "", &["/d/my report.png"]);
    check("MEDIA:/d/x.blob", "", &["/d/x.blob"]);
    check("MEDIA:/d/noext", "", &["/d/noext"]);
    check("MEDIA:/d/my data", "", &["/d/my data"]);
    check("MEDIA:/d/v1.md notes.pdf", "", &["/d/v1.md notes.pdf"]);
    check("MEDIA:/d/my.txt file.png", "", &["/d/my.txt file.png"]);
    check("_MEDIA:/d/a_b.png_", "", &["/d/a_b.png"]);
    check("(MEDIA:/d/a (1).png)", "", &["/d/a (1).png"]);
    check("MEDIA:~/a.png", "", &["~/a.png"]);
    check("MEDIA:./a.png", "", &["./a.png"]);
    check("MEDIA:../a.png", "", &["../a.png"]);
    check("MEDIA:chart.png", "", &["chart.png"]);
    check("MEDIA: chart.png", "", &["chart.png"]);
    check("MEDIA:out/chart.png", "", &["out/chart.png"]);
    check("MEDIA:/d/报告（终稿）.pdf", "", &["/d/报告（终稿）.pdf"]);
}

#[test]
fn words_around_a_directive_stay_and_nothing_is_orphaned() {
    for (input, text) in [
        ("Here is your image: MEDIA:/d/a.png", "Here is your image:"),
        ("Here: **MEDIA:/d/a.png**.", "Here:"),
        ("MEDIA:/d/a.png, done", "done"),
        ("I made MEDIA:/d/a.png, done.", "I made, done."),
        ("See MEDIA:/d/a.png for details.", "See for details."),
        ("See (MEDIA:/d/a.png) for details", "See for details"),
        ("**Chart: MEDIA:/d/a.png**", "**Chart:**"),
        ("Done.MEDIA:/d/a.png", "Done."),
        ("文件MEDIA:/d/a.png", "文件"),
        ("A\nMEDIA:/d/a.png\nB", "A\nB"),
        ("A\n\nMEDIA:/d/a.png\n\nB", "A\n\nB"),
        ("A\n\n\n\nB MEDIA:/d/a.png", "A\n\n\n\nB"),
        ("MEDIA:/d/a.png\nSome prose", "Some prose"),
        ("- one\n- MEDIA:/d/a.png\n- two", "- one\n- two"),
        ("[the chart](MEDIA:/d/a.png)", "the chart"),
        (
            "Look at [the chart](MEDIA:/d/a.png), please",
            "Look at the chart, please",
        ),
        ("![c](MEDIA:/d/a.png)", "c"),
        ("![c](<MEDIA:/d/a.png> \"title\")", "c"),
        ("MEDIA:/d/a.png（782 KB）", "（782 KB）"),
        ("MEDIA:/d/a.png (782 KB)", "(782 KB)"),
        ("- MEDIA:/d/a.png (the chart)\n- b", "- (the chart)\n- b"),
        ("MEDIA:/d/a.png (the chart)\nMore", "(the chart)\nMore"),
        (
            "First\n\nMEDIA:/d/a.png is the chart.\n\nMore",
            "First\n\nis the chart.\n\nMore",
        ),
        ("Sure MEDIA:/d/a.png is here", "Sure is here"),
        ("MEDIA:/d/a.png 「見て」", "「見て」"),
        ("It is 5\" wide: MEDIA:/d/a.png", "It is 5\" wide:"),
    ] {
        check(input, text, &["/d/a.png"]);
    }
}

#[test]
fn several_on_a_line() {
    let both: &[&str] = &["/d/a.png", "/d/b.pdf"];
    for input in [
        "MEDIA:/d/a.png MEDIA:/d/b.pdf",
        "MEDIA:/d/a.pngMEDIA:/d/b.pdf",
        "MEDIA:/d/a.png, MEDIA:/d/b.pdf",
        "MEDIA:/d/a.png and MEDIA:/d/b.pdf",
        "MEDIA:/d/a.png & media: /d/b.pdf",
        "MEDIA:\"/d/a.png\", MEDIA:\"/d/b.pdf\"",
        "MEDIA:`/d/a.png` MEDIA:`/d/b.pdf`",
        "`MEDIA:/d/a.png` `MEDIA:/d/b.pdf`",
        "`MEDIA:/d/a.png` and `MEDIA:/d/b.pdf`",
        "**MEDIA:/d/a.png**, **MEDIA:/d/b.pdf**",
        "MEDIA:/d/a.png\nMEDIA:/d/b.pdf",
        "MEDIA:/d/a.png, /d/b.pdf",
        "MEDIA:/d/a.png /d/b.pdf",
        "MEDIA:/d/a.png and /d/b.pdf.",
    ] {
        check(input, "", both);
    }
    check("See MEDIA:/d/a.png and MEDIA:/d/b.pdf.", "See.", both);
    check("MEDIA:/d/a.png then MEDIA:/d/b.pdf", "then", both);
    check(
        "MEDIA:chart.png, MEDIA:out/chart.png",
        "",
        &["chart.png", "out/chart.png"],
    );
    check(
        "MEDIA:/d/a.png /d/b.pdf /d/c.csv are ready",
        "are ready",
        &["/d/a.png", "/d/b.pdf", "/d/c.csv"],
    );
}

#[test]
fn what_is_not_a_directive_stays_as_it_is() {
    for input in [
        "MEDIA: the report is ready, see below.",
        "The MEDIUM is the message.",
        "M",
        "MEDIA:",
        "MEDIA: ",
        "xMEDIA:/d/a.png",
        "snake_MEDIA:/d/a.png",
        "#EXT-X-MEDIA:TYPE=AUDIO,URI=\"a/b.m3u8\"",
        "/MEDIA:/d/a.png",
        "MEDIA:https://e.x/a.png",
        "MEDIA: https://e.x/a.png",
        "MEDIA:data:image/png;base64,AAAA",
        "MEDIA://e.x/a.png",
        "MEDIA: / or not",
        "MEDIA:\nThe files",
        "Use `MEDIA:/path` to send a file.",
        "`see MEDIA:/d/a.png`",
        "`` a ` MEDIA:/d/a.png ``",
        "> MEDIA:/d/a.png",
        "- > MEDIA:/d/a.png",
        "{\"file\": \"MEDIA:/d/a.png\"}",
        "  \"file\": \"MEDIA:/d/a.png\",",
        "  \"file\": MEDIA:/d/a.png,",
        "[\"MEDIA:/d/a.png\"]",
        "{\n  \"files\": [\n    \"MEDIA:/d/a.png\"\n  ]\n}",
        "He said \"use MEDIA:/d/a.png here\".",
        "```\nMEDIA:/d/a.png\n```",
        "```text\nMEDIA:/d/a.png\n\n[[as_document]]\n```\nafter",
        "~~~\nMEDIA:/d/a.png\n```\nMEDIA:/d/a.png\n~~~",
        "```\nMEDIA:/d/a.png",
        "- item\n  ```\n  MEDIA:/d/a.png\n  ```",
        "- ```\n  MEDIA:/d/a.png\n  ```",
        "1. item\n\n        MEDIA:/d/a.png",
        "Example:\n\n\tMEDIA:/d/a.png",
        "    MEDIA:/d/a.png\n\n    MEDIA:/d/a.png",
        "see /d/a.png",
        "![c](/d/a.png)",
        "[[Page]] and [[audio_as",
        "[x](https://e.x)",
    ] {
        let trimmed = input.trim_end_matches([' ', '\n']);
        let parsed = every_split(input);
        assert_eq!(parsed.text, trimmed);
        assert!(
            parsed.directives.is_empty(),
            "{input:?} gave {:?}",
            parsed.directives
        );
        assert_eq!(parsed.flags, Flags::default(), "{input:?}");
    }
}

#[test]
fn after_code_a_directive_is_one_again() {
    check(
        "```\nMEDIA:/d/b.pdf\n```\nMEDIA:/d/a.png",
        "```\nMEDIA:/d/b.pdf\n```",
        &["/d/a.png"],
    );
    check("1. item\n\n    MEDIA:/d/a.png", "1. item", &["/d/a.png"]);
    check("text\n    MEDIA:/d/a.png", "text", &["/d/a.png"]);
    check(
        "an unclosed ` and MEDIA:/d/a.png",
        "an unclosed ` and",
        &["/d/a.png"],
    );
    check("`code` and MEDIA:/d/a.png", "`code` and", &["/d/a.png"]);
}
