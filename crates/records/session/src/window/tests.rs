use model::ToolCall;

use super::*;

fn user(text: &str) -> Message {
    Message::User {
        content: vec![Content::Text {
            text: text.to_owned(),
        }],
    }
}

fn calls(ids: &[&str]) -> Message {
    Message::Assistant {
        text: String::new(),
        calls: ids
            .iter()
            .map(|id| ToolCall {
                id: (*id).to_owned(),
                name: "terminal".to_owned(),
                arguments: Ok(serde_json::Map::new()),
            })
            .collect(),
        replay: None,
    }
}

fn result(id: &str, characters: usize) -> Message {
    Message::Tool {
        call: id.to_owned(),
        name: "terminal".to_owned(),
        content: "x".repeat(characters),
        failed: false,
    }
}

#[test]
fn a_call_is_never_parted_from_its_results() {
    let messages = [
        user("begin"),
        calls(&["a", "b"]),
        result("a", 70),
        result("b", 70),
        user("end"),
    ];
    let end = tokens(&messages[4]);
    let results = tokens(&messages[2]) + tokens(&messages[3]);
    let call = tokens(&messages[1]);
    assert_eq!(latest(&messages, end - 1), 0);
    assert_eq!(latest(&messages, end), 1);
    assert_eq!(latest(&messages, end + results), 1);
    assert_eq!(latest(&messages, end + results + call), 4);
    assert_eq!(latest(&messages, u32::MAX), 5);
    assert_eq!(latest(&[], 100), 0);
}

#[test]
fn after_a_compaction_the_window_is_never_full() {
    for size in [0, 8_000, 16_000, 32_768, 128_000, 1_000_000, u32::MAX] {
        let window = Window::of(Some(size));
        for fixed in [0, 1_000, 3_000, 5_000, 20_000, 200_000] {
            let after =
                u64::from(fixed) + u64::from(window.summary()) + u64::from(window.tail(fixed));
            let room = u64::from(window.full()) - u64::from(window.full() / 5);
            // Where even the fixed part is too much, nothing can help, and that is told.
            assert!(after <= room || window.tail(fixed) == 0, "{size} {fixed}");
        }
    }
    let small = Window::of(Some(16_000));
    assert!(small.tail(5_000) >= 2_000, "{}", small.tail(5_000));
}

#[test]
fn a_small_window_reads_small_results() {
    assert_eq!(Window::of(Some(16_000)).result(), 7_200);
    assert_eq!(Window::of(Some(8_000)).result(), 4_000);
    assert_eq!(Window::of(None).result(), 32_000);
}

#[test]
fn tokens_are_rather_too_many_than_too_few() {
    // 9 tokens by a common tokenizer.
    assert!(text_tokens("The quick brown fox jumps over the lazy dog") >= 9);
    // Each sign is at least one.
    assert_eq!(text_tokens("日本語"), 3);
    assert_eq!(text_tokens(""), 0);
}
