//! One attempt: from a claimed part to its settlement.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use chat::{Delivery, Descriptor, Fault, FaultKind, Grade, Receipt};
use futures_util::FutureExt;
use outbox::{
    Backoff, Claimed, Decision, Draft, Envelope, Event, HealthSink, HomeChat, MessageKind,
    NewMessage, OutboxStore, PartState, Settlement, Standing, compose, decide, undelivered,
};
use sandbox::BlobStore;
use waybill::{Clock, Ids, MessageId, ProfileScope, Waybill};

use crate::pump::Channels;

/// Longest an attempt may take without a file.
const TEXT_DEADLINE: Duration = Duration::from_secs(60);
/// The slowest upload that is still waited for, in bytes a second.
const SLOWEST_UPLOAD: u64 = 32 * 1024;
/// How long a part of an account that is not configured rests.
const UNCONFIGURED_REST: Duration = Duration::from_secs(300);
/// How long a part that was given back rests, so that the same loop does not claim it again.
const GIVEN_BACK_REST: Duration = Duration::from_secs(1);
/// Tries of writing a settlement down before it is left to the next start.
const SETTLE_TRIES: u32 = 5;

/// What an attempt needs.
pub(crate) struct Attempts {
    pub(crate) install: String,
    pub(crate) home: HomeChat,
    pub(crate) health: HealthSink,
    pub(crate) store: Arc<dyn OutboxStore>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) channels: Channels,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
}

impl Attempts {
    /// Carries a claimed part to its settlement; returns what the settlement claimed.
    pub(crate) async fn carry(&self, part: Claimed) -> Vec<Claimed> {
        let Some(adapter) = self.channels.get(part.waybill.account()) else {
            let fault = Fault::new(
                FaultKind::PermAccount,
                format!(
                    "the account '{}' is not configured; the part waits for it",
                    part.waybill.account()
                ),
            );
            return self.rest(part, fault, UNCONFIGURED_REST).await;
        };
        let descriptor = adapter.descriptor();
        if self.clock.now() >= part.expires_at {
            let fault = Fault::new(FaultKind::TempReject, "it could not be delivered in time");
            let decision = Decision::Dead {
                state: PartState::Expired,
                lane: false,
            };
            return self.settle(&part, Some(fault), decision).await;
        }
        if part.came_from == PartState::Unknown {
            match decide(
                standing(&part),
                Event::Settled,
                descriptor.grade,
                backoff(&part),
                self.clock.now(),
            ) {
                Decision::Resend { .. } => {}
                decision @ (Decision::Sent { .. }
                | Decision::Retry { .. }
                | Decision::Unknown { .. }
                | Decision::Redirect { .. }
                | Decision::Dead { .. }) => {
                    let fault = Fault::new(
                        FaultKind::Unknown,
                        "whether it arrived could not be found out",
                    );
                    return self.settle(&part, Some(fault), decision).await;
                }
            }
        }
        let delivery = Delivery {
            chat: part.waybill.chat(),
            anchor: part.waybill.anchor(),
            op: &part.op,
            key: part.key,
            may_be_repeat: part.may_be_repeat && descriptor.grade != Grade::Keyed,
            silent: false,
        };
        let attempt =
            AssertUnwindSafe(adapter.deliver(delivery, self.blobs.as_ref())).catch_unwind();
        let result: Result<Receipt, Fault> =
            match tokio::time::timeout(deadline(&part), attempt).await {
                Ok(Ok(result)) => result,
                Ok(Err(_panic)) => Err(Fault::new(
                    FaultKind::Unknown,
                    "the channel's adapter crashed on this part",
                )),
                Err(_elapsed) => Err(Fault::new(FaultKind::Unknown, "no answer in time")),
            };
        self.report(&part, &result);
        let (event, fault) = match result {
            Ok(receipt) => (Event::Delivered(receipt), None),
            Err(fault) => (Event::Faulted(fault.clone()), Some(fault)),
        };
        let decision = decide(
            standing(&part),
            event,
            descriptor.grade,
            backoff(&part),
            self.clock.now(),
        );
        self.settle(&part, fault, decision).await
    }

