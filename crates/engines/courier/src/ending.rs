//! The end of an attempt: written down whatever the store says, with the word to whoever must know.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use chat::{Descriptor, Fault};
use futures_util::FutureExt;
use outbox::{
    Claimed, Decision, Draft, Envelope, MessageKind, NewMessage, Settlement, chat_gone, compose,
    undelivered, undelivered_to,
};
use tokio_util::sync::CancellationToken;
use waybill::{MessageId, ProfileScope, Waybill};

use crate::attempt::Attempts;

/// First wait before a settlement that could not be stored is tried again; doubled each time.
const SETTLE_REST: Duration = Duration::from_millis(200);
/// Longest such wait.
const LONGEST_SETTLE_REST: Duration = Duration::from_secs(30);

/// What became of an attempt.
pub(crate) struct End {
    pub(crate) fault: Option<Fault>,
    pub(crate) decision: Decision,
}

impl End {
    pub(crate) fn faulted(fault: Fault, decision: Decision) -> Self {
        Self {
            fault: Some(fault),
            decision,
        }
    }
}

impl Attempts {
    /// Writes the end down; returns what the store claimed with it. The platform has acted: losing this record would make a
    /// repeat and leave the lane `sending`, so only the gateway's own end ends the tries.
    pub(crate) async fn settle(
        &self,
        part: &Claimed,
        end: End,
        stop: &CancellationToken,
    ) -> Vec<Claimed> {
        let notice = self.notice_of(part, &end);
        let settlement = Settlement {
            message: part.message,
            part: part.part,
            attempt: part.attempt,
            at: self.clock.now(),
            fault: end.fault,
            decision: end.decision,
            notice,
        };
        let mut wait = SETTLE_REST;
        let mut last = false;
        loop {
            match AssertUnwindSafe(self.store.settle(settlement.clone()))
                .catch_unwind()
                .await
            {
                Ok(Ok(claimed)) => return claimed,
                Ok(Err(error)) => {
                    tracing::error!(%error, message = %part.message, part = part.part, "an attempt's end could not be stored");
                }
                Err(_panic) => {
                    tracing::error!(message = %part.message, part = part.part, "the store crashed on an attempt's end");
                }
            }
            if last {
                tracing::error!(
                    message = %part.message, part = part.part,
                    "the gateway stops before an attempt's end could be stored; the next start takes the part up as unknown"
                );
                return Vec::new();
            }
            tokio::select! {
                () = stop.cancelled() => last = true,
                () = tokio::time::sleep(wait) => wait = (wait * 2).min(LONGEST_SETTLE_REST),
            }
        }
    }

    /// A notice that can't be made must not keep the part from its end.
    fn notice_of(&self, part: &Claimed, end: &End) -> Option<NewMessage> {
        std::panic::catch_unwind(AssertUnwindSafe(|| self.notice(part, end))).unwrap_or_else(
            |_panic| {
                tracing::error!(message = %part.message, part = part.part, "the notice about a part crashed; nobody is told");
                None
            },
        )
    }

    /// Who learns that a part was given up: the same lane if it lives, else the owner at home.
    fn notice(&self, part: &Claimed, end: &End) -> Option<NewMessage> {
        let Decision::Dead { lane, .. } = &end.decision else {
            return None;
        };
        let reason = end
            .fault
            .as_ref()
            .map_or("it was given up", |fault| fault.text.as_str());
        let there = part.waybill.chat();
        tracing::error!(message = %part.message, part = part.part, chat = %there, reason, "given up");
        let heard_there = !*lane
            && part.kind != MessageKind::Notice
            && self.channels.contains_key(&there.account);
        let (waybill, sentence) = if heard_there {
            let sentence = undelivered(&part.op, reason);
            (Waybill::about(&part.waybill), sentence)
        } else {
            let home = (self.home)(part.waybill.profile())?;
            // A home chat that moved has another name by now, so a word to the owner on its account counts as one at home:
            // each notice breeds at most one, and that one none.
            let to_the_owner = part.kind == MessageKind::Notice && part.waybill.session().is_none();
            if home == *there || (to_the_owner && home.account == there.account) {
                return None;
            }
            let sentence = if *lane {
                chat_gone(there, &part.op, reason)
            } else {
                undelivered_to(there, &part.op, reason)
            };
            let scope = ProfileScope::enter(part.waybill.profile().clone());
            (Waybill::operator(&scope, home), sentence)
        };
        let descriptor: &Descriptor = self.channels.get(waybill.account())?.descriptor();
        compose(
            Envelope {
                id: MessageId::fresh(self.ids.as_ref()),
                install: &self.install,
                waybill: &waybill,
                kind: MessageKind::Notice,
                source: &format!("dead:{}:{}", part.message, part.part),
                ordinal: 0,
                descriptor,
                now: self.clock.now(),
            },
            Draft {
                text: String::new(),
                attachments: Vec::new(),
                notes: vec![sentence],
            },
        )
    }
}
