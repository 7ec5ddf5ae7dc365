//! Any text, cut anywhere.

use proptest::prelude::*;

use super::super::{Flags, parse};
use super::fed;

fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(vec![
            "MEDIA:", "media:", "MEDIA: ", "/d/a.png", "/d/my report.png", "chart.png", "\n", "\n\n", " ", "`", "``", "```", "~~~", "\"",
            "'", "**", "_", "(", ")", "[", "]", "](", "[[", "]]", "[[as_document]]", "[[audio_as_voice]]", "<|eos|>", "> ", "- ", "1. ", "    ", "\t",
            "{", ",", ".", " and ", "。", "（", "）", "😀", "文", "M", "\r\n", "https://e.x", "C:\\a b", "[f](MEDIA:/d/a.png)", "!", ":", "<", ">",
        ]).prop_map(str::to_owned),
        1 => "[a-zA-Z ]{0,6}",
        1 => any::<char>().prop_map(String::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_cut_gives_the_same(fragments in proptest::collection::vec(fragment(), 0..24), cuts in proptest::collection::vec(0_usize..200, 0..6)) {
        let whole = fragments.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(whole.len())).filter(|cut| whole.is_char_boundary(*cut)).collect();
        cuts.sort_unstable();
        let mut deltas = Vec::new();
        let mut from = 0;
        for cut in cuts {
            deltas.push(whole.get(from..cut).unwrap());
            from = cut;
        }
        deltas.push(whole.get(from..).unwrap());
        prop_assert_eq!(fed(deltas), parse(&whole));
        prop_assert_eq!(fed(fragments.iter().map(String::as_str)), parse(&whole));
    }

    #[test]
    fn words_come_out_as_they_went_in_where_nothing_is_attached(fragments in proptest::collection::vec(fragment(), 0..24)) {
        let whole = fragments.concat();
        let parsed = parse(&whole);
        if parsed.directives.is_empty() && parsed.flags == Flags::default() {
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(words(&parsed.text), words(&whole));
        }
        for directive in &parsed.directives {
            prop_assert!(!directive.readings.is_empty() && directive.readings.len() <= 12);
            prop_assert!(directive.readings.iter().all(|reading| !reading.paths.is_empty() && reading.paths.iter().all(|path| !path.trim().is_empty())));
        }
    }
}
