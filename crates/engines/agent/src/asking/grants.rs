//! What was allowed for longer than one call, and what was refused in a turn.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chat::SenderId;
use policy::{Class, Fingerprint, Labels};
use waybill::{SessionId, TurnId};

/// Most grants, and most refusals, that are kept; older ones are asked for anew.
const KEPT: usize = 512;
/// Most conversations of which it is kept what they have read.
const CONVERSATIONS: usize = 4_096;
/// Refusals in one turn after which nobody is asked in it any more.
const ENOUGH: usize = 3;

/// For how long something is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// As long as the turn.
    Turn(TurnId),
    /// As long as the conversation, which `/new` ends.
    Session(SessionId),
}

/// What a turn wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) class: Class,
    /// Whether text of others and private data had met. What was allowed before they did is not allowed after.
    pub(crate) because: policy::Because,
    /// Whose turn it is.
    pub(crate) people: BTreeSet<SenderId>,
}

struct Grant {
    until: Until,
    class: Class,
    because: policy::Because,
    people: BTreeSet<SenderId>,
}

#[derive(Default)]
struct Inner {
    grants: VecDeque<Grant>,
    refusals: VecDeque<(TurnId, Fingerprint)>,
    /// What conversations have read, for when their transcript does not tell any more.
    read: VecDeque<(SessionId, Labels)>,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Grants(Mutex<Inner>);

impl Grants {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn allow(&self, wanted: Wanted, until: Until) {
        let mut inner = self.inner();
        if inner.grants.len() >= KEPT {
            inner.grants.pop_front();
        }
        inner.grants.push_back(Grant {
            until,
            class: wanted.class,
            because: wanted.because,
            people: wanted.people,
        });
    }

    /// Whether it was allowed before, for these people and knowing at least as much.
    pub(crate) fn allows(&self, wanted: &Wanted) -> bool {
        self.inner().grants.iter().any(|grant| {
            let holds = match grant.until {
                Until::Turn(turn) => turn == wanted.turn,
                Until::Session(session) => session == wanted.session,
            };
            let knew = match (grant.because, wanted.because) {
                (policy::Because::Tainted, _) | (policy::Because::Rule, policy::Because::Rule) => {
                    true
                }
                (policy::Because::Rule, policy::Because::Tainted) => false,
            };
            holds && knew && grant.class == wanted.class && wanted.people.is_subset(&grant.people)
        })
    }

    /// What a conversation has read, all that it had read before included.
    pub(crate) fn read(&self, session: SessionId, labels: Labels) -> Labels {
        let mut inner = self.inner();
        if let Some((_, known)) = inner.read.iter_mut().find(|(of, _)| *of == session) {
            *known = known.with(labels);
            return *known;
        }
        if labels != Labels::NONE {
            if inner.read.len() >= CONVERSATIONS {
                inner.read.pop_front();
            }
            inner.read.push_back((session, labels));
        }
        labels
    }

    pub(crate) fn refuse(&self, turn: TurnId, call: Fingerprint) {
        let mut inner = self.inner();
        if inner.refusals.len() >= KEPT {
            inner.refusals.pop_front();
        }
        inner.refusals.push_back((turn, call));
    }

    /// Why nobody is asked about a call once more in this turn.
    pub(crate) fn not_again(&self, turn: TurnId, call: Fingerprint) -> Option<&'static str> {
        let inner = self.inner();
        let mut refused = inner.refusals.iter().filter(|(of, _)| *of == turn);
        if refused.clone().any(|(_, known)| *known == call) {
            return Some(
                "the person was asked about exactly this in this turn and did not allow it",
            );
        }
        refused.nth(ENOUGH - 1).map(
            |_| "the person did not allow several things in this turn and is not asked again in it",
        )
    }
}
