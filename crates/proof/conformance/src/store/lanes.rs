//! Whatever is stored, claimed, ended, cut off or started again, in whatever order: each lane keeps its order, never has
//! two parts on the wire, and no part is lost.
#![allow(
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use std::collections::HashMap;

use outbox::{Claimed, OutboxStore as _, PartState};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use waybill::MessageId;

use super::make::{Maker, START, at, chat, dead, moved, retry, revoked, sent, throttled, unknown};
use super::reference::{LANES, Reference};
use super::{AnyStore, World};

#[derive(Debug, Clone)]
enum Step {
    Enqueue { lane: usize, parts: u32 },
    Claim { most: usize },
    Settle { pick: usize, how: How },
    Late { pick: usize },
    Wait(i64),
    Restart,
}

#[derive(Debug, Clone)]
enum How {
    Sent,
    Retry { after: i64, counts: bool },
    Throttled { after: i64 },
    Revoked { after: i64 },
    Unknown { after: i64 },
    Dead { whole: bool, notice: Option<usize> },
    Moved { to: usize },
}

fn how() -> impl Strategy<Value = How> {
    let after = || 0_i64..60;
    prop_oneof![
        6 => Just(How::Sent),
        3 => (after(), any::<bool>()).prop_map(|(after, counts)| How::Retry { after, counts }),
        1 => after().prop_map(|after| How::Throttled { after }),
        1 => after().prop_map(|after| How::Revoked { after }),
        2 => after().prop_map(|after| How::Unknown { after }),
        1 => (any::<bool>(), proptest::option::of(0..LANES.len()))
            .prop_map(|(whole, notice)| How::Dead { whole, notice }),
        2 => (0..LANES.len()).prop_map(|to| How::Moved { to }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..LANES.len(), 1_u32..4).prop_map(|(lane, parts)| Step::Enqueue { lane, parts }),
        3 => (1_usize..6).prop_map(|most| Step::Claim { most }),
        8 => (any::<usize>(), how()).prop_map(|(pick, how)| Step::Settle { pick, how }),
        2 => any::<usize>().prop_map(|pick| Step::Late { pick }),
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
}

async fn play<W: World>(world: W, steps: Vec<Step>) {
    let mut game = Game {
        store: world.open().await,
        make: Maker::default(),
        now: 0,
        reference: Reference::default(),
        over: Vec::new(),
        delivered: HashMap::new(),
    };
    for step in steps {
        match step {
            Step::Restart => {
                world.close(game.store).await;
                game.store = world.open().await;
                game.over.extend(game.reference.running.clone());
                let cut_off = game.reference.restart(game.now);
                assert_eq!(
                    game.store.recover(at(game.now)).await.expect("recover"),
                    cut_off
                );
            }
            Step::Enqueue { lane, parts } => game.enqueue(lane, parts).await,
            Step::Claim { most } => game.claim(most).await,
            Step::Settle { pick, how } => game.settle(pick, how).await,
            Step::Late { pick } => game.late(pick).await,
            Step::Wait(ms) => game.now += ms,
        }
        game.check_due().await;
    }
    game.drain().await;
    game.account_for_all().await;
    world.close(game.store).await;
}

impl<S: AnyStore> Game<S> {
    fn follow(&mut self, claimed: &[Claimed], mut expected: Vec<(MessageId, u32)>) {
        let mut names: Vec<_> = claimed
            .iter()
            .map(|part| (part.message, part.part))
            .collect();
        names.sort_unstable();
        expected.sort_unstable();
        assert_eq!(names, expected, "claimed, and what had to be");
        for part in claimed {
            self.reference.follow(part, self.now);
        }
    }

    async fn check_due(&self) {
        let due = self.store.next_due().await.expect("due");
        assert_eq!(
            due.map(|due| due.as_millisecond() - START),
            self.reference.next_due(),
            "next due"
        );
    }

    async fn enqueue(&mut self, lane: usize, parts: u32) {
        let (account, conversation) = LANES[lane];
        let message = self.make.message(&chat(account, conversation), parts);
        let born = self.reference.enqueue(lane, &message, self.now);
        let expected = born
            .map(|part| self.reference.name(part))
            .into_iter()
            .collect();
        let claimed = self
            .store
            .enqueue(vec![message], at(self.now))
            .await
            .expect("enqueue");
        self.follow(&claimed, expected);
    }

    async fn claim(&mut self, most: usize) {
        let due = self.reference.all_due(self.now);
        let claimed = self.store.claim(at(self.now), most).await.expect("claim");
        assert_eq!(claimed.len(), due.len().min(most), "{due:?}");
        let names: Vec<_> = claimed
            .iter()
            .map(|part| (part.message, part.part))
            .collect();
        assert!(
            names.iter().all(|name| due.contains(name)),
            "{names:?} of {due:?}"
        );
        self.follow(&claimed, names);
    }

    async fn settle(&mut self, pick: usize, how: How) {
        if self.reference.running.is_empty() {
            return;
        }
        let claimed = self.reference.running[pick % self.reference.running.len()].clone();
        let now = self.now;
        let mut born = None;
        let (end, goes_on) = match how {
            How::Sent => {
                self.delivered
                    .entry(claimed.message)
                    .or_default()
                    .push(claimed.part);
                (sent(&claimed, at(now)), Some(self.reference.sent(&claimed)))
            }
            How::Retry { after, counts } => {
                self.reference.retry(&claimed, now + after, counts);
                (retry(&claimed, at(now), at(now + after), counts), None)
            }
            How::Throttled { after } => {
                self.reference.gated(&claimed, now + after);
                (throttled(&claimed, at(now), at(now + after)), None)
            }
            How::Revoked { after } => {
                self.reference.gated(&claimed, now + after);
                (revoked(&claimed, at(now), at(now + after)), None)
            }
            How::Unknown { after } => {
                self.reference.unknown(&claimed, now + after);
                (unknown(&claimed, at(now), at(now + after)), None)
            }
            How::Dead { whole, notice } => {
                let lane = self.reference.dead(&claimed, whole);
                let notice = notice.map(|to| {
                    let (account, conversation) = LANES[to];
                    let message = self.make.message(&chat(account, conversation), 1);
                    born = self.reference.enqueue(to, &message, now);
                    message
                });
                (dead(&claimed, at(now), whole, notice), Some(lane))
            }
            How::Moved { to } => {
                let from = self.reference.lane(&claimed);
                if from == to || LANES[from].0 != LANES[to].0 {
                    return;
                }
                let (account, conversation) = LANES[to];
                let end = moved(&claimed, at(now), &chat(account, conversation));
                (end, Some(self.reference.redirect(&claimed, to, now)))
            }
        };
        self.over.push(claimed);
        let mut expected: Vec<_> = born.into_iter().collect();
        if let Some(next) = goes_on.and_then(|lane| self.reference.next(lane, now))
            && !expected.contains(&next)
        {
            expected.push(next);
        }
        let expected = expected
            .into_iter()
            .map(|part| self.reference.name(part))
            .collect();
        let next = self.store.settle(end).await.expect("settle");
        self.follow(&next, expected);
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

    /// Lets everything that is open be delivered.
    async fn drain(&mut self) {
        self.now += 1_000;
        loop {
            while !self.reference.running.is_empty() {
                self.settle(0, How::Sent).await;
            }
            if self.reference.next_due().is_none() {
                break;
            }
            self.claim(LANES.len()).await;
        }
        assert_eq!(self.store.next_due().await.expect("due"), None);
        assert!(
            self.store
                .claim(at(self.now), 10)
                .await
                .expect("claim")
                .is_empty()
        );
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
            assert!(matches!(stored.state, PartState::Sent | PartState::Failed));
            assert_eq!(
                (stored.n, stored.state, stored.tries),
                (part.n, part.state, part.tries)
            );
            assert_eq!(stored.may_be_repeat, part.repeat);
            assert_eq!(
                stored.attempts.len(),
                part.attempts as usize,
                "every attempt is there"
            );
            assert_eq!(stored.receipt.is_some(), part.state == PartState::Sent);
        }
        for parts in self.delivered.values() {
            assert!(parts.is_sorted(), "parts of a message came as {parts:?}");
        }
    }
}
