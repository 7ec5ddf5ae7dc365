//! Files that can be read: short, with a word on each door, without unfinished marks.

use crate::house::{is_test, root, sources};

/// Past this many lines two things live in one file (STYLE: nothing past 900).
const LONGEST: usize = 900;

#[test]
fn no_file_is_too_long_to_read() {
    let long: Vec<String> = sources(&root().join("crates"), &[".rs", ".js", ".css"])
        .iter()
        .filter(|source| source.text.lines().count() > LONGEST)
        .map(|source| format!("{}: {} lines", source.place, source.text.lines().count()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn every_crate_has_a_word_on_its_door() {
    for source in sources(&root().join("crates"), &["lib.rs", "main.rs"]) {
        let door = source.place.ends_with("src/lib.rs") || source.place.ends_with("src/main.rs");
        assert!(
            !door || source.text.starts_with("//!"),
            "{} does not open with a word on its door",
            source.place
        );
    }
}

#[test]
fn no_room_is_called_after_nothing() {
    for source in sources(&root().join("crates"), &[".rs"]) {
        let name = source.place.rsplit('/').next().unwrap();
        for empty in [
            "utils.rs",
            "util.rs",
            "helpers.rs",
            "helper.rs",
            "common.rs",
            "manager.rs",
            "misc.rs",
        ] {
            assert_ne!(name, empty, "{}", source.place);
        }
    }
}

#[test]
fn nothing_is_left_unfinished() {
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("unimpl", "emented!("),
        concat!("to", "do!("),
    ];
    for source in sources(&root().join("crates"), &[".rs"]) {
        for mark in marks {
            let found = source.text.contains(&format!("// {mark}"))
                || (mark.ends_with('(') && source.text.contains(mark));
            assert!(
                !found || is_test(&source.place),
                "{} holds {mark}",
                source.place
            );
        }
    }
}
