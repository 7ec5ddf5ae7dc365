//! An outbox in which every kind of thing has happened.

use std::time::Duration;

use chat::{Body, Fault, FaultKind, Op, Receipt, Shape, ThrottleScope};
use outbox::{Death, MessageKind, PartRow, PartState};
use sandbox::{ArtifactRef, Taken};
use testkit::blobs::MemoryBlobs;
use waybill::{ProfileId, Timestamp};

use crate::shelf::{Shelf, attempt, id, parcel, part, text};

const REPORT: &str = "Here is the report of the week.\n\nThe orders grew by a tenth; most of them came on Tuesday, after the letter went out. \
    Two of the shops were late with their numbers, so the sums of the north are from last week. I have marked them in the table, and I will send \
    the right ones as soon as they are here.\n\nThe chart shows each day beside the same day of last year.";

fn arrived(n: u32, at: Timestamp, words: &str, receipt: &str) -> PartRow {
    let mut one = text(n, PartState::Sent, words);
    one.receipt = Some(Receipt::new(receipt));
    one.attempts = vec![attempt(1, at, Some("sent"), None)];
    one
}

/// Fills the shelf with what happened in the last hours.
pub(crate) fn fill(shelf: &Shelf, blobs: &MemoryBlobs, picture: Vec<u8>, now: Timestamp) {
    let ago = |seconds: u64| now - Duration::from_secs(seconds);
    let profile: ProfileId = "default".parse().unwrap();
    let chart = |n: u32, state| {
        let artifact = ArtifactRef {
            profile: profile.clone(),
            blob: blobs.put(&profile, "chart.png", picture.clone()),
            name: "orders of the week.png".into(),
            taken: Taken::Received,
        };
        let op = Op::File {
            artifact,
            shape: Shape::Photo,
            caption: Some(Body::Markdown("Orders by day".into())),
        };
        part(n, state, op)
    };

    let mut lost = text(
        1,
        PartState::Held,
        "The invoice went out to the customer; the total is 1,240.00 €.",
    );
    lost.attempts = vec![attempt(
        1,
        ago(7_300),
        Some("unknown"),
        Some("connection reset after the request was sent"),
    )];
    lost.fault = Some(Fault::new(
        FaultKind::Unknown,
        "connection reset after the request was sent",
    ));
    lost.tries = 1;
    lost.may_be_repeat = true;
    shelf.put(parcel(
        1001,
        "work",
        "office:-1001234567890:9",
        ago(7_300),
        vec![lost],
    ));

    let mut dead = arrived(1, ago(4_000), "Good morning! Here is what is new.", "4698");
    dead.attempts = vec![
        attempt(
            1,
            ago(4_000),
            Some("not_sent"),
            Some("api.telegram.org: no such host"),
        ),
        attempt(2, ago(3_998), Some("sent"), None),
    ];
    let mut blocked = chart(2, PartState::Failed);
    blocked.attempts = vec![attempt(
        1,
        ago(3_990),
        Some("perm_chat"),
        Some("403 Forbidden: bot was blocked by the user"),
    )];
    blocked.fault =
        Some(Fault::new(FaultKind::PermChat, "bot was blocked by the user").with_code(403));
    blocked.death = Some(Death {
        reason: "bot was blocked by the user".into(),
        at: ago(3_990),
        notice: Some(id(1003)),
        resolved: None,
    });
    shelf.put(parcel(
        1002,
        "default",
        "home-bot:222222222",
        ago(4_001),
        vec![dead, blocked],
    ));

    let mut notice = parcel(
        1003,
        "default",
        "web:home-default",
        ago(3_990),
        vec![arrived(
            1,
            ago(3_990),
            "⚠ A message to home-bot:222222222 did not arrive: bot was blocked by the user.",
            "31",
        )],
    );
    notice.kind = MessageKind::Notice;
    shelf.put(notice);

    shelf.put(parcel(
        1004,
        "default",
        "web:6f0c2a",
        ago(1_900),
        vec![arrived(
            1,
            ago(1_900),
            "Ready. The table has 214 rows.",
            "32",
        )],
    ));
    let mut old = text(1, PartState::Cancelled, "Never mind.");
    old.attempts = vec![attempt(
        1,
        ago(900),
        Some("temp_reject"),
        Some("502 Bad Gateway"),
    )];
    shelf.put(parcel(
        1005,
        "default",
        "home-bot:111111111",
        ago(901),
        vec![old],
    ));

    let made = ago(12);
    let mut words = text(1, PartState::Sent, REPORT);
    words.attempts = vec![
        attempt(
            1,
            made,
            Some("throttled"),
            Some("429 Too Many Requests: retry after 9"),
        ),
        attempt(2, ago(3), Some("sent"), None),
    ];
    words.receipt = Some(Receipt::new("4711"));
    let mut photo = chart(2, PartState::Retry);
    photo.attempts = vec![
        attempt(
            1,
            ago(2),
            Some("perm_item"),
            Some("400 Bad Request: PHOTO_INVALID_DIMENSIONS"),
        ),
        attempt(
            2,
            ago(1),
            Some("throttled"),
            Some("429 Too Many Requests: retry after 42"),
        ),
    ];
    let kind = FaultKind::Throttled {
        after: Duration::from_secs(42),
        scope: ThrottleScope::Lane,
    };
    photo.fault = Some(Fault::new(kind, "Telegram said: wait 42 s").with_code(429));
    photo.next_at = now + Duration::from_secs(41);
    photo.rendition = 1;
    let rest = text(3, PartState::Queued, "Shall I send it to the others, too?");
    shelf.put(parcel(
        1006,
        "default",
        "home-bot:111111111",
        made,
        vec![words, photo, rest],
    ));

    let mut going = text(1, PartState::Sending, "One moment, I am looking.");
    going.attempts = vec![attempt(1, ago(1), None, None)];
    shelf.put(parcel(
        1007,
        "work",
        "office:-1001234567890:9",
        ago(1),
        vec![going],
    ));
    // As many as fill more than one page of the list.
    for number in 100..160 {
        let made = ago(20_000 + number);
        let one = arrived(1, made, &format!("An older answer, number {number}."), "9");
        shelf.put(parcel(number, "default", "web:6f0c2a", made, vec![one]));
    }
    shelf.wait("home-bot", Some(now + Duration::from_secs(41)), None);
    shelf.tally("home-bot", "sent", 212);
    shelf.tally("home-bot", "throttled", 3);
}
