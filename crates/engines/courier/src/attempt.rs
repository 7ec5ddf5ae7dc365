//! One attempt: from a claimed part to what became of it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use chat::{ChatAdapter, Delivery, Done, Fault, FaultKind, Step, Way};
use futures_util::FutureExt;
use outbox::{
    Backoff, Channel, Claimed, Crash, Decision, Event, Gate, HealthSink, HomeChat, OtherForm,
    OutboxStore, PartState, Repeat, Standing, decide, key,
};
use sandbox::BlobStore;
use tokio_util::sync::CancellationToken;
use waybill::{AccountId, Clock, Ids};

use crate::age::{self, Readings};
use crate::ending::End;
use crate::gates::{Ended, Gates, Place};
use crate::pump::Channels;

/// Longest an attempt may take without a file.
const TEXT_DEADLINE: Duration = Duration::from_secs(60);
/// The slowest upload that is still waited for, in bytes a second.
const SLOWEST_UPLOAD: u64 = 32 * 1024;
/// Longest that a placeholder's end is waited for: it is best effort.
const WITHDRAW: Duration = Duration::from_secs(10);
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
    pub(crate) gates: Arc<Gates>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) readings: Readings,
}

impl Attempts {
    /// Carries a claimed part to its settlement; returns what the settlement claimed.
    pub(crate) async fn carry(&self, part: Claimed, stop: &CancellationToken) -> Vec<Claimed> {
        let place = self.gates.place(part.waybill.account());
        let end = AssertUnwindSafe(self.attempt(&part, place))
            .catch_unwind()
            .await
            .unwrap_or_else(|_panic| self.crashed(&part));
        let left = end.leaves_placeholder(&part);
        let claimed = self.settle(&part, end, stop).await;
        failpoint::point("C10");
        if let Some(step) = left {
            self.withdraw(&part, &step).await;
        }
        claimed
    }

    /// Takes a claim back that was not begun: no byte was sent.
    pub(crate) async fn give_back(&self, part: Claimed, stop: &CancellationToken) {
        drop(self.gates.place(part.waybill.account()));
        let fault = Fault::new(FaultKind::NotSent, "the gateway stopped before it was sent");
        let end = self.rest(&part, fault, GIVEN_BACK_REST, Gate::Lane);
        let claimed = self.settle(&part, end, stop).await;
        for next in claimed {
            // The next start takes it up.
            drop(self.gates.place(next.waybill.account()));
            tracing::warn!(message = %next.message, part = next.part, "a part was claimed while the gateway stops");
        }
    }

