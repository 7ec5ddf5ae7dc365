//! The one door out, as the rest of the house sees it.

use std::sync::Arc;

use chat::{Activity, Descriptor, Fault, Preview};
use waybill::{AccountId, ChatKey, ProfileId};

use crate::Claimed;

/// Told how an account fares, by whoever hears or speaks on it: for each sign, not for each change.
pub type HealthSink = Arc<dyn Fn(&AccountId, Result<(), Fault>) + Send + Sync>;

/// How many attempts of an account ended so since the gateway started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tallied {
    /// The account.
    pub account: AccountId,
    /// `sent`, `step`, `crashed`, or a fault's kind ([`chat::FaultKind::name`]).
    pub outcome: &'static str,
    /// How many.
    pub count: u64,
}

/// Counts attempts, for metrics.
pub trait Tally: Send + Sync {
    /// All counts that are not 0, sorted by account and outcome.
    fn counts(&self) -> Vec<Tallied>;
}

/// Where the owner of a profile reads what can't be told elsewhere; none if there is no such place.
pub type HomeChat = Arc<dyn Fn(&ProfileId) -> Option<ChatKey> + Send + Sync>;

/// Hands to the courier what was claimed at birth, and what is shown while a turn runs. Nothing here waits.
pub trait Outlet: Send + Sync {
    /// What the account's channel can do; `None` for an account that is not configured now.
    fn descriptor(&self, account: &AccountId) -> Option<Descriptor>;

    /// Carries parts that were claimed as they were stored.
    fn carry(&self, claimed: Vec<Claimed>);

    /// Shows an answer that grows. Best effort, newest wins.
    fn preview(&self, chat: &ChatKey, preview: Preview);

    /// Shows what the agent is doing. Best effort.
    fn activity(&self, chat: &ChatKey, activity: Activity);
}
