//! A message as programs read it: the object of `tidings outbox … --json` and of the HTTP API. Made here alone, so that both
//! print the same. Names are added freely; none is changed without a changelog entry.
//!
//! Times are RFC 3339 in UTC.

use chat::{Body, Fault, FaultKind, Op, Receipt, Step, ThrottleScope, Way};
use sandbox::ContentHash;
use serde::Serialize;
use waybill::{AccountId, Conversation, MessageId, ProfileId, TaskId, Thread, Timestamp, TurnId};

use crate::{Acted, AttemptRow, Death, MessageKind, MessageRow, PartRow, PartState, Verb, meaning};

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MessageView<'a> {
    /// Its id, with its prefix.
    pub id: MessageId,
    /// One state for the whole: [`MessageRow::state`].
    pub state: PartState,
    /// The tenant.
    pub profile: &'a ProfileId,
    /// The login that carries it.
    pub account: &'a AccountId,
    /// The conversation, by its id on the platform.
    pub chat: &'a Conversation,
    /// The thread in it.
    pub thread: Option<&'a Thread>,
    /// What for.
    pub kind: MessageKind,
    /// What set it going, as text.
    pub origin: String,
    /// What made it, as text.
    pub source: &'a str,
    /// The how-manieth of that source.
    pub ordinal: u32,
    /// The turn that made it.
    pub turn: Option<TurnId>,
    /// The task that made it.
    pub task: Option<TaskId>,
    /// Its parts, in order.
    pub parts: Vec<PartView<'a>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is too old.
    pub expires_at: Timestamp,
}

/// A part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartView<'a> {
    /// Its place in the message, from 1.
    pub n: u32,
    /// `text`, `photo`, `document`, `voice`.
    pub op: &'static str,
    /// Its words, or those under its file; `null` if it has none, empty if they were dropped (see `forgotten`).
    pub text: Option<&'a str>,
    /// Its file.
    pub file: Option<FileView<'a>>,
    /// Where it stands.
    pub state: PartState,
    /// Attempts that count.
    pub tries: u32,
    /// The platform's id of it; empty if it was taken and given none.
    pub receipt: Option<&'a Receipt>,
    /// Why the last attempt did not succeed.
    pub fault: Option<FaultView<'a>>,
    /// Not before then; `null` where it waits for nothing.
    pub next_at: Option<Timestamp>,
    /// The how-manieth form of it this is: 0 as it was composed.
    pub rendition: u32,
    /// Its place in its lane.
    pub place: i64,
    /// `direct`: in one call; `carried`: by a placeholder.
    pub way: Way,
    /// The last durable step, as the channel wrote it.
    pub step: Option<&'a Step>,
    /// Whether an attempt without an answer came before, so that it may be seen twice.
    pub may_be_repeat: bool,
    /// Whether its words were dropped since.
    pub forgotten: bool,
    /// How it was given up.
    pub death: Option<DeathView<'a>>,
    /// What can be done with it now: [`Verb::name`]s.
    pub verbs: Vec<&'static str>,
    /// Every attempt.
    pub attempts: Vec<AttemptView<'a>>,
}

/// A part's file. Its bytes are at `/files/PROFILE/HASH/NAME` of a running gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileView<'a> {
    /// The name that people see.
    pub name: &'a str,
    /// In bytes.
    pub size: u64,
    /// By its bytes.
    pub mime: &'a str,
    /// BLAKE3 of the bytes.
    pub hash: ContentHash,
}

/// Why an attempt did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FaultView<'a> {
    /// The fault's name: [`chat::FaultKind::name`].
    pub kind: &'static str,
    /// The platform's status or code.
    pub code: Option<&'a str>,
    /// The platform's words or ours.
    pub text: &'a str,
    /// What it means and what to do, in a sentence.
    pub meaning: &'static str,
    /// For `throttled`: how long the platform asked to wait, in milliseconds.
    pub wait_ms: Option<u64>,
    /// For `throttled`: what has to wait.
    pub scope: Option<ThrottleScope>,
}

/// How a part was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeathView<'a> {
    /// Why.
    pub reason: &'a str,
    /// When.
    pub at: Timestamp,
    /// The message that tells of it.
    pub notice: Option<MessageId>,
    /// What the owner did about it: a [`Verb::name`].
    pub resolution: Option<&'a str>,
    /// When.
    pub resolved_at: Option<Timestamp>,
}

/// One try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttemptView<'a> {
    /// The how-manieth, from 1.
    pub n: u32,
    /// Recorded before the first byte.
    pub started_at: Timestamp,
    /// When its end was recorded; `null` while it runs, and for one that a crash cut off.
    pub ended_at: Option<Timestamp>,
    /// `sent`, `step`, `crashed`, or a fault's kind; `null` as `ended_at`.
    pub outcome: Option<&'a str>,
    /// The platform's status and words.
    pub detail: Option<&'a str>,
}

/// What became of an owner's wish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActedView {
    /// The message.
    pub id: MessageId,
    /// What was wished: [`Verb::name`].
    pub verb: &'static str,
    /// Parts that were changed, with the state that they have now.
    pub changed: Vec<TouchedView>,
    /// Parts with which it can't be done, with the state that forbids it.
    pub left: Vec<TouchedView>,
}

/// A part that was, or could not be, changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TouchedView {
    /// Its place in the message.
    pub part: u32,
    /// Where it stands now.
    pub state: PartState,
    /// Why it was left as it was; `null` if it was changed.
    pub why: Option<&'static str>,
}

