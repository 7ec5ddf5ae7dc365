//! What an owner may do with a part, and how notices are told as one.

use chat::{Body, Op, RichText, Shape};
use sandbox::{ArtifactRef, Blob, ContentHash, Taken};
use tidings_outbox::{
    Gathered, Loss, MessageKind, PartState, Verb, gather, held, meaning, undelivered_to,
};
use waybill::{ChatKey, Conversation, Ids, Limit, MessageId};

use PartState::{
    Cancelled, Expired, Failed, Held, Queued, Retry, Sending, Sent, Superseded, Unknown,
};

struct One;

impl Ids for One {
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::from_u128(1)
    }
}

#[test]
fn every_verb_has_one_outcome_in_every_state() {
    let table = [
        // state, retry, cancel, mark-sent
        (Queued, Some(Queued), Some(Cancelled), None),
        (Sending, None, None, None),
        (Retry, Some(Queued), Some(Cancelled), Some(Sent)),
        (Unknown, Some(Unknown), Some(Cancelled), Some(Sent)),
        (Held, Some(Queued), Some(Cancelled), Some(Sent)),
        (Sent, None, None, None),
        (Failed, Some(Queued), None, Some(Sent)),
        (Expired, Some(Queued), None, Some(Sent)),
        (Cancelled, Some(Queued), None, None),
        (Superseded, None, None, None),
    ];
    assert_eq!(table.map(|row| row.0), PartState::ALL);
    for (state, retry, cancel, mark_sent) in table {
        for (verb, expected) in [
            (Verb::Retry, retry),
            (Verb::Cancel, cancel),
            (Verb::MarkSent, mark_sent),
        ] {
            assert_eq!(verb.applied(state), expected, "{} {state}", verb.name());
            assert_eq!(
                meaning::of_refusal(verb, state).is_none(),
                expected.is_some(),
                "{} {state}: a refusal says why, and nothing else does",
                verb.name()
            );
        }
    }
}

fn rich(text: &str) -> Op {
    Op::Text(Body::Rich(RichText::plain(text)))
}

fn words(op: &Op) -> &str {
    match op {
        Op::Text(body) | Op::Question { body, .. } => body.text(),
        Op::File { .. } => panic!("a notice is words"),
    }
}

fn gathered<'a>(lines: impl IntoIterator<Item = &'a str>) -> Gathered {
    let mut lines = lines.into_iter();
    let mut all = Gathered::new(lines.next().unwrap());
    lines.for_each(|line| all.add(line));
    all
}

#[test]
fn five_lines_are_shown_and_the_rest_is_counted() {
    let lines: Vec<String> = (1..=9).map(|n| format!("⚠ {n}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let told = gather(&gathered(lines[..1].to_vec()), &rich("like this"));
    assert_eq!(words(&told), "⚠ 1");
    let told = gather(&gathered(lines[..5].to_vec()), &rich(""));
    assert_eq!(words(&told), "⚠ 1\n\n⚠ 2\n\n⚠ 3\n\n⚠ 4\n\n⚠ 5");
    let told = gather(&gathered(lines.clone()), &rich(""));
    assert!(
        words(&told).ends_with("⚠ 5\n\n… and 4 more; /outbox lists them."),
        "{}",
        words(&told)
    );
    let told = gather(&gathered(lines), &Op::Text(Body::Markdown(String::new())));
    assert!(matches!(told, Op::Text(Body::Markdown(_))));
    let told = gather(&gathered(["`tidings outbox`"]), &rich(""));
    assert_eq!(
        words(&told),
        "tidings outbox",
        "formatted as a notice that goes alone"
    );
}

#[test]
fn a_gathered_notice_fits_into_one_message_whatever_its_lines_are() {
    let fits = Limit::Utf16(4_096 - 32);
    let wide = format!("|{}\n", "a|".repeat(40));
    let table = format!("{wide}|{}\n{}", "-|".repeat(40), "|b|\n".repeat(120));
    for line in [
        "word ".repeat(3_000),
        "🎉".repeat(3_000),
        format!("a{}", "🎉".repeat(700)),
        "x".repeat(700),
        table,
        "- a\n".repeat(175),
    ] {
        let all = gathered((0..90_000).map(|_| line.as_str()));
        for like in [rich(""), Op::Text(Body::Markdown(String::new()))] {
            let told = gather(&all, &like);
            assert!(fits.fits(words(&told)), "{}", words(&told));
            assert!(words(&told).contains("89995 more"), "{}", words(&told));
        }
    }
}

#[test]
fn however_many_lines_are_gathered_they_are_stored_small() {
    let line = "🎉".repeat(3_000);
    let mut all = Gathered::new(&line);
    for _ in 0..10_000 {
        all.add(&line);
    }
    let stored = serde_json::to_value(&all).unwrap();
    assert!(stored.to_string().len() < 5 * 4 * 700);
    assert_eq!(stored["lines"].as_array().unwrap().len(), 5);
    assert_eq!(stored["more"], 9_996);
}

#[test]
fn a_notice_that_is_told_elsewhere_is_told_whole() {
    let chat = ChatKey::new("bot".parse().unwrap(), Conversation::new("5").unwrap());
    let op = rich(&"every word ".repeat(100));
    let told = |kind, loss| undelivered_to(&chat, kind, &op, "closed", loss);
    for loss in [Loss::Alone, Loss::WholeChat] {
        let notice = told(MessageKind::Notice, loss);
        assert!(notice.contains(words(&op)), "{notice}");
        assert!(
            notice.contains("bot") && notice.contains("closed"),
            "{notice}"
        );
        let reply = told(MessageKind::Reply, loss);
        assert!(reply.len() < 300, "{reply}");
        for line in [notice, reply] {
            assert_eq!(
                line.contains("everything else"),
                loss == Loss::WholeChat,
                "{line}"
            );
        }
    }
}

#[test]
fn the_word_about_a_held_part_says_what_the_owner_can_do() {
    let chat = ChatKey::new("bot".parse().unwrap(), Conversation::new("5").unwrap());
    let id = MessageId::fresh(&One);
    let file = Op::File {
        artifact: ArtifactRef {
            profile: "work".parse().unwrap(),
            blob: Blob {
                hash: ContentHash::new([7; 32]),
                size: 1,
                mime: "application/pdf".to_owned(),
            },
            name: "report.pdf".to_owned(),
            taken: Taken::Received,
        },
        shape: Shape::Document,
        caption: None,
    };
    for (op, name) in [
        (file, "report.pdf"),
        (rich("Good morning."), "Good morning."),
    ] {
        let line = held(&chat, id, &op);
        for wanted in [
            name,
            &chat.to_string(),
            &format!("tidings outbox retry {id}"),
            &format!("tidings outbox mark-sent {id}"),
            &format!("cancel {id}"),
        ] {
            assert!(line.contains(wanted), "{line} lacks {wanted}");
        }
    }
}
