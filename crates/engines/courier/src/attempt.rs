//! One attempt: from a claimed part to what became of it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use chat::{Delivery, Fault, FaultKind, Grade, Receipt};
use futures_util::FutureExt;
use outbox::{
    Backoff, Claimed, Decision, Event, Gate, HealthSink, HomeChat, OutboxStore, PartState,
    Standing, decide,
};
use sandbox::BlobStore;
use tokio_util::sync::CancellationToken;
use waybill::{AccountId, Clock, Ids};

use crate::ending::End;
use crate::pump::Channels;

/// Longest an attempt may take without a file.
const TEXT_DEADLINE: Duration = Duration::from_secs(60);
/// The slowest upload that is still waited for, in bytes a second.
const SLOWEST_UPLOAD: u64 = 32 * 1024;
/// How long an account that is not configured rests; its first good sign ends the rest.
const UNCONFIGURED_REST: Duration = Duration::from_secs(60);
/// How long a part that was given back rests, so that the same loop does not claim it again.
const GIVEN_BACK_REST: Duration = Duration::from_secs(1);

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
    pub(crate) async fn carry(&self, part: Claimed, stop: &CancellationToken) -> Vec<Claimed> {
        let end = AssertUnwindSafe(self.attempt(&part))
            .catch_unwind()
            .await
            .unwrap_or_else(|_panic| self.crashed(&part));
        self.settle(&part, end, stop).await
    }

    /// Takes a claim back that was not begun: no byte was sent.
    pub(crate) async fn give_back(&self, part: Claimed, stop: &CancellationToken) {
        let fault = Fault::new(FaultKind::NotSent, "the gateway stopped before it was sent");
        let end = self.rest(&part, fault, GIVEN_BACK_REST, Gate::Lane);
        let claimed = self.settle(&part, end, stop).await;
        if !claimed.is_empty() {
            tracing::warn!(
                parts = claimed.len(),
                "parts were claimed while the gateway stops"
            );
        }
    }

    async fn attempt(&self, part: &Claimed) -> End {
        if self.clock.now() >= part.expires_at {
            let fault = Fault::new(FaultKind::TempReject, "it could not be delivered in time");
            let decision = Decision::Dead {
                state: PartState::Expired,
                lane: false,
            };
            return End::faulted(fault, decision);
        }
        let Some(adapter) = self.channels.get(part.waybill.account()) else {
            let fault = Fault::new(
                FaultKind::PermAccount,
                format!(
                    "the account '{}' is not configured; the part waits for it",
                    part.waybill.account()
                ),
            );
            return self.rest(part, fault, UNCONFIGURED_REST, Gate::Account);
        };
        let descriptor = adapter.descriptor();
        if part.came_from == PartState::Unknown {
            match self.decide(part, Event::Settled, descriptor.grade) {
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
                    return End::faulted(fault, decision);
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
            match tokio::time::timeout(deadline(part), attempt).await {
                Ok(Ok(result)) => result,
                Ok(Err(_panic)) => Err(Fault::new(
                    FaultKind::Unknown,
                    "the channel's adapter crashed on this part",
                )),
                Err(_elapsed) => Err(Fault::new(FaultKind::Unknown, "no answer in time")),
            };
        self.report(part, &result);
        let (event, fault) = match result {
            Ok(receipt) => (Event::Delivered(receipt), None),
            Err(fault) => (Event::Faulted(fault.clone()), Some(fault)),
        };
        End {
            fault,
            decision: self.decide(part, event, descriptor.grade),
        }
    }

    fn decide(&self, part: &Claimed, event: Event, grade: Grade) -> Decision {
        decide(
            standing(part),
            event,
            grade,
            backoff(part),
            self.clock.now(),
        )
    }

    /// Nobody can tell how far the attempt came.
    fn crashed(&self, part: &Claimed) -> End {
        let fault = Fault::new(
            FaultKind::Unknown,
            "the gateway itself crashed on this part; its log says where",
        );
        tracing::error!(message = %part.message, part = part.part, "an attempt crashed");
        let event = Event::Faulted(fault.clone());
        End::faulted(fault, self.decide(part, event, Grade::Nothing))
    }

    fn rest(&self, part: &Claimed, fault: Fault, rest: Duration, gate: Gate) -> End {
        let at = self
            .clock
            .now()
            .checked_add(rest)
            .unwrap_or(part.expires_at);
        End::faulted(
            fault,
            Decision::Retry {
                at,
                counts: false,
                gate,
            },
        )
    }

    fn report(&self, part: &Claimed, result: &Result<Receipt, Fault>) {
        let account = part.waybill.account();
        match result {
            Ok(_receipt) => {
                tracing::debug!(%account, message = %part.message, part = part.part, op = part.op.name(), "delivered");
                self.tell_health(account, Ok(()));
            }
            Err(fault) => {
                tracing::warn!(
                    %account, message = %part.message, part = part.part, op = part.op.name(),
                    fault = fault.kind.name(), code = fault.code, text = %fault.text, "not delivered"
                );
                if fault.kind == FaultKind::PermAccount {
                    self.tell_health(account, Err(fault.clone()));
                }
            }
        }
    }

    /// What the platform answered stands, whatever becomes of those who are told.
    fn tell_health(&self, account: &AccountId, state: Result<(), Fault>) {
        let told = std::panic::catch_unwind(AssertUnwindSafe(|| (self.health)(account, state)));
        if told.is_err() {
            tracing::error!(%account, "whoever watches over accounts crashed on a sign of this one");
        }
    }
}

fn standing(part: &Claimed) -> Standing {
    Standing {
        state: PartState::Sending,
        tries: part.tries,
        attempt: part.attempt,
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
