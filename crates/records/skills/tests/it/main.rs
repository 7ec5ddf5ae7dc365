//! Skills as people write them, as a model reads of them, and as somebody calls them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that can't set up its world should stop"
)]

use proptest::prelude::*;
use tidings_skills::{
    Fault, INDEX_BYTES, LONGEST_DESCRIPTION, MOST_LISTED, Skill, called, command, index, invocation,
};

fn skill(name: &str, description: &str) -> Skill {
    let text = format!("---\nname: {name}\ndescription: {description}\n---\n");
    Skill::read(name, &text).unwrap().0
}

fn described(header: &str) -> Result<String, Fault> {
    let text = format!("---\nname: a\n{header}\n---\n# Body\n");
    Skill::read("a", &text).map(|(skill, _)| skill.description)
}

#[test]
fn a_header_is_read_as_people_write_it() {
    for (header, description) in [
        ("description: Plain words", "Plain words"),
        (
            "description: With a: colon, https://x.org and it's fine",
            "With a: colon, https://x.org and it's fine",
        ),
        ("description: Words # and a comment", "Words"),
        ("description: C# is a language", "C# is a language"),
        (
            "description: \"quoted: \\\"x\\\" \\u00e9\"  # why",
            "quoted: \"x\" é",
        ),
        ("description: 'it''s quoted'", "it's quoted"),
        ("description: \"goes\n  on\"", "goes on"),
        (
            "description: goes on\n  in the next line\n\n  and the one after",
            "goes on in the next line and the one after",
        ),
        ("description:\n  begins below", "begins below"),
        (
            "description: >-\n  folded\n  words\n\n  and more",
            "folded words and more",
        ),
        ("description: |\n  kept\n   words", "kept words"),
        (
            "license: MIT\ndescription: after\nmetadata:\n  author: x\n  tags:\n    - a\n    - b\nallowed-tools: [a, b]",
            "after",
        ),
        ("# a comment\n\ndescription: x\r", "x"),
    ] {
        assert_eq!(described(header).as_deref(), Ok(description), "{header}");
    }
}

#[test]
fn what_can_not_be_a_skill_is_told_in_a_sentence() {
    let read = |folder: &str, text: &str| Skill::read(folder, text).unwrap_err().to_string();
    for (folder, text, says) in [
        ("a", "", "does not begin with a header"),
        (
            "a",
            "# Title\n---\nname: a\n---\n",
            "does not begin with a header",
        ),
        ("a", "---\nname: a\n", "does not end"),
        ("a", "---", "does not end"),
        ("a", "---\ndescription: x\n---\n", "no `name`"),
        ("a", "---\nname: a\n---\n", "no `description`"),
        (
            "a",
            "---\nname: a\ndescription: ''\n---\n",
            "no `description`",
        ),
        (
            "a",
            "---\nname: a\ndescription: [x]\n---\n",
            "no `description`",
        ),
        (
            "a",
            "---\nname: a\ndescription:\n  nested: x\n---\n",
            "no `description`",
        ),
        (
            "a",
            "---\nname: a\nname: b\ndescription: x\n---\n",
            "`name` twice",
        ),
        ("a", "---\nname: a\njust words\n---\n", "line 3 of SKILL.md"),
        (
            "a",
            "---\nname: a\ndescription: \"x\n---\n",
            "line 3 of SKILL.md",
        ),
        (
            "a",
            "---\nname: a\ndescription: 'x' y\n---\n",
            "line 3 of SKILL.md",
        ),
        (
            "a",
            "---\nname: b\ndescription: x\n---\n",
            "lies in the folder 'a'",
        ),
        ("A", "---\nname: A\ndescription: x\n---\n", "the name 'A'"),
        (
            "a--b",
            "---\nname: a--b\ndescription: x\n---\n",
            "the name 'a--b'",
        ),
        (
            "-a",
            "---\nname: -a\ndescription: x\n---\n",
            "the name '-a'",
        ),
        (
            "a",
            "---\nname: a\ndescription: x\u{202E}y\n---\n",
            "U+202E",
        ),
        (
            "a",
            "---\nname: a\ndescription: \"x\\u200by\"\n---\n",
            "U+200B",
        ),
        (
            "a",
            "---\nname: a\ndescription: x\n---\ntext\u{E0041}",
            "U+E0041",
        ),
    ] {
        let told = read(folder, text);
        assert!(told.contains(says), "{text:?}: {told}");
    }
    let long = "x".repeat(LONGEST_DESCRIPTION + 1);
    assert!(matches!(
        described(&format!("description: {long}")),
        Err(Fault::LongDescription(1025))
    ));
    let large = format!(
        "---\nname: a\ndescription: x\n---\n{}",
        "x".repeat(64 << 10)
    );
    assert_eq!(Skill::read("a", &large), Err(Fault::TooLarge));
    let name = "a".repeat(65);
    assert!(matches!(
        Skill::read(&name, &format!("---\nname: {name}\n---\n")),
        Err(Fault::Name(_))
    ));
}

