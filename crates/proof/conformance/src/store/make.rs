//! Values for the cases.
#![allow(
    clippy::expect_used,
    reason = "a test that can't set up its world should stop"
)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chat::{
    Body, Fault, FaultKind, Inbound, InboundKind, Op, Place, Receipt, RichText, Sender, SenderId,
    Step, Way, WhenUnknown,
};
use model::{Content, Message};
use outbox::{
    Claimed, Crash, Decision, Gate, MessageKind, NewMessage, NewPart, Notice, OutboxStore,
    PartState, Settlement,
};
use testkit::clock::CountingIds;
use waybill::{
    AccountId, Anchor, ChatKey, Conversation, MessageId, Placement, ProfileId, ProfileScope,
    SessionId, SessionKey, SessionScope, TaskId, Timestamp, TurnId, TurnScope, Waybill,
};

/// The moment at which the cases begin.
pub(super) const START: i64 = 1_767_225_600_000;

/// So many milliseconds after the beginning.
pub(super) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(START + ms).expect("a time")
}

pub(super) fn account(name: &str) -> AccountId {
    name.parse().expect("an account")
}

pub(super) fn chat(account_name: &str, conversation: &str) -> ChatKey {
    ChatKey::new(
        account(account_name),
        Conversation::new(conversation).expect("a conversation"),
    )
}

pub(super) fn profile(name: &str) -> ProfileScope {
    ProfileScope::enter(ProfileId::parse(name).expect("a profile"))
}

/// Makes what must be unique inside a case.
#[derive(Default)]
pub(super) struct Maker {
    ids: CountingIds,
    count: AtomicU64,
}

impl Maker {
    pub(super) fn session_id(&self) -> SessionId {
        SessionId::fresh(&self.ids)
    }

    /// A message of text parts from a source of its own.
    pub(super) fn message(&self, chat: &ChatKey, parts: u32) -> NewMessage {
        self.message_of("default", chat, parts)
    }

    pub(super) fn message_of(&self, of: &str, chat: &ChatKey, parts: u32) -> NewMessage {
        let waybill = Waybill::operator(&profile(of), chat.clone());
        self.with(waybill, MessageKind::Operator, parts)
    }

    pub(super) fn with(&self, waybill: Waybill, kind: MessageKind, parts: u32) -> NewMessage {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let source = format!("test:{count}");
        let parts = (1..=parts)
            .map(|n| NewPart {
                op: text(&format!("{source} part {n}")),
                way: Way::Direct,
                key: outbox::key::part_key("install", &source, 0, n, 0),
            })
            .collect();
        NewMessage {
            id: MessageId::fresh(&self.ids),
            waybill,
            kind,
            source,
            ordinal: 0,
            parts,
            when_unknown: WhenUnknown::Repeat,
            replaces: None,
            created_at: at(0),
            expires_at: at(86_400_000),
        }
    }

    pub(super) fn session(&self, key: SessionKey) -> SessionScope {
        profile("default").session(key, self.session_id())
    }

    pub(super) fn turn(&self, session: &SessionScope, chat: &ChatKey) -> TurnScope {
        session.begin_turn(
            TurnId::fresh(&self.ids),
            TaskId::fresh(&self.ids),
            waybill::Origin::Chat(chat.clone()),
            Placement::PerProfile,
        )
    }
}

pub(super) fn text(words: &str) -> Op {
    Op::Text(Body::Rich(RichText::plain(words)))
}

pub(super) fn said(words: &str) -> Message {
    Message::User {
        content: vec![Content::Text {
            text: words.to_owned(),
        }],
    }
}

pub(super) fn answered(words: &str) -> Message {
    Message::Assistant {
        text: words.to_owned(),
        calls: Vec::new(),
        replay: None,
    }
}

pub(super) fn inbound(chat: &ChatKey, words: &str) -> Inbound {
    Inbound {
        chat: chat.clone(),
        anchor: Anchor::new("77"),
        sender: Sender {
            id: SenderId::new("12"),
            name: Some("Ann".to_owned()),
            bot: false,
        },
        place: Place::Direct,
        kind: InboundKind::Message,
        text: words.to_owned(),
        files: Vec::new(),
        quoted: None,
        forwarded_from: None,
        preface: None,
        at: at(0),
    }
}

fn settlement(claimed: &Claimed, when: Timestamp, decision: Decision) -> Settlement {
    Settlement {
        message: claimed.message,
        part: claimed.part,
        attempt: claimed.attempt,
        at: when,
        fault: None,
        crash: Crash::No,
        decision,
        plainer: None,
        notice: None,
    }
}

/// A notice whose sentence is its message's text.
pub(super) fn notice(message: NewMessage) -> Notice {
    let line = match message.parts.first().map(|part| &part.op) {
        Some(Op::Text(body) | Op::Question { body, .. }) => body.text().to_owned(),
        Some(Op::File { .. }) | None => String::new(),
    };
    Notice { message, line }
}

