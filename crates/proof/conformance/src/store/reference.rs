//! The outbox as a list in memory, written apart from any store: what must happen, step by step.
#![allow(
    clippy::expect_used,
    reason = "a test that can't set up its world should stop"
)]

use std::collections::HashMap;

use outbox::{Claimed, NewMessage, PartState, Verb, Waiting};
use waybill::MessageId;

/// Lanes of the property: three of one account, two of another.
pub(super) const LANES: [(&str, &str); 5] =
    [("a", "1"), ("a", "2"), ("a", "3"), ("b", "1"), ("b", "2")];

/// How long others wait for what a probe of a resting account finds out, in milliseconds.
const PROBE: i64 = 75_000;
/// Notices of a lane that come at once in a stretch, and the stretch in milliseconds (outbox theory A.10).
const AT_ONCE: usize = 3;
const STRETCH: i64 = 300_000;

#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) message: MessageId,
    pub(super) n: u32,
    pub(super) state: PartState,
    pub(super) next_at: i64,
    pub(super) attempts: u32,
    pub(super) tries: u32,
    pub(super) crashes: u32,
    pub(super) rendition: u32,
    pub(super) step: Option<String>,
    pub(super) repeat: bool,
    /// Its refusal let its account rest: the account's first good sign ends its wait.
    rests: bool,
    pub(super) receipt: bool,
    started: i64,
    notice: bool,
    name: Option<&'static str>,
}

#[derive(Debug, Default)]
struct Account {
    throttled: i64,
    /// 0: it does not rest.
    resting: i64,
}

#[derive(Debug, Default)]
struct Noticed {
    since: Option<i64>,
    count: usize,
    /// The first of those that are gathered, and when they go.
    gathered: Option<(NewMessage, usize, i64)>,
}

/// What a claim has to give.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) claimed: usize,
    pub(super) waiting: Waiting,
    /// The accounts' gates when the claim looked at them.
    gates: HashMap<&'static str, i64>,
}

/// A part as it must have been claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    name: (MessageId, u32),
    came_from: PartState,
    attempt: u32,
    tries: u32,
    crashes: u32,
    rendition: u32,
    step: Option<String>,
    repeat: bool,
    chat: (String, String),
}

/// What is expected of the store. Times are milliseconds.
#[derive(Debug, Default)]
pub(super) struct Reference {
    pub(super) parts: Vec<Part>,
    /// Parts of each lane, in the order in which they must be seen.
    order: [Vec<usize>; LANES.len()],
    moved: HashMap<usize, usize>,
    accounts: HashMap<&'static str, Account>,
    noticed: [Noticed; LANES.len()],
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

    /// The head's time, if it waits for one.
    fn ready(&self, lane: usize) -> Option<i64> {
        let part = &self.parts[self.head(lane)?];
        (part.state != PartState::Sending).then_some(part.next_at)
    }

    fn gate(&self, account: &str) -> i64 {
        let account = self.accounts.get(account);
        account.map_or(i64::MIN, |account| account.throttled.max(account.resting))
    }

    fn half_open(&self, account: &str, now: i64) -> bool {
        let account = self.accounts.get(account);
        account.is_some_and(|account| account.resting > 0 && account.resting <= now)
    }

    fn account(&mut self, lane: usize) -> &mut Account {
        self.accounts.entry(LANES[lane].0).or_default()
    }

    /// The head, if it may go now.
    fn due(&self, lane: usize, now: i64) -> Option<usize> {
        self.head(lane).filter(|_part| {
            self.ready(lane).is_some_and(|ready| ready <= now) && self.gate(LANES[lane].0) <= now
        })
    }

