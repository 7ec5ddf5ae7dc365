//! The outbox as a list in memory, written apart from any store: what must happen, step by step.
#![allow(
    clippy::expect_used,
    reason = "a test that can't set up its world should stop"
)]

use std::collections::HashMap;

use outbox::{Claimed, NewMessage, PartState};
use waybill::MessageId;

/// Lanes of the property: three of one account, two of another.
pub(super) const LANES: [(&str, &str); 5] =
    [("a", "1"), ("a", "2"), ("a", "3"), ("b", "1"), ("b", "2")];

#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) message: MessageId,
    pub(super) n: u32,
    pub(super) state: PartState,
    pub(super) next_at: i64,
    pub(super) attempts: u32,
    pub(super) tries: u32,
    pub(super) repeat: bool,
}

/// What is expected of the store. Times are milliseconds.
#[derive(Debug, Default)]
pub(super) struct Reference {
    pub(super) parts: Vec<Part>,
    /// Parts of each lane, in the order in which they must be seen.
    order: [Vec<usize>; LANES.len()],
    moved: HashMap<usize, usize>,
    gates: HashMap<&'static str, i64>,
    pub(super) running: Vec<Claimed>,
}

impl Reference {
    fn lane_of(&self, part: usize) -> usize {
        let here = |lane: &Vec<usize>| lane.contains(&part);
        self.order
            .iter()
            .position(here)
            .expect("each part is in a lane")
    }

    fn head(&self, lane: usize) -> Option<usize> {
        self.order[lane]
            .iter()
            .copied()
            .find(|part| self.parts[*part].state.blocks_lane())
    }

    fn gate(&self, lane: usize) -> i64 {
        self.gates.get(LANES[lane].0).copied().unwrap_or(i64::MIN)
    }

    /// The head, if it may go now.
    fn due(&self, lane: usize, now: i64) -> Option<usize> {
        self.head(lane).filter(|part| {
            let part = &self.parts[*part];
            part.state != PartState::Sending && part.next_at <= now && self.gate(lane) <= now
        })
    }

    pub(super) fn all_due(&self, now: i64) -> Vec<(MessageId, u32)> {
        (0..LANES.len())
            .filter_map(|lane| self.due(lane, now))
            .map(|part| self.name(part))
            .collect()
    }

    pub(super) fn next_due(&self) -> Option<i64> {
        (0..LANES.len())
            .filter_map(|lane| {
                let part = &self.parts[self.head(lane)?];
                (part.state != PartState::Sending).then(|| part.next_at.max(self.gate(lane)))
            })
            .min()
    }

    pub(super) fn name(&self, part: usize) -> (MessageId, u32) {
        (self.parts[part].message, self.parts[part].n)
    }

    fn find(&self, claimed: &Claimed) -> usize {
        let same = |part: &Part| part.message == claimed.message && part.n == claimed.part;
        self.parts
            .iter()
            .position(same)
            .expect("a part that was stored")
    }

    /// Checks a claim against what is expected, and follows it.
    pub(super) fn follow(&mut self, claimed: &Claimed, now: i64) {
        let index = self.find(claimed);
        let lane = self.lane_of(index);
        assert_eq!(
            self.due(lane, now),
            Some(index),
            "only a due head is claimed, and one a lane"
        );
        let part = &mut self.parts[index];
        assert_eq!(claimed.came_from, part.state);
        part.state = PartState::Sending;
        part.attempts += 1;
        part.tries += 1;
        assert_eq!(
            (claimed.attempt, claimed.tries),
            (part.attempts, part.tries)
        );
        assert_eq!(claimed.may_be_repeat, part.repeat);
        let chat = claimed.waybill.chat();
        assert_eq!(
            (chat.account.as_str(), chat.conversation.as_str()),
            LANES[lane]
        );
        self.running.push(claimed.clone());
    }

    /// Stores a message; what must be claimed at birth.
    pub(super) fn enqueue(&mut self, lane: usize, message: &NewMessage, now: i64) -> Option<usize> {
        let mut lane = lane;
        while let Some(next) = self.moved.get(&lane) {
            lane = *next;
        }
        let idle = self.head(lane).is_none();
        for n in (1..).take(message.parts.len()) {
            self.order[lane].push(self.parts.len());
            self.parts.push(Part {
                message: message.id,
                n,
                state: PartState::Queued,
                next_at: now,
                attempts: 0,
                tries: 0,
                repeat: false,
            });
        }
        if idle { self.due(lane, now) } else { None }
    }

    /// Takes a running attempt out, for its end.
    fn end(&mut self, claimed: &Claimed, state: PartState) -> (usize, usize) {
        self.running.retain(|other| other != claimed);
        let part = self.find(claimed);
        self.parts[part].state = state;
        (part, self.lane_of(part))
    }

    pub(super) fn sent(&mut self, claimed: &Claimed) -> usize {
        self.end(claimed, PartState::Sent).1
    }

    pub(super) fn retry(&mut self, claimed: &Claimed, next_at: i64, counts: bool) {
        let (part, _) = self.end(claimed, PartState::Retry);
        self.parts[part].next_at = next_at;
        self.parts[part].tries -= u32::from(!counts);
    }

    pub(super) fn gated(&mut self, claimed: &Claimed, until: i64) {
        self.retry(claimed, until, false);
        let lane = self.lane_of(self.find(claimed));
        let gate = self.gates.entry(LANES[lane].0).or_insert(until);
        *gate = until.max(*gate);
    }

    pub(super) fn unknown(&mut self, claimed: &Claimed, settled: i64) {
        let (part, _) = self.end(claimed, PartState::Unknown);
        self.parts[part].next_at = settled;
        self.parts[part].repeat = true;
    }

    pub(super) fn dead(&mut self, claimed: &Claimed, whole: bool) -> usize {
        let (_, lane) = self.end(claimed, PartState::Failed);
        if whole {
            for part in self.order[lane].clone() {
                if self.parts[part].state.blocks_lane() {
                    self.parts[part].state = PartState::Failed;
                }
            }
        }
        lane
    }

    pub(super) fn redirect(&mut self, claimed: &Claimed, to: usize, now: i64) -> usize {
        let (part, lane) = self.end(claimed, PartState::Queued);
        self.parts[part].next_at = now;
        let parts = std::mem::take(&mut self.order[lane]);
        let (moving, staying) = parts
            .into_iter()
            .partition(|part| self.parts[*part].state.blocks_lane());
        self.order[lane] = staying;
        self.order[to].extend::<Vec<usize>>(moving);
        self.moved.remove(&to);
        self.moved.insert(lane, to);
        to
    }

    /// What the same transaction must claim once a lane may go on.
    pub(super) fn next(&self, lane: usize, now: i64) -> Option<usize> {
        self.due(lane, now)
    }

    pub(super) fn lane(&self, claimed: &Claimed) -> usize {
        self.lane_of(self.find(claimed))
    }

    pub(super) fn restart(&mut self, now: i64) -> usize {
        let running = std::mem::take(&mut self.running);
        for claimed in &running {
            let part = self.find(claimed);
            self.parts[part].state = PartState::Unknown;
            self.parts[part].next_at = now;
            self.parts[part].repeat = true;
        }
        running.len()
    }
}
