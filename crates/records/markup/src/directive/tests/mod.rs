//! The parser against a set of files that exist: every input is fed whole, cut at every point, and sign by sign.

mod forms;
mod properties;
mod seen;

use super::{DirectiveParser, Flags, Parsed, parse};

/// What a person gets when these files exist.
struct Seen {
    text: String,
    files: Vec<String>,
    missing: Vec<String>,
    flags: Flags,
}

fn settle(parsed: &Parsed, existing: &[&str]) -> Seen {
    let exists = |path: &String| existing.contains(&path.as_str());
    let (mut chosen, mut files, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for directive in &parsed.directives {
        assert!(!directive.readings.is_empty() && directive.readings.len() <= 12);
        let position = directive
            .readings
            .iter()
            .position(|reading| reading.paths.iter().all(exists))
            .unwrap_or_else(|| directive.preferred());
        chosen.push(position);
        for path in &directive.readings[position].paths {
            if exists(path) {
                files.push(path.clone());
            } else {
                missing.push(path.clone());
            }
        }
    }
    Seen {
        text: parsed.text_with(&chosen),
        files,
        missing,
        flags: parsed.flags,
    }
}

fn fed<'a>(deltas: impl IntoIterator<Item = &'a str>) -> Parsed {
    let mut parser = DirectiveParser::new();
    let mut pieces = Vec::new();
    for delta in deltas {
        pieces.extend(parser.feed(delta));
    }
    pieces.extend(parser.finish());
    Parsed::collect(pieces)
}

fn every_split(whole: &str) -> Parsed {
    let parsed = parse(whole);
    for (at, _) in whole.char_indices() {
        let (left, right) = whole.split_at(at);
        assert_eq!(fed([left, right]), parsed, "split at {at} of {whole:?}");
    }
    let signs: Vec<String> = whole.chars().map(String::from).collect();
    assert_eq!(
        fed(signs.iter().map(String::as_str)),
        parsed,
        "sign by sign: {whole:?}"
    );
    parsed
}

const FILES: &[&str] = &[
    "/d/a.png",
    "/d/b.pdf",
    "/d/c.csv",
    "/d/my report.png",
    "/d/x.blob",
    "/d/noext",
    "/d/my data",
    "/d/v1.md notes.pdf",
    "/d/my.txt file.png",
    "/d/a_b.png",
    "/d/a (1).png",
    "~/a.png",
    "./a.png",
    "../a.png",
    "chart.png",
    "out/chart.png",
    "/one.png",
    "/two.png",
    "/w/one image.png",
    "/tmp/file1.png",
    "/w/out/早报_2026-08-16.pdf",
    "/home/u/My Folder/coords.kmz",
    "/tmp/a.md",
    "/tmp/b.md",
    "/tmp/notes MEDIA: draft.md",
    "/w/image.png",
    "/tmp/a.png",
    "/tmp/generated.png",
    "/tmp/reply.ogg",
    "/d/报告（终稿）.pdf",
];

/// The input gives these words and these files, however it is cut.
#[track_caller]
fn check(input: &str, text: &str, files: &[&str]) {
    let seen = settle(&every_split(input), FILES);
    assert_eq!(seen.text, text, "the words of {input:?}");
    assert_eq!(seen.files, files, "the files of {input:?}");
    assert!(
        seen.missing.is_empty(),
        "missing of {input:?}: {:?}",
        seen.missing
    );
}

#[track_caller]
fn check_untouched(input: &str) {
    let parsed = every_split(input);
    assert_eq!(parsed.text, input);
    assert!(parsed.directives.is_empty(), "{:?}", parsed.directives);
}

/// The files are asked for, though none exists.
#[track_caller]
fn check_missing(input: &str, text: &str, missing: &[&str]) {
    let seen = settle(&every_split(input), &[]);
    assert_eq!(seen.text, text, "the words of {input:?}");
    assert_eq!(seen.missing, missing, "{input:?}");
}
