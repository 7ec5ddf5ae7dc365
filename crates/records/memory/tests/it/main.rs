//! Notebooks as owners write them, and as models change them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that can't set up its world should stop"
)]

use proptest::prelude::*;
use tidings_memory::{
    Change, EntryId, Former, MOST_ARCHIVE, Notebook, Refused, Whose, Why, apply, archive, block,
    search,
};
use waybill::Timestamp;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn add(text: &str) -> Change {
    Change::Add(text.to_owned())
}

fn replace(id: u32, text: &str) -> Change {
    Change::Replace(EntryId(id), text.to_owned())
}

fn remove(id: u32) -> Change {
    Change::Remove(EntryId(id))
}

fn changed(book: &Notebook, changes: &[Change]) -> Notebook {
    apply(book, changes, 4_000, NOW).unwrap().notebook
}

fn lines(book: &Notebook) -> Vec<String> {
    book.entries().iter().map(ToString::to_string).collect()
}

#[test]
fn what_an_owner_writes_by_hand_is_remembered_and_gets_an_id() {
    let text = "# my notes\n\nLikes tea.\nm7: Lives in Bern.\nm7: Twice.\n  m9:  Two   blanks. \nNote: a colon is no id.\nhid\u{200B}den\n";
    let book = Notebook::read(text, "");
    assert_eq!(
        lines(&book),
        [
            "m10: Likes tea.",
            "m7: Lives in Bern.",
            "m11: Twice.",
            "m9: Two blanks.",
            "m12: Note: a colon is no id.",
            "m13: hidden"
        ]
    );
    assert_eq!(Notebook::read(&book.write(), ""), book);
}

#[test]
fn an_id_is_never_given_twice() {
    let book = changed(&Notebook::default(), &[add("a"), add("b")]);
    let book = Notebook::read(&book.write(), "");
    let second = book.entries()[1].id;
    let after = apply(&book, &[Change::Remove(second)], 4_000, NOW).unwrap();
    let again = changed(&after.notebook, &[add("c")]);
    assert!(again.entries()[1].id > second, "{again:?}");
    // Also where the owner threw the first lines of the file away.
    let gone = archive("", &after.former);
    let by_hand: String = after
        .notebook
        .write()
        .lines()
        .skip(2)
        .map(|line| format!("{line}\n"))
        .collect();
    let again = changed(&Notebook::read(&by_hand, &gone), &[add("c")]);
    assert!(again.entries()[1].id > second, "{again:?}");
}

#[test]
fn a_change_is_made_whole_or_not_at_all() {
    let book = changed(
        &Notebook::default(),
        &[add("one"), add("two"), add("three")],
    );
    let ids: Vec<u32> = book.entries().iter().map(|entry| entry.id.0).collect();
    let after = apply(
        &book,
        &[
            remove(ids[0]),
            replace(ids[1], "TWO"),
            add("four"),
            add("three"),
        ],
        4_000,
        NOW,
    )
    .unwrap();
    let texts: Vec<&str> = after
        .notebook
        .entries()
        .iter()
        .map(|entry| entry.text.as_str())
        .collect();
    assert_eq!(
        texts,
        ["TWO", "three", "four"],
        "what is known stays as it is"
    );
    let former: Vec<(&str, Why)> = after
        .former
        .iter()
        .map(|former| (former.text.as_str(), former.why))
        .collect();
    assert_eq!(former, [("one", Why::Removed), ("two", Why::Replaced)]);
    for (changes, refused) in [
        (vec![add("x"), remove(99)], Refused::NoEntry(EntryId(99))),
        (
            vec![remove(ids[0]), replace(ids[0], "y")],
            Refused::NoEntry(EntryId(ids[0])),
        ),
        (vec![add(" \n ")], Refused::Empty),
        (vec![add(&"x".repeat(601))], Refused::LongEntry(601)),
        (vec![add("a\u{2066}b")], Refused::Unseen('\u{2066}')),
    ] {
        assert_eq!(apply(&book, &changes, 4_000, NOW), Err(refused));
    }
}

