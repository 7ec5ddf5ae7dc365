//! No text makes the reader stumble.

use proptest::prelude::*;
use tidings_settings::{FixedEnvironment, Home, read};

use crate::world::{EXAMPLE, VARIABLES};

fn survives(text: &str) {
    let home = Home::at(std::path::Path::new("/nowhere/at/all")).unwrap();
    let loaded = read(text, &home, &FixedEnvironment::new(VARIABLES));
    let last = text.split('\n').count();
    for problem in &loaded.problems {
        assert!((1..=last).contains(&problem.line), "{problem}");
        let width = text
            .split('\n')
            .nth(problem.line - 1)
            .unwrap()
            .chars()
            .count();
        assert!(
            (1..=width + 1).contains(&problem.column),
            "{problem} in {text:?}"
        );
        assert!(!problem.message.contains(['\n', '\r']), "{problem:?}");
    }
    assert!(loaded.settings().is_some() || !loaded.problems.is_empty());
    assert!(!format!("{loaded:?}").contains("very-secret"));
    assert!(!loaded.provenance().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        survives(&text);
    }

    #[test]
    fn any_text_of_the_signs_that_matter(text in "[\\[\\]{}=.,\"'#\\\\\n\r \ta-c0-9:_\u{e9}\u{1f600}+-]{0,120}") {
        survives(&text);
    }

    #[test]
    fn the_example_with_pieces_cut_doubled_or_replaced(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_u8..4, "[\\[\\]{}=\"'\n0-9a-z\u{e9}-]{0,6}"), 1..6)
    ) {
        let mut signs: Vec<char> = EXAMPLE.chars().collect();
        for (from, length, what, piece) in edits {
            let from = from.index(signs.len().max(1)).min(signs.len());
            let to = (from + length.index(40)).min(signs.len());
            let middle: Vec<char> = match what {
                0 => Vec::new(),
                1 => signs.get(from..to).unwrap_or_default().repeat(2),
                2 => piece.chars().collect(),
                _ => piece.chars().chain(signs.get(from..to).unwrap_or_default().iter().copied()).collect(),
            };
            signs.splice(from..to, middle);
        }
        survives(&signs.into_iter().collect::<String>());
    }

    #[test]
    fn the_example_with_its_lines_shuffled(order in Just(EXAMPLE.lines().collect::<Vec<_>>()).prop_shuffle()) {
        survives(&order.join("\n"));
    }
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    survives(&format!(
        "a = {}{}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    ));
    survives(&format!("a = {}", "{ a = ".repeat(100_000)));
    survives(&format!("[{}a]", "a.".repeat(100_000)));
}
