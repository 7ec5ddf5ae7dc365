//! Whatever is stored, claimed, ended, cut off or started again, in whatever order: each lane keeps its order, never has
//! two parts on the wire, and no part is lost.
#![allow(
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use outbox::{Claimed, MessageKind, NewMessage, PartState, Verb, Waiting};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use waybill::{MessageId, Waybill};

use super::make::{
    Maker, START, account, at, chat, crashed, dead, held, moved, plainer, profile, retry, revoked,
    sent, stepped, text, throttled, unknown, unreachable,
};
use super::reference::{LANES, Reference, Taken};
use super::{AnyStore, World};

#[derive(Debug, Clone)]
enum Step {
    Enqueue { lane: usize, parts: u32, name: bool },
    Claim { most: usize },
    Settle { pick: usize, how: How },
    Late { pick: usize },
    Act { pick: usize, verb: usize },
    Wait(i64),
    Restart,
}

#[derive(Debug, Clone)]
enum How {
    Sent,
    Stepped,
    Plainer,
    Retry { after: i64, counts: bool },
    Throttled { after: i64 },
    Revoked { after: i64 },
    Unreachable { after: i64 },
    Unknown { after: i64, crash: bool },
    Held { notice: Option<usize> },
    Dead { whole: bool, notice: Option<usize> },
    Moved { to: usize },
}

fn how() -> impl Strategy<Value = How> {
    let after = || 0_i64..60;
    let notice = || proptest::option::of(0..LANES.len());
    prop_oneof![
        6 => Just(How::Sent),
        1 => Just(How::Stepped),
        1 => Just(How::Plainer),
        3 => (after(), any::<bool>()).prop_map(|(after, counts)| How::Retry { after, counts }),
        1 => after().prop_map(|after| How::Throttled { after }),
        1 => after().prop_map(|after| How::Revoked { after }),
        1 => after().prop_map(|after| How::Unreachable { after }),
        2 => (after(), any::<bool>()).prop_map(|(after, crash)| How::Unknown { after, crash }),
        1 => notice().prop_map(|notice| How::Held { notice }),
        2 => (any::<bool>(), notice()).prop_map(|(whole, notice)| How::Dead { whole, notice }),
        2 => (0..LANES.len()).prop_map(|to| How::Moved { to }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..LANES.len(), 1_u32..4, any::<bool>()).prop_map(|(lane, parts, name)| Step::Enqueue { lane, parts, name }),
        3 => (1_usize..6).prop_map(|most| Step::Claim { most }),
        8 => (any::<usize>(), how()).prop_map(|(pick, how)| Step::Settle { pick, how }),
        2 => any::<usize>().prop_map(|pick| Step::Late { pick }),
        2 => (any::<usize>(), 0..Verb::ALL.len()).prop_map(|(pick, verb)| Step::Act { pick, verb }),
        2 => (1_i64..50).prop_map(Step::Wait),
        1 => Just(Step::Restart),
    ]
}

/// Cases of the property. Each writes some dozens of transactions to a real disk.
const CASES: u32 = 20;

pub async fn whatever_happens_each_lane_keeps_its_order_and_loses_nothing<W: World>(_unused: W) {
    let runtime = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        let config = Config {
            cases: CASES,
            failure_persistence: None,
            max_shrink_time: 60_000,
            ..Config::default()
        };
        let steps = proptest::collection::vec(step(), 10..45);
        let judged = TestRunner::new(config).run(&steps, |steps| {
            // The checks panic; the runner catches that and looks for a smaller case.
            runtime.block_on(play(W::fresh(), steps));
            Ok::<(), TestCaseError>(())
        });
        if let Err(failure) = judged {
            panic!("{failure}");
        }
    });
}

struct Game<S> {
    store: S,
    make: Maker,
    now: i64,
    reference: Reference,
    /// Attempts that are over.
    over: Vec<Claimed>,
    delivered: HashMap<MessageId, Vec<u32>>,
    /// Of which the owner sent parts again, so that they came out of order.
    again: HashSet<MessageId>,
}

/// How long the platform of the account `a` may still be at work after a crash, in milliseconds.
const SETTLE: i64 = 20;

/// Named messages, of which the newest wins.
const NAME: &str = "draft";

async fn play<W: World>(world: W, steps: Vec<Step>) {
    let mut game = Game {
        store: world.open().await,
        make: Maker::default(),
        now: 0,
        reference: Reference::default(),
        over: Vec::new(),
        delivered: HashMap::new(),
        again: HashSet::new(),
    };
    for step in steps {
        match step {
            Step::Restart => {
                world.close(game.store).await;
                game.store = world.open().await;
                game.restart().await;
            }
            Step::Enqueue { lane, parts, name } => game.enqueue(lane, parts, name).await,
            Step::Claim { most } => {
                game.claim(most).await;
            }
            Step::Settle { pick, how } => game.settle(pick, how).await,
            Step::Late { pick } => game.late(pick).await,
            Step::Act { pick, verb } => game.act(pick, Verb::ALL[verb]).await,
            Step::Wait(ms) => game.now += ms,
        }
    }
    game.drain().await;
    game.account_for_all().await;
    world.close(game.store).await;
}