/// The words of a stored message's first part.
pub(super) fn words(op: &Op) -> &str {
    match op {
        Op::Text(body) | Op::Question { body, .. } => body.text(),
        Op::File { .. } => "",
    }
}

pub(super) fn sent(claimed: &Claimed, when: Timestamp) -> Settlement {
    settlement(
        claimed,
        when,
        Decision::Sent {
            receipt: Receipt::new("r1"),
        },
    )
}

pub(super) fn retry(
    claimed: &Claimed,
    when: Timestamp,
    next: Timestamp,
    counts: bool,
) -> Settlement {
    let mut end = settlement(
        claimed,
        when,
        Decision::Retry {
            at: next,
            counts,
            gate: Gate::Lane,
        },
    );
    end.fault = Some(Fault::new(FaultKind::TempReject, "later").with_code(503));
    end
}

pub(super) fn throttled(claimed: &Claimed, when: Timestamp, next: Timestamp) -> Settlement {
    let kind = FaultKind::Throttled {
        after: Duration::try_from(next.duration_since(when)).unwrap_or_default(),
        scope: chat::ThrottleScope::Account,
    };
    gated(claimed, when, next, kind)
}

pub(super) fn revoked(claimed: &Claimed, when: Timestamp, next: Timestamp) -> Settlement {
    gated(claimed, when, next, FaultKind::PermAccount)
}

fn gated(claimed: &Claimed, when: Timestamp, next: Timestamp, kind: FaultKind) -> Settlement {
    let decision = Decision::Retry {
        at: next,
        counts: false,
        gate: Gate::Account,
    };
    let mut end = settlement(claimed, when, decision);
    end.fault = Some(Fault::new(kind, "wait"));
    end
}

pub(super) fn unknown(claimed: &Claimed, when: Timestamp, settled: Timestamp) -> Settlement {
    let mut end = settlement(claimed, when, Decision::Unknown { at: settled });
    end.fault = Some(Fault::new(FaultKind::Unknown, "the answer was lost"));
    end
}

pub(super) fn dead(
    claimed: &Claimed,
    when: Timestamp,
    lane: bool,
    notice: Option<NewMessage>,
) -> Settlement {
    let decision = Decision::Dead {
        state: PartState::Failed,
        lane,
    };
    let mut end = settlement(claimed, when, decision);
    let kind = if lane {
        FaultKind::PermChat
    } else {
        FaultKind::PermItem
    };
    end.fault = Some(Fault::new(kind, "refused").with_code(400));
    end.notice = notice.map(self::notice);
    end
}

pub(super) fn held(claimed: &Claimed, when: Timestamp, notice: Option<NewMessage>) -> Settlement {
    let mut end = settlement(claimed, when, Decision::Hold);
    end.fault = Some(Fault::new(FaultKind::Unknown, "nobody can find out"));
    end.notice = notice.map(self::notice);
    end
}

pub(super) fn crashed(claimed: &Claimed, when: Timestamp, settled: Timestamp) -> Settlement {
    Settlement {
        crash: Crash::Yes,
        ..unknown(claimed, when, settled)
    }
}

pub(super) fn stepped(claimed: &Claimed, when: Timestamp, step: &str) -> Settlement {
    let step = Step::new(step);
    settlement(claimed, when, Decision::Advance { step })
}

/// Of an account that was not reached often enough to rest.
pub(super) fn unreachable(claimed: &Claimed, when: Timestamp, next: Timestamp) -> Settlement {
    gated(claimed, when, next, FaultKind::NotSent)
}

/// The plainer form has another key.
pub(super) fn plainer(claimed: &Claimed, when: Timestamp, op: Op) -> Settlement {
    let mut end = settlement(claimed, when, Decision::Plainer);
    end.fault = Some(Fault::new(FaultKind::PermItem, "no formatting, please").with_code(400));
    end.plainer = Some(NewPart {
        op,
        way: Way::Direct,
        key: outbox::key::part_key(
            "install",
            &claimed.source,
            claimed.ordinal,
            claimed.part,
            claimed.rendition + 1,
        ),
    });
    end
}

pub(super) fn moved(claimed: &Claimed, when: Timestamp, to: &ChatKey) -> Settlement {
    let mut end = settlement(claimed, when, Decision::Redirect { to: to.clone() });
    end.fault = Some(Fault::new(FaultKind::Moved { to: to.clone() }, "moved"));
    end
}

/// The parts of a claim.
pub(super) async fn claim(store: &impl OutboxStore, when: Timestamp, most: usize) -> Vec<Claimed> {
    store.claim(when, most).await.expect("claim").parts
}

/// When a claim that finds nothing wants the next one.
pub(super) async fn next_due(store: &impl OutboxStore, when: Timestamp) -> Option<Timestamp> {
    let claims = store.claim(when, 100).await.expect("claim");
    assert_eq!(claims.parts, [], "nothing is due now");
    claims.next
}

/// What a start does, with platforms that are done at once with what they were told.
pub(super) async fn recover(store: &impl OutboxStore, when: Timestamp) -> usize {
    store.recover(when, HashMap::new()).await.expect("recover")
}
