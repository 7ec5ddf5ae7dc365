//! Secrets in the forms in which they get out, and texts that only look like them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first thing that is not as it must be"
)]

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use tidings_redact::{Redactor, Stream};
use waybill::Secret;

const TOKEN: &str = "tk-7f/Qp+\"9z x?&=ü";

fn redactor(values: &[(&str, &str)]) -> Arc<Redactor> {
    let values = values
        .iter()
        .map(|(name, value)| (*name, Secret::new((*value).to_owned())));
    Arc::new(Redactor::new(values).unwrap())
}

fn percent(text: &str, keep: &str) -> String {
    text.bytes()
        .map(|byte| {
            let sign = char::from(byte);
            if sign.is_ascii_alphanumeric() || keep.contains(sign) {
                sign.to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

fn written(token: &str) -> Vec<String> {
    let hex: String = token.bytes().map(|byte| format!("{byte:02x}")).collect();
    let json = token.replace('\\', "\\\\").replace('"', "\\\"");
    vec![
        token.to_owned(),
        STANDARD.encode(token),
        STANDARD_NO_PAD.encode(token),
        URL_SAFE.encode(token),
        URL_SAFE_NO_PAD.encode(token),
        hex.clone(),
        hex.to_uppercase(),
        percent(token, "-._~"),
        percent(token, "-._~!*'()"),
        percent(token, "-._~").replace("%20", "+"),
        percent(token, ""),
        token.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        token.bytes().map(|byte| format!("%{byte:02x}")).collect(),
        json,
    ]
}

#[test]
fn a_token_is_taken_out_in_every_way_it_is_written() {
    let redactor = redactor(&[("API_TOKEN", TOKEN)]);
    for form in written(TOKEN) {
        let said = redactor
            .redact(&format!("before {form} after"))
            .into_owned();
        assert_eq!(said, "before [redacted: API_TOKEN] after", "{form}");
    }
}

#[test]
fn a_token_inside_something_that_was_encoded_as_a_whole_is_taken_out_at_every_alignment() {
    let redactor = redactor(&[("API_TOKEN", TOKEN)]);
    for before in ["", "a", "ab", "abc", "export API_TOKEN=", "{\"k\": \""] {
        for after in ["", "\n", "yz", "xyz\n"] {
            let whole = format!("{before}{TOKEN}{after}");
            for encoded in [STANDARD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
                let said = redactor.redact(&encoded);
                assert!(said.contains("[redacted: API_TOKEN]"), "{whole:?}: {said}");
                // A few bits at either end are shared with the neighbours; no byte of the middle is left.
                let left = said.replace("[redacted: API_TOKEN]", "");
                let expected = encoded.len() - TOKEN.len() * 8 / 6 + 2;
                assert!(left.len() <= expected + 3, "{whole:?}: {left}");
            }
        }
    }
}

#[test]
fn lines_broken_in_the_middle_hide_nothing() {
    let redactor = redactor(&[("API_TOKEN", TOKEN)]);
    for form in [
        STANDARD.encode(format!("x{TOKEN}x")),
        written(TOKEN).remove(5),
    ] {
        for width in 1..form.len() {
            for line_break in ["\n", "\r\n"] {
                let wrapped: Vec<&str> = form
                    .as_bytes()
                    .chunks(width)
                    .map(|line| std::str::from_utf8(line).unwrap())
                    .collect();
                let wrapped = wrapped.join(line_break);
                let said = redactor.redact(&wrapped);
                assert!(said.contains("[redacted: API_TOKEN]"), "{width}: {said}");
            }
        }
    }
}

#[test]
fn a_line_of_a_key_file_is_taken_out_by_itself_and_its_title_is_not() {
    let line = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU";
    let key = format!("-----BEGIN PRIVATE KEY-----\n{line}\nAAAA\n-----END PRIVATE KEY-----\n");
    let redactor = redactor(&[("KEY", &key)]);
    assert_eq!(redactor.redact(&key), "[redacted: KEY]\n");
    assert_eq!(redactor.redact(line), "[redacted: KEY]");
    for harmless in ["-----BEGIN PRIVATE KEY-----", "AAAA"] {
        assert_eq!(redactor.redact(harmless), harmless);
    }
}

#[test]
fn short_values_and_other_words_stay_as_they_are() {
    let redactor = redactor(&[("SHORT", "1234567"), ("EMPTY", ""), ("BLANK", "          ")]);
    assert!(redactor.is_empty());
    let words = "1234567 stays, and so does this";
    assert_eq!(redactor.redact(words), words);
    let redactor = Redactor::default();
    assert_eq!(redactor.redact(TOKEN), TOKEN);
}

#[test]
fn the_longer_of_two_values_that_begin_alike_is_taken_out_whole() {
    let redactor = redactor(&[("SHORTER", "abcdefgh"), ("LONGER", "abcdefghijkl")]);
    assert_eq!(redactor.redact("abcdefghijkl"), "[redacted: LONGER]");
    assert_eq!(redactor.redact("abcdefghijk"), "[redacted: SHORTER]ijk");
}

#[test]
fn what_is_no_secret_is_said_at_once() {
    let mut stream = Stream::new(redactor(&[("API_TOKEN", TOKEN)]));
    assert_eq!(stream.feed_text("Password: "), "Password: ");
    assert_eq!(stream.feed_text("go on t"), "go on ");
    assert_eq!(stream.feed_text("k-no"), "tk-no");
    assert_eq!(stream.finish_text(), "");
}

#[test]
fn nothing_prints_a_value() {
    let shown = format!("{:?}", redactor(&[("API_TOKEN", TOKEN)]));
    assert!(
        !shown.contains(TOKEN) && !shown.contains("tk-7f"),
        "{shown}"
    );
}

#[test]
fn a_mark_tells_which_secret_it_stands_for_and_only_of_known_ones() {
    let redactor = redactor(&[("A", TOKEN), ("B_2", "aaaaaaaab"), ("SHORT", "abc")]);
    let clean = redactor.redact("x aaaaaaaab y").into_owned();
    assert_eq!(redactor.marked(&clean), Some("B_2"));
    assert_eq!(
        redactor.marked("[redacted: no] [redacted: [redacted: A]"),
        Some("A")
    );
    for text in ["", "[redacted: SHORT]", "[redacted: A", "redacted: A]"] {
        assert_eq!(redactor.marked(text), None, "{text}");
    }
    assert_eq!(Redactor::default().marked("[redacted: A]"), None);
}

/// Pieces of which secrets and their look-alikes are made.
fn pieces() -> impl Strategy<Value = String> {
    let known = [
        TOKEN.to_owned(),
        "tk-7f/Qp".to_owned(),
        "aaaaaaaab".to_owned(),
        "aaaa".to_owned(),
        STANDARD.encode(TOKEN),
        STANDARD.encode(format!("x{TOKEN}")),
        "\n".to_owned(),
        "\r\n".to_owned(),
        "\n\n\n\n".to_owned(),
        "ü".to_owned(),
    ];
    let one = prop_oneof![
        3 => proptest::sample::select(known.to_vec()),
        1 => "[a-c \n]{0,6}",
    ];
    proptest::collection::vec(one, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_stream_says_the_same_as_the_whole_text_wherever_it_is_cut(
        text in pieces(),
        cuts in proptest::collection::vec(0_usize..40, 0..30),
    ) {
        let redactor = redactor(&[("A", TOKEN), ("B", "aaaaaaaab"), ("C", "aaaaaaaa"), ("D", "tk-7f/QpZZ")]);
        let whole = redactor.redact_bytes(text.as_bytes()).into_owned();
        let mut stream = Stream::new(Arc::clone(&redactor));
        let mut said = Vec::new();
        let mut rest = text.as_bytes();
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            said.extend(stream.feed(piece));
            rest = after;
        }
        said.extend(stream.feed(rest));
        said.extend(stream.finish());
        prop_assert_eq!(String::from_utf8_lossy(&said), String::from_utf8_lossy(&whole));
    }

    #[test]
    fn text_in_single_characters_is_the_same_text(text in pieces()) {
        let redactor = redactor(&[("A", TOKEN), ("B", "aaaaaaaab")]);
        let mut stream = Stream::new(Arc::clone(&redactor));
        let mut said = String::new();
        for sign in text.chars() {
            said.push_str(&stream.feed_text(&sign.to_string()));
        }
        said.push_str(&stream.finish_text());
        prop_assert_eq!(said, redactor.redact(&text));
    }
}
