//! Rows to store.

use chat::{
    Body, Inbound, InboundKind, Op, Place, RichText, Sender, SenderId, Shape, Way, WhenUnknown,
};
use model::{Content, Message};
use outbox::{Claimed, Crash, Decision, MessageKind, NewMessage, NewPart, Settlement};
use sandbox::{ArtifactRef, Blob, Taken};
use session::NewEvent;
use waybill::{Anchor, ChatKey, MessageId, ProfileId, Timestamp, Waybill};

/// Words: so many.
pub(super) fn words(count: usize) -> String {
    "on the way ".chars().cycle().take(count).collect()
}

pub(super) fn text(count: usize) -> Op {
    Op::Text(Body::Rich(RichText::plain(words(count))))
}

pub(super) fn file(artifact: ArtifactRef) -> Op {
    Op::File {
        artifact,
        shape: Shape::Document,
        caption: None,
    }
}

pub(super) fn artifact(profile: &ProfileId, blob: Blob) -> ArtifactRef {
    ArtifactRef {
        profile: profile.clone(),
        blob,
        name: "report.bin".to_owned(),
        taken: Taken::Received,
    }
}

pub(super) fn message(
    id: MessageId,
    waybill: Waybill,
    kind: MessageKind,
    ops: Vec<Op>,
    now: Timestamp,
) -> NewMessage {
    let source = format!("powerloss:{id}");
    let parts = (1..)
        .zip(ops)
        .map(|(n, op)| NewPart {
            op,
            way: Way::Direct,
            key: outbox::key::part_key("powerloss", &source, 0, n, 0),
        })
        .collect();
    NewMessage {
        id,
        waybill,
        kind,
        source,
        ordinal: 0,
        parts,
        when_unknown: WhenUnknown::Repeat,
        replaces: None,
        created_at: now,
        expires_at: Timestamp::MAX,
    }
}

pub(super) fn settlement(claimed: &Claimed, now: Timestamp, decision: Decision) -> Settlement {
    Settlement {
        message: claimed.message,
        part: claimed.part,
        attempt: claimed.attempt,
        at: now,
        fault: None,
        crash: Crash::No,
        decision,
        plainer: None,
        notice: None,
    }
}

pub(super) fn event(key: &str, chat: &ChatKey, count: usize, now: Timestamp) -> NewEvent {
    let inbound = Inbound {
        chat: chat.clone(),
        anchor: Anchor::new(key),
        sender: Sender {
            id: SenderId::new("12"),
            name: Some("Ann".to_owned()),
            bot: false,
        },
        place: Place::Direct,
        kind: InboundKind::Message,
        text: words(count),
        files: Vec::new(),
        quoted: None,
        forwarded_from: None,
        preface: None,
        at: now,
    };
    NewEvent {
        key: key.to_owned(),
        raw: words(count),
        parsed: Ok(Some(inbound)),
    }
}

pub(super) fn said(count: usize) -> Message {
    Message::User {
        content: vec![Content::Text { text: words(count) }],
    }
}

pub(super) fn answered(count: usize) -> Message {
    Message::Assistant {
        text: words(count),
        calls: Vec::new(),
        replay: None,
    }
}