impl<'a> MessageView<'a> {
    /// The object of a stored message.
    #[must_use]
    pub fn of(row: &'a MessageRow) -> Self {
        let chat = row.waybill.chat();
        Self {
            id: row.id,
            state: row.state(),
            profile: row.waybill.profile(),
            account: row.waybill.account(),
            chat: &chat.conversation,
            thread: chat.thread.as_ref(),
            kind: row.kind,
            origin: row.waybill.origin().to_string(),
            source: &row.source,
            ordinal: row.ordinal,
            turn: row.waybill.turn(),
            task: row.waybill.task(),
            parts: row.parts.iter().map(PartView::of).collect(),
            created_at: row.created_at,
            expires_at: row.expires_at,
        }
    }
}

impl<'a> PartView<'a> {
    /// The object of a stored part.
    #[must_use]
    pub fn of(part: &'a PartRow) -> Self {
        let text = match &part.op {
            Op::Text(body) | Op::Question { body, .. } => Some(body.text()),
            Op::File { caption, .. } => caption.as_ref().map(Body::text),
        };
        Self {
            n: part.n,
            op: part.op.name(),
            text,
            file: part.op.artifact().map(|artifact| FileView {
                name: &artifact.name,
                size: artifact.blob.size,
                mime: &artifact.blob.mime,
                hash: artifact.blob.hash,
            }),
            state: part.state,
            tries: part.tries,
            receipt: part.receipt.as_ref(),
            fault: part.fault.as_ref().map(FaultView::of),
            next_at: waits(part.state).then_some(part.next_at),
            rendition: part.rendition,
            place: part.place,
            way: part.way,
            step: part.step.as_ref(),
            may_be_repeat: part.may_be_repeat,
            forgotten: part.forgotten,
            death: part.death.as_ref().map(DeathView::of),
            verbs: verbs(part.state).map(Verb::name).collect(),
            attempts: part.attempts.iter().map(AttemptView::of).collect(),
        }
    }
}

/// Whether a part in this state has a time before which it does not go.
fn waits(state: PartState) -> bool {
    match state {
        PartState::Queued | PartState::Retry | PartState::Unknown => true,
        PartState::Sending
        | PartState::Held
        | PartState::Sent
        | PartState::Failed
        | PartState::Expired
        | PartState::Cancelled
        | PartState::Superseded => false,
    }
}

/// What can be done with a part that stands there.
pub fn verbs(state: PartState) -> impl Iterator<Item = Verb> {
    Verb::ALL
        .into_iter()
        .filter(move |verb| verb.applied(state).is_some())
}

impl<'a> FaultView<'a> {
    fn of(fault: &'a Fault) -> Self {
        let kind = fault.kind.name();
        let throttle = match fault.kind {
            FaultKind::Throttled { after, scope } => Some((after, scope)),
            FaultKind::NotSent
            | FaultKind::TempReject
            | FaultKind::PermItem
            | FaultKind::PermChat
            | FaultKind::PermAccount
            | FaultKind::Moved { .. }
            | FaultKind::Duplicate { .. }
            | FaultKind::NoChange
            | FaultKind::Unknown => None,
        };
        Self {
            kind,
            code: fault.code.as_deref(),
            text: &fault.text,
            meaning: meaning::of_outcome(kind).unwrap_or_default(),
            wait_ms: throttle
                .map(|(after, _)| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
            scope: throttle.map(|(_, scope)| scope),
        }
    }
}

impl<'a> DeathView<'a> {
    fn of(death: &'a Death) -> Self {
        let resolved = death.resolved.as_ref();
        Self {
            reason: &death.reason,
            at: death.at,
            notice: death.notice,
            resolution: resolved.map(|(what, _)| what.as_str()),
            resolved_at: resolved.map(|(_, at)| *at),
        }
    }
}

impl<'a> AttemptView<'a> {
    fn of(attempt: &'a AttemptRow) -> Self {
        Self {
            n: attempt.n,
            started_at: attempt.started_at,
            ended_at: attempt.ended_at,
            outcome: attempt.outcome.as_deref(),
            detail: attempt.detail.as_deref(),
        }
    }
}

impl ActedView {
    /// The object of what became of a wish.
    #[must_use]
    pub fn of(id: MessageId, verb: Verb, acted: &Acted) -> Self {
        let changed = acted.changed.iter().map(|&(part, state)| TouchedView {
            part,
            state,
            why: None,
        });
        let left = acted.left.iter().map(|&(part, state)| TouchedView {
            part,
            state,
            why: meaning::of_refusal(verb, state),
        });
        Self {
            id,
            verb: verb.name(),
            changed: changed.collect(),
            left: left.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_left_says_why_and_whatever_can_be_done_is_offered() {
        for state in PartState::ALL {
            for verb in Verb::ALL {
                let refused = meaning::of_refusal(verb, state);
                let offered = verbs(state).any(|one| one == verb);
                assert_eq!(refused.is_none(), offered, "{} {state}", verb.name());
                assert_eq!(verb.applied(state).is_some(), offered);
            }
        }
    }

    #[test]
    fn every_fault_has_a_meaning() {
        let faults = [
            "not_sent",
            "throttled",
            "temp_reject",
            "perm_item",
            "perm_chat",
            "perm_account",
            "moved",
            "duplicate",
            "no_change",
            "unknown",
        ];
        for name in faults.into_iter().chain(["sent", "step", "crashed"]) {
            assert!(meaning::of_outcome(name).is_some(), "{name}");
        }
        assert_eq!(meaning::of_outcome("nonsense"), None);
    }
}