    /// Takes a claim back that was not begun: no byte was sent.
    pub(crate) async fn give_back(&self, part: Claimed) {
        let fault = Fault::new(FaultKind::NotSent, "the gateway stopped before it was sent");
        let claimed = self.rest(part, fault, GIVEN_BACK_REST).await;
        if !claimed.is_empty() {
            tracing::warn!(
                parts = claimed.len(),
                "parts were claimed while the gateway stops"
            );
        }
    }

    async fn rest(&self, part: Claimed, fault: Fault, rest: Duration) -> Vec<Claimed> {
        let at = self
            .clock
            .now()
            .checked_add(rest)
            .unwrap_or(part.expires_at);
        let decision = Decision::Retry {
            at,
            counts: false,
            gate: outbox::Gate::Lane,
        };
        self.settle(&part, Some(fault), decision).await
    }

    fn report(&self, part: &Claimed, result: &Result<Receipt, Fault>) {
        let account = part.waybill.account();
        match result {
            Ok(_receipt) => {
                tracing::debug!(%account, message = %part.message, part = part.part, op = part.op.name(), "delivered");
                (self.health)(account, Ok(()));
            }
            Err(fault) => {
                tracing::warn!(
                    %account, message = %part.message, part = part.part, op = part.op.name(),
                    fault = fault.kind.name(), code = fault.code, text = %fault.text, "not delivered"
                );
                if fault.kind == FaultKind::PermAccount {
                    (self.health)(account, Err(fault.clone()));
                }
            }
        }
    }

    async fn settle(
        &self,
        part: &Claimed,
        fault: Option<Fault>,
        decision: Decision,
    ) -> Vec<Claimed> {
        let notice = self.notice(part, fault.as_ref(), &decision);
        let settlement = Settlement {
            message: part.message,
            part: part.part,
            attempt: part.attempt,
            at: self.clock.now(),
            fault,
            decision,
            notice,
        };
        // The platform has acted: losing this record would make a repeat, so it is worth a few tries.
        for backoff in 1..=SETTLE_TRIES {
            match self.store.settle(settlement.clone()).await {
                Ok(claimed) => return claimed,
                Err(error) => {
                    tracing::error!(%error, message = %part.message, "an attempt's end could not be stored");
                    tokio::time::sleep(Duration::from_millis(200) * backoff).await;
                }
            }
        }
        Vec::new()
    }

    /// Who learns that a part was given up: the same lane if it lives, else the owner at home. A notice breeds none.
    fn notice(
        &self,
        part: &Claimed,
        fault: Option<&Fault>,
        decision: &Decision,
    ) -> Option<NewMessage> {
        let Decision::Dead { lane, .. } = decision else {
            return None;
        };
        let reason = fault.map_or("it was given up", |fault| fault.text.as_str());
        let sentence = undelivered(&part.op, reason);
        tracing::error!(message = %part.message, part = part.part, chat = %part.waybill.chat(), reason, "given up");
        if part.kind == MessageKind::Notice {
            return None;
        }
        let (waybill, sentence) = if *lane {
            let home = (self.home)(part.waybill.profile())?;
            if home == *part.waybill.chat() {
                return None;
            }
            let scope = ProfileScope::enter(part.waybill.profile().clone());
            (
                Waybill::operator(&scope, home),
                format!("{sentence} (to {})", part.waybill.chat()),
            )
        } else {
            (Waybill::about(&part.waybill), sentence)
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

fn standing(part: &Claimed) -> Standing {
    Standing {
        state: PartState::Sending,
        tries: part.tries,
        kind: part.kind,
        expires_at: part.expires_at,
    }
}

fn backoff(part: &Claimed) -> Backoff {
    let (_, low) = part.key.as_bytes().split_at(8);
    Backoff {
        seed: low
            .iter()
            .fold(0, |seed, byte| seed << 8 | u64::from(*byte)),
    }
}

fn deadline(part: &Claimed) -> Duration {
    let bytes = part.op.artifact().map_or(0, |artifact| artifact.blob.size);
    TEXT_DEADLINE + Duration::from_secs(bytes / SLOWEST_UPLOAD)
}
