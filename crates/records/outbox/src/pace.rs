//! How fast an account speaks: sliding windows that a platform publishes, and a number of attempts on the wire that finds
//! itself. Pure; the courier keeps one [`Pace`] for each account.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use chat::{FaultKind, Rate, Rates, Readers, ThrottleScope};
use waybill::{Conversation, Timestamp};

/// Attempts on the wire at once with which an account begins (Postfix: initial destination concurrency 5).
const FIRST_PLACES: usize = 5;
/// Chats whose windows are remembered before those that are open again are forgotten.
const CHATS: usize = 1_024;

/// The times of the last calls: exact, where a leaky bucket would waste what a burst left.
#[derive(Debug, Clone)]
struct Window {
    rate: Rate,
    calls: VecDeque<Timestamp>,
}

impl Window {
    fn new(rate: Rate) -> Self {
        Self {
            rate,
            calls: VecDeque::new(),
        }
    }

    /// When the next call may go; `None`: now. Calls in the future are the sign of a clock that was set back; they count as
    /// now, for good: else the window would stay closed until the clock has caught up.
    fn opens(&mut self, now: Timestamp) -> Option<Timestamp> {
        if self.calls.back().is_some_and(|last| *last > now) {
            for call in &mut self.calls {
                *call = (*call).min(now);
            }
        }
        let most = usize::try_from(self.rate.calls.max(1)).unwrap_or(usize::MAX);
        if self.calls.len() < most {
            return None;
        }
        let opens = later(*self.calls.front()?, self.rate.per);
        (opens > now).then_some(opens)
    }

    fn note(&mut self, now: Timestamp) {
        let most = usize::try_from(self.rate.calls.max(1)).unwrap_or(usize::MAX);
        while self.calls.len() >= most {
            self.calls.pop_front();
        }
        self.calls.push_back(now);
    }

    /// Which of the calls did not happen is not known here; with the oldest gone, what is left is never too early.
    fn unnote(&mut self) {
        self.calls.pop_front();
    }
}

/// Whether an attempt may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// It may; its place and its call are taken.
    Go,
    /// The chat's or the account's window opens then.
    NotBefore(Timestamp),
    /// As many attempts are on the wire as the account bears.
    Full,
}

/// One account's pace.
#[derive(Debug)]
pub struct Pace {
    rates: Rates,
    account: Vec<Window>,
    chats: HashMap<Conversation, Vec<Window>>,
    /// Attempts on the wire.
    flying: usize,
    /// How many there may be; grows by one with each full round of successes, is halved by a sign of trouble.
    places: f64,
    /// Attempts in a row of which no byte left.
    silent: u32,
    /// Attempts in a row that got no answer, or were told to wait.
    troubled: u32,
}

impl Pace {
    /// An account's pace at its start. Windows begin open: what an earlier run said is a restart ago.
    #[must_use]
    pub fn new(rates: Rates) -> Self {
        let most = rates.in_flight.max(1);
        // Without windows there is nobody who could be overrun: all places at once.
        let free = rates.account.is_empty() && rates.direct.is_empty() && rates.group.is_empty();
        let places = if free { most } else { FIRST_PLACES.min(most) };
        Self {
            account: rates.account.iter().copied().map(Window::new).collect(),
            rates,
            chats: HashMap::new(),
            flying: 0,
            places: places as f64,
            silent: 0,
            troubled: 0,
        }
    }

    /// Free places now.
    #[must_use]
    pub fn room(&self) -> usize {
        self.most().saturating_sub(self.flying)
    }

    /// Attempts on the wire now.
    #[must_use]
    pub fn flying(&self) -> usize {
        self.flying
    }

    /// Places there are now: between 1 and [`Rates::in_flight`].
    #[must_use]
    pub fn most(&self) -> usize {
        // Between 1 and `in_flight` by construction: nothing is cut off.
        (self.places as usize).max(1)
    }

    /// When the account's own windows open; `None`: they are open.
    #[must_use]
    pub fn opens(&mut self, now: Timestamp) -> Option<Timestamp> {
        self.account
            .iter_mut()
            .filter_map(|window| window.opens(now))
            .max()
    }

    /// Asks for an attempt to a chat; [`Pass::Go`] takes a place and a call of each window.
    pub fn pass(&mut self, chat: &Conversation, readers: Readers, now: Timestamp) -> Pass {
        if self.room() == 0 {
            return Pass::Full;
        }
        let account = self.opens(now);
        let windows = self.windows(chat, readers, now);
        let opens = windows
            .iter_mut()
            .filter_map(|window| window.opens(now))
            .chain(account)
            .max();
        if let Some(opens) = opens {
            return Pass::NotBefore(opens);
        }
        for window in windows {
            window.note(now);
        }
        for window in &mut self.account {
            window.note(now);
        }
        self.flying += 1;
        Pass::Go
    }

    /// Takes a [`Pass::Go`] back of which nothing came.
    pub fn undo(&mut self, chat: &Conversation) {
        self.flying = self.flying.saturating_sub(1);
        let windows = self.chats.get_mut(chat).into_iter().flatten();
        for window in windows.chain(&mut self.account) {
            window.unnote();
        }
    }

    /// An attempt ended; `None`: with success. Returns how many attempts in a row ended before a byte left, this one included.
    pub fn ended(&mut self, fault: Option<&FaultKind>) -> u32 {
        self.flying = self.flying.saturating_sub(1);
        match fault {
            Some(FaultKind::NotSent) => {
                self.silent = self.silent.saturating_add(1);
                self.troubled = 0;
                self.shrink();
            }
            Some(FaultKind::Throttled {
                scope: ThrottleScope::Account,
                ..
            }) => {
                self.silent = 0;
                self.shrink();
            }
            // One may be its chat's trouble alone; two in a row are the account's.
            Some(FaultKind::Unknown | FaultKind::Throttled { .. }) => {
                self.silent = 0;
                self.troubled = self.troubled.saturating_add(1);
                if self.troubled > 1 {
                    self.shrink();
                }
            }
            // The platform answered in good order.
            None
            | Some(
                FaultKind::TempReject
                | FaultKind::PermItem
                | FaultKind::PermChat
                | FaultKind::PermAccount
                | FaultKind::Moved { .. }
                | FaultKind::Duplicate { .. }
                | FaultKind::NoChange,
            ) => {
                self.silent = 0;
                self.troubled = 0;
                let most = self.rates.in_flight.max(1) as f64;
                self.places = (self.places + 1.0 / self.places).min(most);
            }
        }
        self.silent
    }

    /// An attempt was not made after all: its place is free, its call stays counted.
    pub fn given_back(&mut self) {
        self.flying = self.flying.saturating_sub(1);
    }

    fn shrink(&mut self) {
        self.places = (self.places / 2.0).max(1.0);
    }

    fn windows(
        &mut self,
        chat: &Conversation,
        readers: Readers,
        now: Timestamp,
    ) -> &mut Vec<Window> {
        if self.chats.len() >= CHATS && !self.chats.contains_key(chat) {
            self.chats.retain(|_, windows| {
                windows.iter().any(|window| {
                    window
                        .calls
                        .back()
                        .is_some_and(|last| later(*last, window.rate.per) > now)
                })
            });
        }
        let rates = match readers {
            Readers::One => &self.rates.direct,
            Readers::Several => &self.rates.group,
        };
        self.chats
            .entry(chat.clone())
            .or_insert_with(|| rates.iter().copied().map(Window::new).collect())
    }
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
