//! What people saw.

use super::super::{DirectiveParser, Parsed, Piece, parse};
use super::{FILES, check, check_missing, check_untouched, every_split, settle};

#[test]
fn c01_01_a_windows_path_with_blanks_is_one_attachment_to_the_end_of_the_line() {
    check_missing(
        "MEDIA:C:\\Users\\Ana\\OneDrive\\My Folder\\report.pdf\nDone",
        "Done",
        &["C:\\Users\\Ana\\OneDrive\\My Folder\\report.pdf"],
    );
    check_missing("MEDIA:\\\\host\\a b.pdf", "", &["\\\\host\\a b.pdf"]);
}

#[test]
fn c01_02_a_spaced_path_with_an_unknown_extension_is_one_attachment() {
    check(
        "MEDIA:/home/u/My Folder/coords.kmz",
        "",
        &["/home/u/My Folder/coords.kmz"],
    );
}

#[test]
fn c01_04_two_directives_with_a_comma_leave_no_comma() {
    check(
        "MEDIA:/tmp/a.md, MEDIA:/tmp/b.md",
        "",
        &["/tmp/a.md", "/tmp/b.md"],
    );
}

#[test]
fn c01_05_a_quoted_name_may_hold_the_directives_word() {
    check(
        "MEDIA:\"/tmp/notes MEDIA: draft.md\"",
        "",
        &["/tmp/notes MEDIA: draft.md"],
    );
}

#[test]
fn c01_07_prose_glued_to_a_path_is_shown_and_never_silence() {
    let input = "MEDIA:/tmp/file1.pngSome text after";
    check(input, "Some text after", &["/tmp/file1.png"]);
    check_missing(input, "Some text after", &["/tmp/file1.png"]);
}

#[test]
fn c01_08_full_width_punctuation_ends_a_path() {
    check(
        "- **PDF**：MEDIA:/w/out/早报_2026-08-16.pdf（782.6 KB）",
        "- **PDF**：（782.6 KB）",
        &["/w/out/早报_2026-08-16.pdf"],
    );
    for stop in ["。", "，", "：", "、", "」"] {
        let seen = settle(
            &every_split(&format!("图 MEDIA:/d/a.png{stop}下一句")),
            FILES,
        );
        assert_eq!(seen.files, ["/d/a.png"]);
        assert!(seen.text.ends_with("下一句"), "{}", seen.text);
    }
}

#[test]
fn c01_10_an_indented_code_block_stays() {
    check_untouched("Example:\n\n    MEDIA: /tmp/example.png\n\nThat is the usage.");
}

#[test]
fn c01_11_bold_back_ticks_and_a_sentence_all_attach() {
    check(
        "**MEDIA:/w/image.png**\n`MEDIA:/w/image.png`\nHere is your image: MEDIA:/w/image.png",
        "Here is your image:",
        &["/w/image.png", "/w/image.png", "/w/image.png"],
    );
}

#[test]
fn c01_13_several_files_or_one_file_with_blanks() {
    check("MEDIA:/one.png /two.png", "", &["/one.png", "/two.png"]);
    check("MEDIA:/w/one image.png", "", &["/w/one image.png"]);
}

#[test]
fn c01_14_a_directive_over_many_deltas_is_never_seen() {
    let mut parser = DirectiveParser::new();
    let mut shown = String::new();
    let mut pieces = Vec::new();
    for delta in ["Here: MED", "IA:", "/tmp/a.png", "\nDone"] {
        for piece in parser.feed(delta) {
            if let Piece::Text(text) = &piece {
                shown.push_str(text);
            }
            assert!(!shown.contains('M') && !shown.contains('/'), "{shown}");
            pieces.push(piece);
        }
    }
    pieces.extend(parser.finish());
    let seen = settle(&Parsed::collect(pieces), FILES);
    assert_eq!(
        (seen.text.as_str(), seen.files),
        ("Here:\nDone", vec!["/tmp/a.png".to_owned()])
    );
}

#[test]
fn a_lone_word_is_released_as_soon_as_it_is_decided() {
    let mut parser = DirectiveParser::new();
    assert_eq!(parser.feed("ME"), []);
    assert_eq!(parser.feed("DIUM"), [Piece::Text("MEDIUM".into())]);
    assert_eq!(
        parser.feed(" MEDIA: the "),
        [Piece::Text(" MEDIA: the".into())]
    );
    assert_eq!(parser.feed("end [a](h"), [Piece::Text(" end [a](h".into())]);
}

#[test]
fn c01_16_the_word_in_prose_is_left_alone() {
    check_untouched("MEDIA: the report is ready, see below.");
}

#[test]
fn c01_17_a_blank_may_follow_the_colon() {
    check("MEDIA: /tmp/generated.png", "", &["/tmp/generated.png"]);
}

#[test]
fn c01_19_a_windows_path_in_another_script_is_whole() {
    check_missing("MEDIA:D:\\临时\\报告.docx", "", &["D:\\临时\\报告.docx"]);
}

#[test]
fn c01_20_the_voice_flag_is_never_seen() {
    for input in [
        "[[audio_as_voice]]\nMEDIA:/tmp/reply.ogg",
        "MEDIA:/tmp/reply.ogg\n[[audio_as_voice]]",
        "[[audio_as_voice]] MEDIA:/tmp/reply.ogg",
        "MEDIA:/tmp/reply.ogg [[audio_as_voice]]",
        "MEDIA:/tmp/reply.ogg[[AUDIO_AS_VOICE]]",
        "[[ audio_as_voice ]]\n\nMEDIA:/tmp/reply.ogg",
    ] {
        check(input, "", &["/tmp/reply.ogg"]);
        let flags = parse(input).flags;
        assert_eq!(flags.shape("audio/ogg"), chat::Shape::Voice, "{input}");
        assert_eq!(flags.shape("image/png"), chat::Shape::Auto, "{input}");
    }
    let seen = settle(
        &every_split("[[audio_as_voice]] Hello [[as_document]] you"),
        FILES,
    );
    assert_eq!(seen.text, "Hello you");
    assert!(seen.flags.voice && seen.flags.document);
}

#[test]
fn a_missing_file_takes_no_words_with_it() {
    check_missing("MEDIA:/d/missing.png", "", &["/d/missing.png"]);
    check_missing("MEDIA:/x/a.png is the chart", "is the chart", &["/x/a.png"]);
    check_missing("MEDIA:/x/My Folder/data", "", &["/x/My Folder/data"]);
    check_missing("MEDIA:/x/My Folder/b.png", "", &["/x/My Folder/b.png"]);
    check_missing("MEDIA:/one.png /two.png", "", &["/one.png", "/two.png"]);
}

#[test]
fn a_line_longer_than_the_limit_passes_and_its_directive_is_found() {
    let prose = "word ".repeat(5000);
    let parsed = parse(&format!("{prose}MEDIA:/d/a.png\nend"));
    assert_eq!(parsed.text, format!("{}\nend", prose.trim_end()));
    assert_eq!(parsed.directives.len(), 1);
    let held = parse(&format!("[{}](x)\nMEDIA:/d/a.png", "y".repeat(20_000)));
    assert_eq!(held.directives.len(), 1);
    let tail = parse(&format!("MEDIA:/d/a.png {prose}"));
    assert_eq!(
        tail.directives[0].readings[tail.directives[0].preferred()].paths,
        ["/d/a.png"]
    );
}
