//! The state of every account.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat::{Fault, FaultKind};
use outbox::HealthSink;
use tokio::sync::mpsc;
use waybill::AccountId;

/// An account hears and speaks by ways of their own: that one works says nothing of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The listener's.
    Hears,
    /// The courier's.
    Speaks,
}

/// How an account, or a side of it, fares.
pub(crate) type State = Result<(), Fault>;

/// What follows from a sign of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) account: AccountId,
    /// A side works that did not before, as far as was known: what waits may be tried.
    pub(crate) opens: bool,
    /// How the account as a whole fares now, if that changed.
    pub(crate) state: Option<State>,
}

/// Changes on their way to the herald.
pub(crate) type Changes = mpsc::UnboundedReceiver<Change>;

#[derive(Debug, Default)]
struct Sides {
    hears: Option<State>,
    speaks: Option<State>,
}

impl Sides {
    fn side(&mut self, side: Side) -> &mut Option<State> {
        match side {
            Side::Hears => &mut self.hears,
            Side::Speaks => &mut self.speaks,
        }
    }

    /// The worse of what is known.
    fn worse(&self) -> Option<&State> {
        let known = [&self.hears, &self.speaks].into_iter().flatten();
        // Of two that are as bad as each other the listener's: it is the one that tries all the time.
        known.rev().max_by_key(|state| badness(state))
    }
}

fn badness(state: &State) -> u8 {
    match state {
        Ok(()) => 0,
        // Without its login an account does neither.
        Err(fault) if fault.kind == FaultKind::PermAccount => 2,
        Err(_) => 1,
    }
}

/// Whether it is the same trouble, or none: another wording of it is the same.
fn same(one: &State, other: &State) -> bool {
    match (one, other) {
        (Ok(()), Ok(())) => true,
        (Err(one), Err(other)) => one.kind.name() == other.kind.name(),
        (Ok(()), Err(_)) | (Err(_), Ok(())) => false,
    }
}

/// The state of every account.
#[derive(Clone)]
pub(crate) struct Board {
    accounts: Arc<Mutex<HashMap<AccountId, Sides>>>,
    changes: mpsc::UnboundedSender<Change>,
}

impl Board {
    /// A board that knows nothing yet, and what will change on it.
    pub(crate) fn new() -> (Self, Changes) {
        let (sender, changes) = mpsc::unbounded_channel();
        let board = Self {
            accounts: Arc::default(),
            changes: sender,
        };
        (board, changes)
    }

    fn accounts(&self) -> MutexGuard<'_, HashMap<AccountId, Sides>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How an account fares; nothing before its first sign.
    pub(crate) fn of(&self, account: &AccountId) -> Option<State> {
        self.accounts().get(account)?.worse().cloned()
    }

    /// Where one side tells of each sign. Signs that change nothing cost a look.
    pub(crate) fn sink(&self, side: Side) -> HealthSink {
        let board = self.clone();
        Arc::new(move |account: &AccountId, state: State| board.note(account, side, state))
    }

    fn note(&self, account: &AccountId, side: Side, state: State) {
        let mut accounts = self.accounts();
        let sides = match accounts.get_mut(account) {
            Some(sides) => sides,
            None => accounts.entry(account.clone()).or_default(),
        };
        let known = sides.side(side);
        if known.as_ref().is_some_and(|known| same(known, &state)) {
            return;
        }
        let opens = state.is_ok();
        let before = sides.worse().cloned();
        *sides.side(side) = Some(state);
        let now = sides.worse().cloned();
        let changed = match (&before, &now) {
            (Some(before), Some(now)) => !same(before, now),
            (None, None) => false,
            (Some(_), None) | (None, Some(_)) => true,
        };
        let change = Change {
            account: account.clone(),
            opens,
            state: now.filter(|_| changed),
        };
        if (change.opens || change.state.is_some()) && self.changes.send(change).is_err() {
            tracing::debug!(%account, "an account changed while the gateway stops");
        }
    }
}