    /// What a claim of so many must give; gathered notices take their places first, whatever the limit.
    pub(super) fn claim(&mut self, now: i64, most: usize) -> Expected {
        let born = self.release(now);
        let mut gates = self.gates();
        let (mut early, mut places, mut over) = (0, 0, false);
        for account in ["a", "b"] {
            let lanes = (0..LANES.len()).filter(|lane| LANES[*lane].0 == account);
            let due: Vec<usize> = lanes.filter_map(|lane| self.due(lane, now)).collect();
            let first = due.iter().filter(|part| born.contains(part)).count();
            let half_open = self.half_open(account, now);
            if half_open && first > 0 {
                early += 1;
                gates.insert(account, now + PROBE);
                continue;
            }
            early += first;
            let due = due.len() - first;
            let room = if half_open { most.min(1) } else { most };
            over |= due > room;
            places += due.min(room);
        }
        let left = most.saturating_sub(early);
        let waiting = if over || places > left {
            Waiting::Some
        } else {
            Waiting::None
        };
        Expected {
            claimed: early + places.min(left),
            waiting,
            gates,
        }
    }

    /// When the next claim may find something by the passing of time.
    pub(super) fn next(&self, expected: &Expected, now: i64) -> Option<i64> {
        let lanes = (0..LANES.len()).filter_map(|lane| {
            let ready = self.ready(lane)?;
            match expected.gates.get(LANES[lane].0) {
                Some(gate) if *gate > now => Some(ready.max(*gate)),
                Some(_) | None => (ready > now).then_some(ready),
            }
        });
        let gathered = self.noticed.iter();
        let gathered = gathered.filter_map(|noticed| noticed.gathered.as_ref().map(|one| one.2));
        lanes.chain(gathered).min()
    }

