//! How fast each account speaks: every attempt passes here, asked by the store before it is `sending`.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat::{FaultKind, Rates, Readers};
use outbox::{Pace, Pass, Tallied, Tally, Turnstile};
use waybill::{AccountId, ChatKey, Timestamp};

use crate::pump::Channels;

/// Every account's pace, and how its attempts ended.
pub(crate) struct Gates {
    channels: Channels,
    /// Whether what the last run left was taken up: nothing is claimed before, or a live attempt would be called unknown.
    open: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    present: Option<Timestamp>,
    paces: HashMap<AccountId, Pace>,
    ended: BTreeMap<(AccountId, &'static str), u64>,
}

impl Gates {
    pub(crate) fn new(channels: Channels) -> Self {
        Self {
            channels,
            open: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// What the last run left was taken up.
    pub(crate) fn open(&self) {
        self.open.store(true, Ordering::Release);
    }

    /// What the clock says now, be it earlier than before.
    pub(crate) fn tick(&self, now: Timestamp) {
        self.state().present = Some(now);
    }

    /// The time of a claim: a transaction that a full disk held up comes with the time at which it was first tried, and must
    /// not be taken for a clock that was set back.
    fn present(&self, began: Timestamp) -> Timestamp {
        self.state()
            .present
            .map_or(began, |present| present.max(began))
    }

    fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// The place that a claim took; it has to be told how it ended, or is given back.
    pub(crate) fn place(self: &Arc<Self>, account: &AccountId) -> Place {
        Place {
            gates: Arc::clone(self),
            account: account.clone(),
            open: true,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, account: &AccountId, look: impl FnOnce(&mut Pace) -> T) -> T {
        let mut state = self.state();
        if let Some(pace) = state.paces.get_mut(account) {
            return look(pace);
        }
        // An account that is not configured has one attempt at a time: it finds that out.
        let rates = self.channels.get(account).map_or_else(
            || Rates::unlimited(1),
            |adapter| adapter.descriptor().rates.clone(),
        );
        look(
            state
                .paces
                .entry(account.clone())
                .or_insert_with(|| Pace::new(rates)),
        )
    }

    fn readers(&self, chat: &ChatKey) -> Readers {
        self.channels
            .get(&chat.account)
            .map_or(Readers::One, |adapter| adapter.readers(chat))
    }
}

impl Turnstile for Gates {
    fn room(&self, account: &AccountId, began: Timestamp) -> (usize, Option<Timestamp>) {
        if !self.is_open() {
            return (0, None);
        }
        let now = self.present(began);
        self.with(account, |pace| match pace.opens(now) {
            Some(opens) => (0, Some(opens)),
            None => (pace.room(), None),
        })
    }

    fn pass(&self, chat: &ChatKey, began: Timestamp) -> Pass {
        if !self.is_open() {
            return Pass::Full;
        }
        let now = self.present(began);
        let readers = self.readers(chat);
        self.with(&chat.account, |pace| {
            pace.pass(&chat.conversation, readers, now)
        })
    }

    fn undo(&self, chat: &ChatKey) {
        self.with(&chat.account, |pace| pace.undo(&chat.conversation));
    }
}

impl Tally for Gates {
    fn counts(&self) -> Vec<Tallied> {
        let state = self.state();
        let counts = state.ended.iter();
        counts
            .map(|((account, outcome), count)| Tallied {
                account: account.clone(),
                outcome,
                count: *count,
            })
            .collect()
    }
}

/// How an attempt ended, for its account.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ended<'a> {
    /// With a receipt.
    Sent,
    /// With a step.
    Step,
    /// With a fault.
    Fault(&'a FaultKind),
    /// In a crash of our own.
    Crash,
}

/// One attempt's place on the wire; dropped without a word it is given back.
pub(crate) struct Place {
    gates: Arc<Gates>,
    account: AccountId,
    open: bool,
}

impl Place {
    /// Frees the place; returns how many attempts of the account in a row ended before a byte left, this one included.
    pub(crate) fn ended(mut self, how: Ended<'_>) -> u32 {
        self.open = false;
        let (outcome, fault) = match how {
            Ended::Sent => ("sent", None),
            Ended::Step => ("step", None),
            Ended::Fault(kind) => (kind.name(), Some(kind)),
            Ended::Crash => ("crashed", Some(&FaultKind::Unknown)),
        };
        let silent = self.gates.with(&self.account, |pace| pace.ended(fault));
        let mut state = self.gates.state();
        let count = state.ended.entry((self.account.clone(), outcome));
        let count = count.or_default();
        *count = count.saturating_add(1);
        silent
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Without a pace there is no place; and nothing of a channel's is called here, since it may just have panicked.
        if self.open
            && let Some(pace) = self.gates.state().paces.get_mut(&self.account)
        {
            pace.given_back();
        }
    }
}