    async fn attempt(&self, part: &Claimed, place: Place) -> End {
        if self.clock.now() >= part.expires_at {
            if !self.readings.agree(self.clock.now()) {
                let fault = Fault::new(
                    FaultKind::NotSent,
                    "it seems too old, but the clock may have jumped; it is looked at again",
                );
                return self.rest(part, fault, age::APART, Gate::Lane);
            }
            // No word of the platform: it says nothing about the account.
            let fault = Fault::new(FaultKind::NotSent, "it could not be delivered in time");
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
        let adapter = adapter.as_ref();
        let channel = Channel::from(adapter.descriptor());
        let mut delivery = Delivery {
            chat: part.waybill.chat(),
            anchor: part.waybill.anchor(),
            op: &part.op,
            key: part.key,
            may_be_repeat: part.may_be_repeat && self.shows_again(part, channel),
            way: part.way,
            step: part.step.as_ref(),
            silent: false,
        };
        if self.doubted(part, channel) {
            match self.after_unknown(part, adapter, &delivery, channel).await {
                (Decision::Resend { marked }, _) => delivery.may_be_repeat = marked,
                // Who wants to decide has decided, or the last answer was that it is not there: this attempt was asked for.
                (Decision::Hold, _) if part.came_from == PartState::Retry => {}
                (decision, unasked) => return unproven(part, decision, unasked),
            }
        }
        if delivery.may_be_repeat && matches!(channel.grade, chat::Grade::Keyed { .. }) {
            delivery.key = key::repeat_key(part.key, part.attempt);
        }
        self.send(part, adapter, delivery, channel, place).await
    }

    /// One call of the adapter.
    async fn send(
        &self,
        part: &Claimed,
        adapter: &dyn ChatAdapter,
        delivery: Delivery<'_>,
        channel: Channel,
        place: Place,
    ) -> End {
        failpoint::point("C5");
        let attempt = AssertUnwindSafe(async {
            failpoint::point("C22");
            adapter.deliver(delivery, self.blobs.as_ref()).await
        })
        .catch_unwind();
        let result = match tokio::time::timeout(deadline(part), attempt).await {
            Ok(Ok(result)) => result,
            Ok(Err(_panic)) => {
                place.ended(Ended::Crash);
                let fault = Fault::new(
                    FaultKind::Unknown,
                    "the channel's adapter crashed on this part",
                );
                tracing::error!(message = %part.message, part = part.part, "the channel's adapter crashed");
                return self.crash(part, fault, channel);
            }
            Err(_elapsed) => Err(Fault::new(FaultKind::Unknown, "no answer in time")),
        };
        self.report(part, &result);
        let silent = place.ended(match &result {
            Ok(Done::All(_)) => Ended::Sent,
            Ok(Done::Step(_)) => Ended::Step,
            Err(fault) => Ended::Fault(&fault.kind),
        });
        let (event, fault) = match result {
            Ok(Done::All(receipt)) => (Event::Delivered(receipt), None),
            Ok(Done::Step(step)) => (Event::Stepped(step), None),
            Err(fault) => (Event::Faulted(fault.clone()), Some(fault)),
        };
        let standing = Standing {
            silent,
            ..standing(part)
        };
        End {
            fault,
            crash: Crash::No,
            decision: decide(standing, event, channel, backoff(part), self.clock.now()),
        }
    }

    /// Whether it has to be found out first what became of an earlier attempt: of one that ended without an answer, and again
    /// where a platform that can be asked has refused since.
    fn doubted(&self, part: &Claimed, channel: Channel) -> bool {
        let refused = part.came_from == PartState::Retry && part.may_be_repeat;
        part.came_from == PartState::Unknown
            || (refused && self.decide(part, Event::Settled, channel) == Decision::Ask)
    }

    /// What to do with a part whose last attempt got no answer: asks the platform, where it can be asked. With it comes why it
    /// could not be asked now.
    async fn after_unknown(
        &self,
        part: &Claimed,
        adapter: &dyn ChatAdapter,
        delivery: &Delivery<'_>,
        channel: Channel,
    ) -> (Decision, Option<Fault>) {
        let decision = self.decide(part, Event::Settled, channel);
        if decision != Decision::Ask {
            return (decision, None);
        }
        let question = AssertUnwindSafe(tokio::time::timeout(
            TEXT_DEADLINE,
            adapter.find(delivery.clone()),
        ))
        .catch_unwind();
        let fault = match question.await {
            Ok(Ok(Ok(found))) => return (self.decide(part, Event::Answered(found), channel), None),
            Ok(Ok(Err(fault))) => fault,
            Ok(Err(_elapsed)) => Fault::new(FaultKind::Unknown, "no answer in time"),
            Err(_panic) => {
                tracing::error!(message = %part.message, part = part.part, "the channel's adapter crashed on a question");
                let text = "the channel's adapter crashed on a question about this part";
                Fault::new(FaultKind::Unknown, text)
            }
        };
        let decision = self.decide(part, Event::Unasked(fault.clone()), channel);
        (decision, Some(fault))
    }

    fn shows_again(&self, part: &Claimed, channel: Channel) -> bool {
        part.way == Way::Direct && !channel.refuses_repeats(part.first_at, self.clock.now())
    }

    fn decide(&self, part: &Claimed, event: Event, channel: Channel) -> Decision {
        decide(
            standing(part),
            event,
            channel,
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
        let channel = Channel {
            grade: chat::Grade::Nothing,
            settle: Duration::from_secs(2),
        };
        self.crash(part, fault, channel)
    }

    fn crash(&self, part: &Claimed, fault: Fault, channel: Channel) -> End {
        End {
            fault: Some(fault),
            crash: Crash::Yes,
            decision: self.decide(part, Event::Crashed, channel),
        }
    }

    /// Takes away what only held a place.
    async fn withdraw(&self, part: &Claimed, step: &Step) {
        let Some(adapter) = self.channels.get(part.waybill.account()) else {
            return;
        };
        let gone = AssertUnwindSafe(tokio::time::timeout(
            WITHDRAW,
            adapter.withdraw(part.waybill.chat(), step),
        ));
        if !matches!(gone.catch_unwind().await, Ok(Ok(()))) {
            tracing::warn!(message = %part.message, part = part.part, "a placeholder was left behind");
        }
    }

    /// The attempt was not made: the part waits as what it was. One that may have arrived stays unknown.
    fn rest(&self, part: &Claimed, fault: Fault, rest: Duration, gate: Gate) -> End {
        let at = self
            .clock
            .now()
            .checked_add(rest)
            .unwrap_or(part.expires_at);
        let decision = if part.came_from == PartState::Unknown {
            Decision::Unknown { at }
        } else {
            Decision::Retry {
                at,
                counts: false,
                gate,
            }
        };
        End::faulted(fault, decision)
    }

    fn report(&self, part: &Claimed, result: &Result<Done, Fault>) {
        let account = part.waybill.account();
        match result {
            Ok(_done) => {
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

/// The end of an attempt that was not made, since nobody could find out about the one before.
fn unproven(part: &Claimed, decision: Decision, unasked: Option<Fault>) -> End {
    let proven = matches!(decision, Decision::Sent { .. });
    let fault = (!proven).then(|| {
        tracing::warn!(message = %part.message, part = part.part, "what became of an attempt is not known");
        unasked.unwrap_or_else(|| {
            Fault::new(
                FaultKind::Unknown,
                "whether it arrived could not be found out",
            )
        })
    });
    End {
        fault,
        crash: Crash::No,
        decision,
    }
}

fn standing(part: &Claimed) -> Standing {
    // A placeholder that is refused says nothing of its content: that goes directly, and may still be made plainer.
    let plain = part.way == Way::Direct && part.op.plainer().is_none();
    Standing {
        state: PartState::Sending,
        tries: part.tries,
        attempt: part.attempt,
        crashes: part.crashes + 1,
        silent: 0,
        kind: part.kind,
        other_form: if plain {
            OtherForm::None
        } else {
            OtherForm::Left
        },
        repeat: match part.way {
            Way::Direct => Repeat::Shows,
            Way::Carried => Repeat::ShowsNothing,
        },
        when_unknown: part.when_unknown,
        first_at: part.first_at,
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
