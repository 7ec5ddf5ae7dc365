//! Values for the cases.
#![allow(
    clippy::expect_used,
    reason = "a test that can't set up its world should stop"
)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chat::{
    Body, Fault, FaultKind, Inbound, InboundKind, Op, Place, Receipt, RichText, Sender, SenderId,
};
use model::{Content, Message};
use outbox::{Claimed, Decision, Gate, MessageKind, NewMessage, NewPart, PartState, Settlement};
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
        decision,
        notice: None,
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
        after: Duration::from_secs(5),
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
    end.notice = notice;
    end
}

pub(super) fn moved(claimed: &Claimed, when: Timestamp, to: &ChatKey) -> Settlement {
    let mut end = settlement(claimed, when, Decision::Redirect { to: to.clone() });
    end.fault = Some(Fault::new(FaultKind::Moved { to: to.clone() }, "moved"));
    end
}
