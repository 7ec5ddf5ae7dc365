//! What people saw, every split point.

use proptest::prelude::*;

use super::ReasoningFilter;

fn fed<'a>(deltas: impl IntoIterator<Item = &'a str>) -> String {
    let mut filter = ReasoningFilter::new();
    let mut out = String::new();
    for delta in deltas {
        out.push_str(&filter.feed(delta));
    }
    out.push_str(&filter.finish());
    out
}

#[track_caller]
fn check(input: &str, expected: &str) {
    assert_eq!(fed([input]), expected, "{input:?}");
    for (at, _) in input.char_indices() {
        let (left, right) = input.split_at(at);
        assert_eq!(fed([left, right]), expected, "{input:?} split at {at}");
    }
}

#[test]
fn c04_10_a_reasoning_tag_over_deltas_is_never_seen() {
    let mut filter = ReasoningFilter::new();
    let mut shown = String::new();
    for delta in ["<thi", "nk>secret plan", "</th", "ink>Hello"] {
        shown.push_str(&filter.feed(delta));
        assert!(!shown.contains('<') && !shown.contains("secret"));
    }
    shown.push_str(&filter.finish());
    assert_eq!(shown, "Hello");
}

#[test]
fn reasoning_goes_and_the_answer_stays() {
    check("<think>secret</think>Hello", "Hello");
    check("<thinking>\nsecret\n</thinking>\n\nHello", "Hello");
    check("<Thought>secret</Thought> Hello", "Hello");
    check(
        "<reasoning effort=\"high\">secret `</reasoning>Hello",
        "Hello",
    );
    check("<final>Hello</final>", "Hello");
    check("<think>secret</think><final>Hello</final>", "Hello");
    check(
        "Sure.\n<think>secret <final> </x></think>\nHello",
        "Sure.\nHello",
    );
    check("Hello <think>secret</think>you", "Hello you");
    check("secret is out</think>Hello", "secret is outHello");
    check("<think>secret that never ends", "");
    check(
        "an open ` tick <think>secret</think>Hello",
        "an open ` tick Hello",
    );
    check(
        "`a` <think>secret</think>Hello `b <think>s</think>c",
        "`a` Hello `b c",
    );
}

#[test]
fn code_that_discusses_tags_is_kept() {
    for input in [
        "Use `<think>` and `</think>`.",
        "Use ``a ` <think>`` here",
        "Use `<think>`\nand `</think>`",
        "```\n<think>x</think>\n```\nafter",
        "```xml <final>\n<think>",
        "~~~\n<think>\n~~~",
        "text\n\n    <think>x</think>",
        "a < b and <thin and <thinks> and <b>",
        "<thi",
        "<",
        "\n\nHello",
    ] {
        check(input, input);
    }
}

proptest! {
    #[test]
    fn any_cut_gives_the_same(fragments in proptest::collection::vec(proptest::sample::select(vec![
        "<think>", "</think>", "<thi", "nk>", "<final>", "</final>", "`", "``", "```", "\n", "\n\n", "    ", "a", " ", "<", ">", "</", "😀", "~~~", "- ",
    ]), 0..20)) {
        let whole = fragments.concat();
        let expected = fed([whole.as_str()]);
        prop_assert_eq!(&fed(fragments.iter().copied()), &expected);
        for (at, _) in whole.char_indices() {
            let (left, right) = whole.split_at(at);
            prop_assert_eq!(&fed([left, right]), &expected);
        }
    }
}