impl<S: AnyStore> Game<S> {
    fn check(&mut self, claimed: &[Claimed], expected: &[Taken]) {
        assert_eq!(
            claimed.len(),
            expected.len(),
            "{claimed:?}, and what had to be: {expected:?}"
        );
        for (claimed, taken) in claimed.iter().zip(expected) {
            self.reference.check(taken, claimed);
        }
    }

    async fn restart(&mut self) {
        self.over.extend(self.reference.running.clone());
        let cut_off = self
            .reference
            .restart(self.now, &HashMap::from([("a", SETTLE)]));
        let wait = Duration::from_millis(SETTLE.unsigned_abs());
        let settle = HashMap::from([(account("a"), wait)]);
        let found = self.store.recover(at(self.now), settle).await;
        assert_eq!(found.expect("recover"), cut_off);
    }

    async fn enqueue(&mut self, lane: usize, parts: u32, name: bool) {
        let (account, conversation) = LANES[lane];
        let mut message = self.make.message(&chat(account, conversation), parts);
        let name = name.then_some(NAME);
        message.replaces = name.map(str::to_owned);
        let born = self.reference.enqueue(lane, &message, name, self.now);
        let expected: Vec<_> = born
            .map(|part| self.reference.take(part, self.now))
            .into_iter()
            .collect();
        let claimed = self
            .store
            .enqueue(vec![message], at(self.now))
            .await
            .expect("enqueue");
        self.check(&claimed, &expected);
    }

    /// Claims, and says when something may be due by the passing of time.
    async fn claim(&mut self, most: usize) -> Option<i64> {
        let expected = self.reference.claim(self.now, most);
        let claims = self.store.claim(at(self.now), most).await.expect("claim");
        assert_eq!(claims.parts.len(), expected.claimed, "{:?}", claims.parts);
        for part in &claims.parts {
            self.reference.follow(part, self.now);
        }
        assert_eq!(claims.waiting, expected.waiting);
        let next = claims.next.map(|next| next.as_millisecond() - START);
        assert_eq!(
            next,
            self.reference.next(&expected, self.now),
            "when to look again"
        );
        if claims.waiting == Waiting::Some && claims.parts.is_empty() {
            panic!("what waits for a place without an attempt on the wire waits for ever");
        }
        next
    }

    fn notice(&self, to: usize) -> NewMessage {
        let (account, conversation) = LANES[to];
        let waybill = Waybill::operator(&profile("default"), chat(account, conversation));
        self.make.with(waybill, MessageKind::Notice, 1)
    }

    async fn settle(&mut self, pick: usize, how: How) {
        if self.reference.running.is_empty() {
            return;
        }
        let claimed = self.reference.running[pick % self.reference.running.len()].clone();
        let (now, from) = (self.now, self.reference.lane(&claimed));
        let mut expected = Vec::new();
        let mut tell = |game: &mut Self, notice: Option<usize>| {
            let to = notice?;
            let message = game.notice(to);
            let born = game.reference.tell(to, &message, now);
            expected.extend(born.map(|part| game.reference.take(part, now)));
            Some(message)
        };
        let reference = &mut self.reference;
        // When an account that rests is probed again, if this attempt said nothing about it.
        let probe_at = match how {
            How::Revoked { after } | How::Unreachable { after } | How::Unknown { after, .. } => {
                now + after
            }
            How::Sent
            | How::Stepped
            | How::Plainer
            | How::Retry { .. }
            | How::Throttled { .. }
            | How::Held { .. }
            | How::Dead { .. }
            | How::Moved { .. } => now,
        };
        // What the store is told; the lane that goes on; whether the platform answered.
        let (end, goes_on, answered) = match how {
            How::Sent => {
                let parts = self.delivered.entry(claimed.message).or_default();
                parts.push(claimed.part);
                (
                    sent(&claimed, at(now)),
                    Some(reference.sent(&claimed)),
                    true,
                )
            }
            How::Stepped => {
                let step = format!("{}:{}", claimed.attempt, now);
                let lane = reference.stepped(&claimed, &step, now);
                (stepped(&claimed, at(now), &step), Some(lane), true)
            }
            How::Plainer => {
                let lane = reference.plainer(&claimed, now);
                let end = plainer(&claimed, at(now), text("plain"));
                (end, Some(lane), true)
            }
            How::Retry { after, counts } => {
                reference.retry(&claimed, now + after, counts);
                let end = retry(&claimed, at(now), at(now + after), counts);
                (end, None, true)
            }
            How::Throttled { after } => {
                reference.throttled(&claimed, now + after);
                (throttled(&claimed, at(now), at(now + after)), None, true)
            }
            How::Revoked { after } => {
                reference.resting(&claimed, now + after);
                (revoked(&claimed, at(now), at(now + after)), None, false)
            }
            How::Unreachable { after } => {
                reference.resting(&claimed, now + after);
                (unreachable(&claimed, at(now), at(now + after)), None, false)
            }
            How::Unknown { after, crash } => {
                reference.unknown(&claimed, now + after, u32::from(crash));
                let settled = at(now + after);
                let end = if crash {
                    crashed(&claimed, at(now), settled)
                } else {
                    unknown(&claimed, at(now), settled)
                };
                (end, None, false)
            }
            How::Held { notice } => {
                let message = tell(self, notice);
                let lane = self.reference.held(&claimed);
                (held(&claimed, at(now), message), Some(lane), false)
            }
            How::Dead { whole, notice } => {
                let message = tell(self, notice);
                let lane = self.reference.dead(&claimed);
                if whole {
                    self.reference.close(lane);
                }
                (dead(&claimed, at(now), whole, message), Some(lane), true)
            }
            How::Moved { to } => {
                if from == to || LANES[from].0 != LANES[to].0 {
                    return;
                }
                let (account, conversation) = LANES[to];
                let end = moved(&claimed, at(now), &chat(account, conversation));
                (end, Some(reference.redirect(&claimed, to, now)), true)
            }
        };
        self.over.push(claimed);
        if answered {
            self.reference.answered(from);
        } else {
            self.reference.probed(from, probe_at);
        }
        let next = goes_on.and_then(|lane| self.reference.goes_on(lane, now));
        expected.extend(next.map(|part| self.reference.take(part, now)));
        let claimed = self.store.settle(end).await.expect("settle");
        self.check(&claimed, &expected);
    }