#[test]
fn the_body_is_what_stands_below_the_header() {
    let text = "\u{FEFF}---\r\nname: a\r\ndescription: x\r\n---\r\n\r\n# Do\r\n---\r\nthis\r\n";
    let (_, body) = Skill::read("a", text).unwrap();
    assert_eq!(body, "# Do\r\n---\r\nthis");
}

#[test]
fn the_index_is_bounded_and_says_what_it_left_out() {
    assert_eq!(index(&[]), "");
    let few = [skill("b", "Second."), skill("a", "First.")];
    assert_eq!(index(&few), "- a: First.\n- b: Second.\n");
    let many: Vec<Skill> = (0..60).map(|n| skill(&format!("s{n:02}"), "x")).collect();
    let text = index(&many);
    assert_eq!(text.lines().count(), MOST_LISTED + 1);
    assert!(
        text.ends_with("(20 more: call `skill` without a name)\n"),
        "{text}"
    );
    let long: Vec<Skill> = (0..60)
        .map(|n| skill(&format!("s{n:02}"), &"long words ".repeat(90)))
        .collect();
    let text = index(&long);
    assert!(text.len() <= INDEX_BYTES + 60, "{}", text.len());
    assert!(text.contains(" long…"), "{text}");
    assert!(text.contains(" more: call"), "{text}");
}

#[test]
fn a_skill_is_called_by_its_name_and_takes_no_other_commands_place() {
    let skills = [
        skill("weekly-report", "x"),
        skill("status", "x"),
        skill("skill-a", "x"),
        skill("a", "x"),
    ];
    let by = |word: &str| called(&skills, word).map(|skill| skill.name.to_string());
    assert_eq!(by("weekly-report").as_deref(), Some("weekly-report"));
    assert_eq!(by("Weekly_Report").as_deref(), Some("weekly-report"));
    assert_eq!(by("skill-status").as_deref(), Some("status"));
    assert_eq!(by("skill_weekly_report").as_deref(), Some("weekly-report"));
    assert_eq!(
        by("skill-a").as_deref(),
        Some("skill-a"),
        "its own name goes first"
    );
    assert_eq!(by("etc/passwd"), None);
    let taken = |name: &str| name == "status";
    assert_eq!(command(&skills[1].name, taken), "skill-status");
    assert_eq!(command(&skills[0].name, taken), "weekly-report");
    let parts = |text| invocation(text).map(|asked| (asked.word, asked.rest));
    assert_eq!(
        parts(" /weekly-report@my_bot for\nMay "),
        Some(("weekly-report", "for\nMay"))
    );
    assert_eq!(parts("/a"), Some(("a", "")));
    assert_eq!(parts("/"), None);
    assert_eq!(parts("no /a"), None);
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_stumble(
        begins in prop_oneof![Just("---\nname: a\ndescription:"), Just("---\n"), Just("")],
        text in "[a-z:#'\"\\\\|> \n\t\r\\-é\u{200b}]{0,60}",
        ends in prop_oneof![Just("\n---\n"), Just("")],
    ) {
        if let Ok((skill, _)) = Skill::read("a", &format!("{begins}{text}{ends}")) {
            prop_assert_eq!(skill.name.as_str(), "a");
            prop_assert!(!skill.description.is_empty());
            let hidden = skill.description.contains('\u{200b}');
            prop_assert!(!hidden);
        }
    }

    #[test]
    fn a_description_in_double_quotes_is_read_back(words in "[a-zA-Z0-9:#'\"\\\\éß ]{0,60}") {
        let quoted = words.replace('\\', "\\\\").replace('"', "\\\"");
        let wanted: Vec<&str> = words.split_whitespace().collect();
        let read = described(&format!("description: \"{quoted}\""));
        if wanted.is_empty() {
            prop_assert_eq!(read, Err(Fault::Missing("description")));
        } else {
            prop_assert_eq!(read, Ok(wanted.join(" ")));
        }
    }
}
