//! The end of an attempt: written down whatever the store says, with the word to whoever must know.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use chat::{Descriptor, Fault, FaultKind, Step};
use futures_util::FutureExt;
use outbox::{
    Claimed, Crash, Decision, Draft, Envelope, Loss, MessageKind, NewMessage, NewPart, Notice,
    PartState, Settlement, StoreError, compose, held, key, undelivered, undelivered_to,
};
use tokio_util::sync::CancellationToken;
use waybill::{ChatKey, MessageId, ProfileScope, Waybill};

use crate::attempt::Attempts;

/// First wait before a settlement that could not be stored is tried again; doubled each time.
const SETTLE_REST: Duration = Duration::from_millis(200);
/// Longest such wait.
const LONGEST_SETTLE_REST: Duration = Duration::from_secs(30);

/// What became of an attempt.
pub(crate) struct End {
    pub(crate) fault: Option<Fault>,
    pub(crate) crash: Crash,
    pub(crate) decision: Decision,
}

impl End {
    pub(crate) fn faulted(fault: Fault, decision: Decision) -> Self {
        Self {
            fault: Some(fault),
            crash: Crash::No,
            decision,
        }
    }

    /// The placeholder that is of no use any more once this end is written down.
    pub(crate) fn leaves_placeholder(&self, part: &Claimed) -> Option<Step> {
        match &self.decision {
            Decision::Plainer | Decision::Dead { .. } => part.step.clone(),
            Decision::Sent { .. }
            | Decision::Advance { .. }
            | Decision::Retry { .. }
            | Decision::Unknown { .. }
            | Decision::Ask
            | Decision::Resend { .. }
            | Decision::Hold
            | Decision::Redirect { .. } => None,
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
        let mut settlement = Settlement {
            message: part.message,
            part: part.part,
            attempt: part.attempt,
            at: self.clock.now(),
            plainer: self.plainer(part, &end.decision),
            fault: end.fault,
            crash: end.crash,
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
                Ok(Ok(claimed)) => {
                    if matches!(settlement.decision, Decision::Advance { .. }) {
                        failpoint::point("C11");
                    }
                    return claimed;
                }
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
            // What is claimed with it begins when it is stored, not when that was first tried.
            settlement.at = self.clock.now();
        }
    }

    /// The plainer form that takes the part's place: in one call, and under a key of its own.
    fn plainer(&self, part: &Claimed, decision: &Decision) -> Option<NewPart> {
        if *decision != Decision::Plainer {
            return None;
        }
        let rendition = part.rendition + 1;
        let carried = part.way == chat::Way::Carried;
        let plainer = part.op.plainer().filter(|_form| !carried);
        Some(NewPart {
            op: plainer.unwrap_or_else(|| part.op.clone()),
            way: chat::Way::Direct,
            key: key::part_key(
                &self.install,
                &part.source,
                part.ordinal,
                part.part,
                rendition,
            ),
        })
    }

    /// A notice that can't be made must not keep the part from its end.
    fn notice_of(&self, part: &Claimed, end: &End) -> Option<Notice> {
        std::panic::catch_unwind(AssertUnwindSafe(|| self.notice(part, end))).unwrap_or_else(
            |_panic| {
                tracing::error!(message = %part.message, part = part.part, "the notice about a part crashed");
                let sentence = format!(
                    "⚠ A message could not be delivered; `tidings outbox show {}` tells more.",
                    part.message
                );
                // It may have been the way home that crashed.
                std::panic::catch_unwind(AssertUnwindSafe(|| self.at_home(part, sentence)))
                    .unwrap_or(None)
            },
        )
    }

    /// Who learns that a part was given up or held: the same lane if it lives, else the owner at home.
    fn notice(&self, part: &Claimed, end: &End) -> Option<Notice> {
        let there = part.waybill.chat();
        let lane_is_dead = match &end.decision {
            Decision::Hold => return self.at_home(part, held(there, part.message, &part.op)),
            Decision::Dead { lane, .. } => *lane,
            Decision::Sent { .. }
            | Decision::Advance { .. }
            | Decision::Retry { .. }
            | Decision::Plainer
            | Decision::Unknown { .. }
            | Decision::Ask
            | Decision::Resend { .. }
            | Decision::Redirect { .. } => return None,
        };
        let reason = end
            .fault
            .as_ref()
            .map_or("it was given up", |fault| fault.text.as_str());
        tracing::error!(message = %part.message, part = part.part, chat = %there, reason, "given up");
        let heard_there = !lane_is_dead
            && part.kind != MessageKind::Notice
            && self.channels.contains_key(&there.account)
            && !expired_unheard(part, end);
        if heard_there {
            let sentence = undelivered(&part.op, reason);
            return self.note(part, &Waybill::about(&part.waybill), sentence);
        }
        let loss = if lane_is_dead {
            Loss::WholeChat
        } else {
            Loss::Alone
        };
        let sentence = undelivered_to(there, part.kind, &part.op, reason, loss);
        self.at_home(part, sentence)
    }

    /// A word to the owner; none if it is from there that nothing could be told.
    fn at_home(&self, part: &Claimed, sentence: String) -> Option<Notice> {
        let there = part.waybill.chat();
        let home = (self.home)(part.waybill.profile())?;
        if ended_at_home(part, there, &home) {
            return None;
        }
        let scope = ProfileScope::enter(part.waybill.profile().clone());
        self.note(part, &Waybill::operator(&scope, home), sentence)
    }

    fn note(&self, part: &Claimed, waybill: &Waybill, sentence: String) -> Option<Notice> {
        // A part that the owner sends again may die again, and that is told again.
        let source = format!("dead:{}:{}:{}", part.message, part.part, part.attempt);
        self.compose_notice(waybill, &source, sentence)
    }

    /// Tells owners of parts whose rows can't be read; whom it can't tell, the log tells. What can't be written down now is
    /// told at the next look; what was claimed until then is returned.
    pub(crate) async fn tell_of_set_aside(&self) -> Result<Vec<Claimed>, StoreError> {
        let mut claimed = Vec::new();
        for aside in self.store.set_aside().await? {
            let home = aside
                .profile
                .as_ref()
                .and_then(|profile| Some((profile, (self.home)(profile)?)));
            let notice = home.and_then(|(profile, home)| {
                let scope = ProfileScope::enter(profile.clone());
                let sentence = format!(
                    "⚠ A message waits for you, since its stored row is damaged ({}). `tidings outbox show {}` tells more.",
                    aside.reason, aside.message
                );
                self.compose_notice(
                    &Waybill::operator(&scope, home),
                    &format!("aside-part:{}", aside.row),
                    sentence,
                )
            });
            tracing::error!(
                message = aside.message,
                reason = aside.reason,
                told = notice.is_some(),
                "a stored part can't be read"
            );
            match self.store.told_of(aside, notice, self.clock.now()).await {
                Ok(next) => claimed.extend(next),
                Err(error) => {
                    tracing::error!(%error, "it could not be written down that the owner is told of a part");
                    break;
                }
            }
        }
        Ok(claimed)
    }

    fn compose_notice(&self, waybill: &Waybill, source: &str, sentence: String) -> Option<Notice> {
        let descriptor: &Descriptor = self.channels.get(waybill.account())?.descriptor();
        let message: NewMessage = compose(
            Envelope {
                id: MessageId::fresh(self.ids.as_ref()),
                install: &self.install,
                waybill,
                kind: MessageKind::Notice,
                source,
                ordinal: 0,
                descriptor,
                now: self.clock.now(),
            },
            Draft {
                text: String::new(),
                attachments: Vec::new(),
                notes: vec![sentence.clone()],
            },
        )?;
        Some(Notice {
            message,
            line: sentence,
        })
    }
}

/// What is too old behind a login that does not work would be told behind it, too.
fn expired_unheard(part: &Claimed, end: &End) -> bool {
    let expired = matches!(
        &end.decision,
        Decision::Dead {
            state: PartState::Expired,
            ..
        }
    );
    let refused = end
        .fault
        .as_ref()
        .is_some_and(|fault| fault.kind == FaultKind::PermAccount);
    expired && (part.account_rests || refused)
}

/// A home chat that moved has another name by now, so a word to the owner on its account counts as one at home: each notice
/// breeds at most one, and that one none.
fn ended_at_home(part: &Claimed, there: &ChatKey, home: &ChatKey) -> bool {
    let to_the_owner = part.kind == MessageKind::Notice && part.waybill.session().is_none();
    home == there || (to_the_owner && home.account == there.account)
}