#[test]
fn what_does_not_fit_is_refused_and_room_can_be_made_in_the_same_change() {
    let line = "x".repeat(90);
    let book = changed(&Notebook::default(), &[add(&line)]);
    let id = book.entries()[0].id.0;
    let most = 150;
    let other = "y".repeat(90);
    assert!(
        matches!(apply(&book, &[add(&other)], most, NOW), Err(Refused::Full { would, most: 150 }) if would > 150)
    );
    assert!(
        apply(&book, &[add(&other), remove(id)], most, NOW).is_ok(),
        "only the end counts"
    );
    // By hand it grew over the bound: it may shrink step by step, and not grow.
    assert!(matches!(
        apply(&book, &[add("z")], 50, NOW),
        Err(Refused::Full { .. })
    ));
    assert!(apply(&book, &[replace(id, &"x".repeat(80))], 50, NOW).is_ok());
}

#[test]
fn the_prompt_is_bounded_whatever_stands_in_the_file() {
    assert_eq!(block(&Notebook::default(), None), "");
    let book = changed(&Notebook::default(), &[add("Likes tea.")]);
    let text = block(&book, Some(&book));
    assert!(
        text.contains("# What you remember\n")
            && text.contains("# What you remember of the person\n"),
        "{text}"
    );
    assert!(text.ends_with("Likes tea."), "{text}");
    let by_hand: String = (0..500)
        .map(|n| format!("Fact number {n} about something or other.\n"))
        .collect();
    let large = Notebook::read(&by_hand, "");
    let text = block(&large, Some(&large));
    assert!(text.chars().count() < 4_000 + 2_000 + 400, "{}", text.len());
    assert_eq!(text.matches("more don't fit here").count(), 2);
    assert!(Whose::Profile.most() > Whose::PERSON);
}

#[test]
fn what_was_forgotten_is_found_the_latest_first() {
    let former = |text: &str, second| Former {
        at: Timestamp::from_second(second).unwrap(),
        id: EntryId(1),
        why: Why::Removed,
        text: text.to_owned(),
    };
    let text = archive(
        "",
        &[
            former("Lives in Bern", 1),
            former("Likes TEA and coffee", 2),
        ],
    );
    let text = archive(&text, &[former("Likes tea", 3)]);
    let found = |query: &str| {
        search(&text, query, 10)
            .into_iter()
            .map(|former| former.text)
            .collect::<Vec<_>>()
    };
    assert_eq!(found("tea"), ["Likes tea", "Likes TEA and coffee"]);
    assert_eq!(found("coffee likes"), ["Likes TEA and coffee"]);
    assert_eq!(search(&text, "", 2).len(), 2);
    assert_eq!(found("nothing"), Vec::<String>::new());
    // A write that was cut off takes nothing else along.
    let cut = archive(&format!("{text}{{\"at\":\"19"), &[former("after", 4)]);
    assert_eq!(search(&cut, "", 10).len(), 4);
}

#[test]
fn an_archive_stays_bounded_and_keeps_the_latest() {
    let former = |n: u32| Former {
        at: NOW,
        id: EntryId(n),
        why: Why::Removed,
        text: "x".repeat(500),
    };
    let mut text = String::new();
    for n in 0..40 {
        let many: Vec<Former> = (0..100).map(|k| former(n * 100 + k)).collect();
        text = archive(&text, &many);
        assert!(text.len() <= MOST_ARCHIVE);
    }
    assert_eq!(search(&text, "", 1)[0].id, EntryId(3_999));
}

proptest! {
    #[test]
    fn any_file_is_a_notebook_and_is_read_back_as_it_was_written(text in "(m[0-9]{1,3}: )?[a-z #:\n\u{200b}é]{0,200}") {
        let book = Notebook::read(&text, "");
        let again = Notebook::read(&book.write(), "");
        prop_assert_eq!(&again, &book);
        let mut ids: Vec<EntryId> = book.entries().iter().map(|entry| entry.id).collect();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), book.entries().len());
    }

    #[test]
    fn no_change_makes_a_notebook_larger_than_it_may_be(
        steps in prop::collection::vec((0_u8..3, 0_u32..12, "[a-z ]{0,120}"), 0..40),
        most in 50_usize..600,
    ) {
        let mut book = Notebook::default();
        for (kind, id, text) in steps {
            let change = match kind { 0 => Change::Add(text), 1 => Change::Replace(EntryId(id), text), _ => Change::Remove(EntryId(id)) };
            if let Ok(changed) = apply(&book, &[change], most, NOW) {
                book = changed.notebook;
            }
            prop_assert!(book.size() <= most);
        }
    }
}