    fn gates(&self) -> HashMap<&'static str, i64> {
        let names = self.accounts.keys();
        names.map(|name| (*name, self.gate(name))).collect()
    }

    fn find(&self, claimed: &Claimed) -> usize {
        let same = |part: &Part| part.message == claimed.message && part.n == claimed.part;
        self.parts
            .iter()
            .position(same)
            .expect("a part that was stored")
    }

    /// A part is claimed.
    pub(super) fn take(&mut self, index: usize, now: i64) -> Taken {
        let lane = self.lane_of(index);
        assert_eq!(
            self.due(lane, now),
            Some(index),
            "only a due head is claimed, and one a lane"
        );
        if self.half_open(LANES[lane].0, now) {
            self.account(lane).resting = now + PROBE;
        }
        let part = &mut self.parts[index];
        let came_from = part.state;
        part.state = PartState::Sending;
        part.started = now;
        part.attempts += 1;
        part.tries += 1;
        let (account, conversation) = LANES[lane];
        Taken {
            name: (part.message, part.n),
            came_from,
            attempt: part.attempts,
            tries: part.tries,
            crashes: part.crashes,
            rendition: part.rendition,
            step: part.step.clone(),
            repeat: part.repeat,
            chat: (account.to_owned(), conversation.to_owned()),
        }
    }

    /// What a claim gave, in the store's order.
    pub(super) fn follow(&mut self, claimed: &Claimed, now: i64) {
        let index = self.find(claimed);
        let taken = self.take(index, now);
        self.check(&taken, claimed);
    }

    /// The claim is the one that was expected.
    pub(super) fn check(&mut self, taken: &Taken, claimed: &Claimed) {
        let chat = claimed.waybill.chat();
        let found = Taken {
            name: (claimed.message, claimed.part),
            came_from: claimed.came_from,
            attempt: claimed.attempt,
            tries: claimed.tries,
            crashes: claimed.crashes,
            rendition: claimed.rendition,
            step: claimed.step.as_ref().map(|step| step.as_str().to_owned()),
            repeat: claimed.may_be_repeat,
            chat: (
                chat.account.as_str().to_owned(),
                chat.conversation.as_str().to_owned(),
            ),
        };
        assert_eq!(*taken, found);
        self.running.push(claimed.clone());
    }

    fn follow_moves(&self, mut lane: usize) -> usize {
        while let Some(next) = self.moved.get(&lane) {
            lane = *next;
        }
        lane
    }

    /// Stores a message; what must be claimed at birth.
    pub(super) fn enqueue(
        &mut self,
        lane: usize,
        message: &NewMessage,
        name: Option<&'static str>,
        now: i64,
    ) -> Option<usize> {
        let lane = self.follow_moves(lane);
        if name.is_some() {
            for part in self.order[lane].clone() {
                let part = &mut self.parts[part];
                let waits = matches!(part.state, PartState::Queued | PartState::Retry);
                if part.name == name && waits && !part.repeat && part.step.is_none() {
                    part.state = PartState::Superseded;
                }
            }
        }
        self.put(lane, message, name, now, false)
    }

    fn put(
        &mut self,
        lane: usize,
        message: &NewMessage,
        name: Option<&'static str>,
        now: i64,
        notice: bool,
    ) -> Option<usize> {
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
                crashes: 0,
                rendition: 0,
                step: None,
                repeat: false,
                rests: false,
                receipt: false,
                started: 0,
                notice,
                name,
            });
        }
        if idle { self.due(lane, now) } else { None }
    }

    /// A notice: joins one that waits, is gathered, or goes alone.
    pub(super) fn tell(&mut self, lane: usize, message: &NewMessage, now: i64) -> Option<usize> {
        let lane = self.follow_moves(lane);
        let waits = |part: &usize| {
            let part = &self.parts[*part];
            part.notice && part.state == PartState::Queued && part.attempts == 0
        };
        if self.order[lane].iter().any(waits) {
            return None;
        }
        let noticed = &mut self.noticed[lane];
        let fresh = noticed.since.is_none_or(|since| since + STRETCH <= now);
        if fresh {
            noticed.since = Some(now);
            noticed.count = 0;
        }
        if noticed.count < AT_ONCE {
            noticed.count += 1;
            return self.put(lane, message, None, now, true);
        }
        let due = noticed.since.unwrap_or(now) + STRETCH;
        match &mut noticed.gathered {
            Some((_, count, _)) => *count += 1,
            None => noticed.gathered = Some((message.clone(), 1, due)),
        }
        None
    }

    /// Gathered notices whose time has come; those that may go at once.
    fn release(&mut self, now: i64) -> Vec<usize> {
        let mut born = Vec::new();
        for lane in 0..LANES.len() {
            match self.noticed[lane].gathered.take() {
                Some((message, _, due)) if due <= now => {
                    self.noticed[lane].since = Some(now);
                    self.noticed[lane].count = 1;
                    let target = self.follow_moves(lane);
                    born.extend(self.put(target, &message, None, now, true));
                }
                other => self.noticed[lane].gathered = other,
            }
        }
        born
    }

    /// Takes a running attempt out, for its end.
    fn end(&mut self, claimed: &Claimed, state: PartState) -> (usize, usize) {
        self.running.retain(|other| other != claimed);
        let part = self.find(claimed);
        self.parts[part].state = state;
        self.parts[part].rests = false;
        (part, self.lane_of(part))
    }

    /// The platform answered: the account's rest is over, and that of the parts which began it.
    pub(super) fn answered(&mut self, lane: usize) {
        if self.account(lane).resting == 0 {
            return;
        }
        self.account(lane).resting = 0;
        let account = LANES[lane].0;
        for lane in (0..LANES.len()).filter(|lane| LANES[*lane].0 == account) {
            if self.ready(lane).is_none() {
                continue;
            }
            for part in self.order[lane].clone() {
                let part = &mut self.parts[part];
                if part.rests && part.state == PartState::Retry {
                    part.next_at = i64::MIN;
                }
            }
        }
    }

    /// The attempt said nothing about an account that rests: the next probe goes then.
    pub(super) fn probed(&mut self, lane: usize, next: i64) {
        let account = self.account(lane);
        if account.resting > 0 {
            account.resting = next;
        }
    }

    pub(super) fn sent(&mut self, claimed: &Claimed) -> usize {
        let (part, lane) = self.end(claimed, PartState::Sent);
        self.parts[part].receipt = true;
        lane
    }

    pub(super) fn stepped(&mut self, claimed: &Claimed, step: &str, now: i64) -> usize {
        let (part, lane) = self.end(claimed, PartState::Queued);
        let part = &mut self.parts[part];
        part.next_at = now;
        part.tries = part.tries.saturating_sub(1);
        part.step = Some(step.to_owned());
        lane
    }

    pub(super) fn plainer(&mut self, claimed: &Claimed, now: i64) -> usize {
        let (part, lane) = self.end(claimed, PartState::Queued);
        let part = &mut self.parts[part];
        part.next_at = now;
        part.rendition += 1;
        part.step = None;
        lane
    }

    pub(super) fn retry(&mut self, claimed: &Claimed, next_at: i64, counts: bool) -> usize {
        let (part, lane) = self.end(claimed, PartState::Retry);
        self.parts[part].next_at = next_at;
        self.parts[part].tries -= u32::from(!counts);
        lane
    }

    pub(super) fn throttled(&mut self, claimed: &Claimed, until: i64) -> usize {
        let lane = self.retry(claimed, until, false);
        let account = self.account(lane);
        account.throttled = until.max(account.throttled);
        lane
    }

    pub(super) fn resting(&mut self, claimed: &Claimed, until: i64) {
        let lane = self.retry(claimed, until, false);
        let part = self.find(claimed);
        self.parts[part].rests = true;
        self.account(lane).resting = until;
    }

    pub(super) fn unknown(&mut self, claimed: &Claimed, settled: i64, crashes: u32) {
        let (part, _) = self.end(claimed, PartState::Unknown);
        let part = &mut self.parts[part];
        part.next_at = settled;
        part.repeat = true;
        part.crashes += crashes;
    }

    pub(super) fn held(&mut self, claimed: &Claimed) -> usize {
        self.end(claimed, PartState::Held).1
    }

    pub(super) fn dead(&mut self, claimed: &Claimed) -> usize {
        self.end(claimed, PartState::Failed).1
    }

    pub(super) fn close(&mut self, lane: usize) {
        for part in self.order[lane].clone() {
            if self.parts[part].state.blocks_lane() {
                self.parts[part].state = PartState::Failed;
            }
        }
    }

    pub(super) fn redirect(&mut self, claimed: &Claimed, to: usize, now: i64) -> usize {
        let (part, lane) = self.end(claimed, PartState::Queued);
        self.parts[part].next_at = now;
        self.parts[part].step = None;
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

    /// What the owner wants; whether it can be done.
    pub(super) fn act(&mut self, part: usize, verb: Verb, now: i64) -> Option<PartState> {
        let stood = self.parts[part].state;
        let state = verb.applied(stood)?;
        if state == PartState::Queued && !stood.blocks_lane() {
            let here = self.lane_of(part);
            let target = self.follow_moves(here);
            self.order[here].retain(|other| *other != part);
            self.order[target].push(part);
            self.parts[part].step = None;
        }
        let part = &mut self.parts[part];
        part.state = state;
        if matches!(state, PartState::Queued | PartState::Unknown) {
            part.tries = 0;
            part.crashes = 0;
        }
        if state == PartState::Queued {
            part.next_at = now;
        }
        Some(state)
    }

    /// What the same transaction must claim once a lane may go on.
    pub(super) fn goes_on(&self, lane: usize, now: i64) -> Option<usize> {
        self.due(lane, now)
    }

    pub(super) fn lane(&self, claimed: &Claimed) -> usize {
        self.lane_of(self.find(claimed))
    }

    /// `settle`: how long each account's platform may still be at work, in milliseconds.
    pub(super) fn restart(&mut self, now: i64, settle: &HashMap<&'static str, i64>) -> usize {
        let running = std::mem::take(&mut self.running);
        for claimed in &running {
            let lane = self.lane(claimed);
            let wait = settle.get(LANES[lane].0).copied().unwrap_or(0);
            let part = self.find(claimed);
            let part = &mut self.parts[part];
            part.state = PartState::Unknown;
            part.next_at = now.max(part.started + wait);
            part.repeat = true;
        }
        running.len()
    }
}
