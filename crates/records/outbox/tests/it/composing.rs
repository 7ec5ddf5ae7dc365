//! From words and artifacts to frozen parts.

use std::time::Duration;

use chat::{
    Body, CarrierRule, Descriptor, Grade, Op, PhotoRule, Rates, Rendering, Shape, Way, WhenUnknown,
};
use sandbox::{ArtifactRef, Blob, ContentHash, Taken};
use tidings_outbox::{Attachment, Draft, Envelope, MessageKind, NewMessage, compose, key};
use waybill::{ChatKey, Conversation, Ids, Limit, MessageId, ProfileScope, Timestamp, Waybill};

struct One;

impl Ids for One {
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::from_u128(1)
    }
}

fn descriptor() -> Descriptor {
    Descriptor {
        kind: "test".to_owned(),
        rendering: Rendering::Rich,
        text: Limit::Utf16(100),
        caption: Some(Limit::Utf16(20)),
        file_out: 1_000,
        file_in: 1_000,
        photo: Some(PhotoRule {
            bytes: 500,
            types: vec!["image/png".to_owned()],
        }),
        voice: vec!["audio/ogg".to_owned()],
        previews: false,
        typing_seconds: None,
        grade: Grade::TwoPhase,
        settle: Duration::from_secs(2),
        carrier: Some(CarrierRule {
            file_bytes: 400,
            text_parts: 4,
        }),
        rates: Rates::unlimited(4),
        when_unknown: WhenUnknown::Hold,
    }
}

fn file(name: &str, mime: &str, size: u64, shape: Shape) -> Attachment {
    Attachment {
        artifact: ArtifactRef {
            profile: "work".parse().unwrap(),
            blob: Blob {
                hash: ContentHash::new([7; 32]),
                size,
                mime: mime.to_owned(),
            },
            name: name.to_owned(),
            taken: Taken::Received,
        },
        shape,
        caption: None,
    }
}

fn composed(draft: Draft) -> Option<NewMessage> {
    let chat = ChatKey::new("bot".parse().unwrap(), Conversation::new("1").unwrap());
    let waybill = Waybill::operator(&ProfileScope::enter("work".parse().unwrap()), chat);
    compose(
        Envelope {
            id: MessageId::fresh(&One),
            install: "here",
            waybill: &waybill,
            kind: MessageKind::Reply,
            source: "turn:1",
            ordinal: 0,
            descriptor: &descriptor(),
            now: Timestamp::from_second(1_800_000_000).unwrap(),
        },
        draft,
    )
}

fn ops(draft: Draft) -> Vec<Op> {
    composed(draft)
        .unwrap()
        .parts
        .into_iter()
        .map(|part| part.op)
        .collect()
}

#[test]
fn words_come_first_then_the_files_in_their_order() {
    let draft = Draft {
        text: "hello".to_owned(),
        attachments: vec![
            file("b.png", "image/png", 10, Shape::Auto),
            file("a.csv", "text/csv", 10, Shape::Auto),
        ],
        notes: vec!["⚠ c was not attached: no".to_owned()],
    };
    let ops = ops(draft);
    let names: Vec<&str> = ops.iter().map(Op::name).collect();
    assert_eq!(names, ["text", "photo", "document"]);
    assert!(
        matches!(&ops[0], Op::Text(Body::Rich(rich)) if rich.text == "hello\n\n⚠ c was not attached: no")
    );
}

#[test]
fn a_picture_is_a_photo_only_where_it_can_be_one() {
    for (mime, size, wanted, shown) in [
        ("image/png", 10, Shape::Auto, "photo"),
        ("image/png", 501, Shape::Auto, "document"),
        ("image/png", 0, Shape::Auto, "document"),
        ("image/png", 10, Shape::Document, "document"),
        ("image/svg+xml", 10, Shape::Photo, "document"),
        ("audio/ogg", 10, Shape::Voice, "voice"),
        ("audio/ogg", 10, Shape::Auto, "document"),
        ("audio/flac", 10, Shape::Voice, "document"),
    ] {
        let draft = Draft {
            attachments: vec![file("f", mime, size, wanted)],
            ..Draft::default()
        };
        assert_eq!(ops(draft)[0].name(), shown, "{mime} {size} {wanted:?}");
    }
}