    /// An attempt that is over ends once more, as if its answer had come late.
    async fn late(&mut self, pick: usize) {
        // The most telling ones first: a part that is on the wire again.
        let again = |over: &&Claimed| {
            let same = |now: &Claimed| (now.message, now.part) == (over.message, over.part);
            self.reference.running.iter().any(same)
        };
        let mut late: Vec<&Claimed> = self.over.iter().filter(again).collect();
        if late.is_empty() {
            late = self.over.iter().collect();
        }
        let Some(claimed) = late.get(pick % late.len().max(1)) else {
            return;
        };
        let next = self
            .store
            .settle(sent(claimed, at(self.now)))
            .await
            .expect("settle");
        assert!(next.is_empty(), "a late end claims nothing");
    }

    /// The owner wants something done with a part.
    async fn act(&mut self, pick: usize, verb: Verb) {
        let Some(index) = pick.checked_rem(self.reference.parts.len()) else {
            return;
        };
        let part = self.reference.parts[index].clone();
        let applied = self.reference.act(index, verb, self.now);
        if applied.is_some() && verb == Verb::Retry {
            self.again.insert(part.message);
        }
        let acted = self
            .store
            .act(part.message, Some(part.n), verb, at(self.now))
            .await
            .expect("act")
            .expect("it is there");
        let (changed, left) = match applied {
            Some(state) => (vec![(part.n, state)], vec![]),
            None => (vec![], vec![(part.n, part.state)]),
        };
        assert_eq!(
            (acted.changed, acted.left),
            (changed, left),
            "{}",
            verb.name()
        );
    }

    /// Lets everything that is open be delivered.
    async fn drain(&mut self) {
        self.now += 1_000;
        loop {
            while !self.reference.running.is_empty() {
                self.settle(0, How::Sent).await;
            }
            let next = self.claim(LANES.len()).await;
            if self.reference.running.is_empty() {
                let Some(next) = next else { break };
                self.now = self.now.max(next);
            }
        }
    }

    /// Every part ended in exactly one state, with all its attempts; and parts of a message came in order.
    async fn account_for_all(&self) {
        for part in &self.reference.parts {
            let row = self
                .store
                .show(part.message)
                .await
                .expect("show")
                .expect("no message is lost");
            let stored = &row.parts[part.n as usize - 1];
            assert!(stored.state.is_end() || stored.state == PartState::Held);
            assert_eq!(
                (stored.n, stored.state, stored.tries, stored.rendition),
                (part.n, part.state, part.tries, part.rendition)
            );
            assert_eq!(stored.may_be_repeat, part.repeat);
            assert_eq!(
                stored.step.as_ref().map(chat::Step::as_str),
                part.step.as_deref()
            );
            assert_eq!(
                stored.attempts.len(),
                part.attempts as usize,
                "every attempt is there"
            );
            assert_eq!(stored.receipt.is_some(), part.receipt);
        }
        for (message, parts) in &self.delivered {
            assert!(
                parts.is_sorted() || self.again.contains(message),
                "parts of a message came as {parts:?}"
            );
        }
    }
}
