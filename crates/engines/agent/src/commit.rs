//! A turn's end as one transaction: transcript, outgoing message, usage, and the events that are done.

use std::time::Duration;

use model::Message;
use outbox::{Claimed, Draft, Envelope, MessageKind, NewMessage, compose, not_attached};
use session::{Elsewhere, TurnCommit, TurnEnd};
use waybill::{Anchor, MessageId, TurnScope, Waybill};

use crate::attach::Gathered;
use crate::talk::Ended;
use crate::{Ports, Tenant, redaction};

/// First wait after the store failed; doubled each time.
const REST: Duration = Duration::from_millis(200);
/// Longest wait.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// Puts a turn's end together. Everything that was promised is in it, however the turn ended.
pub(crate) fn conclude(
    ports: &Ports,
    install: &str,
    scope: &TurnScope,
    anchor: Option<Anchor>,
    tenant: Option<&Tenant>,
    ended: Ended,
    gathered: Gathered,
) -> TurnCommit {
    let promised = gathered.0;
    let mut notes = promised.notes;
    let (others, unsent) = elsewhere(ports, install, scope, &ended.end, promised.elsewhere);
    notes.extend(unsent);
    notes.extend(
        promised
            .refused
            .iter()
            .map(|refused| not_attached(&refused.name, &refused.reason)),
    );
    let mut transcript: Vec<Message> = ended.last.into_iter().collect();
    let (line, note) = ending(&ended.end, tenant);
    notes.extend(line);
    transcript.extend(note.map(|text| Message::Assistant {
        text,
        calls: Vec::new(),
        replay: None,
    }));
    if let TurnEnd::Failed { reason } = &ended.end {
        tracing::warn!(turn = %scope.turn(), reason, "the turn failed");
    }
    let redactor = &ports.redactor;
    let transcript = transcript
        .into_iter()
        .map(|message| redaction::message(redactor, message))
        .collect();
    let notes = notes.into_iter().map(|note| redaction::own(redactor, note));
    let draft = Draft {
        // Without an answer, the words that came beside a tool call are all that was said; a line below says why.
        text: redaction::own(redactor, promised.answer.unwrap_or(promised.beside)),
        attachments: promised.attachments,
        notes: notes.collect(),
    };
    TurnCommit {
        scope: scope.clone(),
        end: ended.end,
        transcript,
        outgoing: reply(ports, install, scope, anchor, draft)
            .into_iter()
            .chain(others)
            .collect(),
        usage: promised.usage,
        spent: promised.spent,
        at: ports.clock.now(),
    }
}

/// The line for the person, and the note for the model's memory.
fn ending(end: &TurnEnd, tenant: Option<&Tenant>) -> (Option<String>, Option<String>) {
    match end {
        TurnEnd::Answered => (None, None),
        TurnEnd::Interrupted => (
            Some("⏹ Stopped.".to_owned()),
            Some("[gateway] The person stopped this turn.".to_owned()),
        ),
        TurnEnd::StepsExhausted => {
            let steps = tenant.map_or(0, |tenant| tenant.steps);
            let line = format!(
                "⚠ I stopped after {steps} steps without being done. Say “go on” to let me continue."
            );
            (Some(line.clone()), Some(line))
        }
        TurnEnd::BudgetExhausted { reason } | TurnEnd::Halted { reason } => (
            Some(format!("⚠ I stopped: {reason}.")),
            Some(format!("[gateway] This turn was stopped: {reason}.")),
        ),
        TurnEnd::Failed { reason } => (
            Some(format!("⚠ I could not answer: {reason}.")),
            Some(format!(
                "[gateway] This turn ended without an answer: {reason}."
            )),
        ),
    }
}

fn reply(
    ports: &Ports,
    install: &str,
    scope: &TurnScope,
    anchor: Option<Anchor>,
    draft: Draft,
) -> Option<NewMessage> {
    let waybill = match Waybill::reply(scope) {
        Ok(waybill) => waybill.answering(anchor),
        Err(error) => {
            tracing::error!(turn = %scope.turn(), %error, "an answer has nowhere to go");
            return None;
        }
    };
    // Turns of accounts that are not configured are not begun.
    let descriptor = ports.outlet.descriptor(waybill.account())?;
    let envelope = Envelope {
        id: MessageId::fresh(ports.ids.as_ref()),
        install,
        waybill: &waybill,
        kind: MessageKind::Reply,
        source: &format!("turn:{}", scope.turn()),
        ordinal: 0,
        descriptor: &descriptor,
        now: ports.clock.now(),
    };
    compose(envelope, draft)
}

/// Messages to other chats, each with a waybill of its own; and a line for each that is not sent. What a person or a guard stopped
/// goes to nobody else.
fn elsewhere(
    ports: &Ports,
    install: &str,
    scope: &TurnScope,
    end: &TurnEnd,
    messages: Vec<Elsewhere>,
) -> (Vec<NewMessage>, Vec<String>) {
    let (mut sent, mut unsent) = (Vec::new(), Vec::new());
    let stopped = matches!(end, TurnEnd::Interrupted | TurnEnd::Halted { .. });
    // The answer is the source's first message.
    for (message, ordinal) in messages.into_iter().zip(1..) {
        let Elsewhere {
            to,
            text,
            attachments,
        } = message;
        let descriptor = ports.outlet.descriptor(&to.account);
        let Some(descriptor) = descriptor.filter(|_| !stopped) else {
            let why = if stopped {
                "the turn was stopped"
            } else {
                "its account is not configured"
            };
            unsent.push(format!("⚠ The message to {to} was not sent: {why}."));
            continue;
        };
        let waybill = Waybill::addressed(scope, to);
        let envelope = Envelope {
            id: MessageId::fresh(ports.ids.as_ref()),
            install,
            waybill: &waybill,
            kind: MessageKind::Reply,
            source: &format!("turn:{}", scope.turn()),
            ordinal,
            descriptor: &descriptor,
            now: ports.clock.now(),
        };
        let draft = Draft {
            text: redaction::own(&ports.redactor, text),
            attachments,
            notes: Vec::new(),
        };
        sent.extend(compose(envelope, draft));
    }
    (sent, unsent)
}

/// Stores a turn's end, however long the disk needs; if the gateway stops meanwhile, the turn is taken up at the next start.
pub(crate) async fn store(ports: &Ports, mut commit: TurnCommit) -> Vec<Claimed> {
    let mut rest = REST;
    loop {
        match ports.sessions.commit_turn(commit.clone()).await {
            Ok(claimed) => return claimed,
            Err(error) => {
                tracing::error!(turn = %commit.scope.turn(), %error, "a turn's end could not be stored; it is tried again");
            }
        }
        tokio::time::sleep(rest).await;
        rest = (rest * 2).min(LONGEST_REST);
        // What is claimed with it begins when it is stored, not when that was first tried.
        commit.at = ports.clock.now();
    }
}