#[test]
fn a_file_over_the_channels_limit_becomes_a_line_that_says_so() {
    let draft = Draft {
        text: "Here.".to_owned(),
        attachments: vec![file("big.zip", "application/zip", 1_001, Shape::Auto)],
        ..Draft::default()
    };
    let ops = ops(draft);
    assert_eq!(ops.len(), 1);
    assert!(
        matches!(&ops[0], Op::Text(body) if body.text() == "Here.\n\n⚠ big.zip was not attached: test takes files up to 1000 bytes")
    );
}

#[test]
fn words_that_do_not_fit_under_a_file_stand_before_it() {
    let mut attachment = file("a.csv", "text/csv", 10, Shape::Auto);
    attachment.caption = Some("much longer than twenty characters".to_owned());
    let names: Vec<&str> = ops(Draft {
        attachments: vec![attachment.clone()],
        ..Draft::default()
    })
    .iter()
    .map(Op::name)
    .collect();
    assert_eq!(names, ["text", "document"]);
    attachment.caption = Some("short".to_owned());
    assert!(matches!(
        &ops(Draft { attachments: vec![attachment], ..Draft::default() })[0],
        Op::File { caption: Some(body), .. } if body.text() == "short"
    ));
}

#[test]
fn a_long_answer_is_split_and_nothing_blank_is_ever_sent() {
    let ops = ops(Draft {
        text: "word ".repeat(50),
        ..Draft::default()
    });
    assert!(ops.len() > 1);
    assert!(
        ops.iter()
            .all(|op| matches!(op, Op::Text(body) if !body.text().trim().is_empty()))
    );
    for blank in ["", " \n", "\n\n"] {
        assert_eq!(
            composed(Draft {
                text: blank.to_owned(),
                ..Draft::default()
            }),
            None,
            "{blank:?}"
        );
    }
}

#[test]
fn a_step_that_runs_twice_makes_the_same_keys_and_no_two_parts_share_one() {
    let draft = || Draft {
        text: "word ".repeat(50),
        ..Draft::default()
    };
    let (one, two) = (composed(draft()).unwrap(), composed(draft()).unwrap());
    let keys = |message: &NewMessage| {
        message
            .parts
            .iter()
            .map(|part| part.key)
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&one), keys(&two));
    let mut unique = keys(&one);
    unique.sort_by_key(|key| *key.as_bytes());
    unique.dedup();
    assert_eq!(unique.len(), one.parts.len());
    assert_ne!(
        key::part_key("a", "bc", 0, 0, 0),
        key::part_key("ab", "c", 0, 0, 0)
    );
    assert_ne!(
        key::part_key("a", "b", 0, 1, 0),
        key::part_key("a", "b", 0, 0, 1)
    );
}

#[test]
fn what_is_long_or_heavy_goes_by_a_placeholder_and_a_voice_note_never() {
    for (mime, size, shape, way) in [
        ("text/csv", 399, Shape::Auto, Way::Direct),
        ("text/csv", 400, Shape::Auto, Way::Carried),
        ("image/png", 450, Shape::Auto, Way::Carried),
        ("audio/ogg", 900, Shape::Voice, Way::Direct),
        ("audio/ogg", 900, Shape::Auto, Way::Carried),
    ] {
        let message = composed(Draft {
            attachments: vec![file("f", mime, size, shape)],
            ..Draft::default()
        });
        assert_eq!(
            message.unwrap().parts[0].way,
            way,
            "{mime} {size} {shape:?}"
        );
    }
    // 20 words of 5 letters fill one part of 100.
    for (words, parts, way) in [
        (20, 1, Way::Direct),
        (60, 3, Way::Direct),
        (80, 4, Way::Carried),
    ] {
        let message = composed(Draft {
            text: "word ".repeat(words),
            ..Draft::default()
        })
        .unwrap();
        assert_eq!(message.parts.len(), parts);
        assert!(
            message.parts.iter().all(|part| part.way == way),
            "{words} words"
        );
    }
}

#[test]
fn the_owners_wish_for_what_nobody_knows_is_frozen_with_the_message() {
    let message = composed(Draft {
        text: "hello".to_owned(),
        ..Draft::default()
    });
    assert_eq!(message.unwrap().when_unknown, WhenUnknown::Hold);
}
