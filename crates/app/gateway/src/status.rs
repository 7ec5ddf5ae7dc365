//! What the dashboard and `/ready` show.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use admin::{
    AccountHealth, ChannelStatus, InboxPort, LetGo, Money, MoneyPort, ProfileStatus, Status,
    StatusPort,
};
use agent::Purse;
use async_trait::async_trait;
use session::InboxStore;
use waybill::{AccountId, ProfileId};

use crate::care::Storage;
use crate::health::Board;
use crate::retention::Tallies;

/// The gateway as it stands.
pub(crate) struct Standing {
    pub(crate) ready: Arc<AtomicBool>,
    pub(crate) profiles: Vec<ProfileStatus>,
    pub(crate) channels: Vec<(AccountId, String)>,
    pub(crate) left_out: Vec<ChannelStatus>,
    /// Accounts that could not be built.
    pub(crate) unbuilt: Vec<AccountId>,
    pub(crate) board: Board,
    pub(crate) storage: Storage,
    pub(crate) let_go: Tallies,
    pub(crate) walls: Walls,
}

/// Which walls the sandbox of each profile has, as far as that was looked at. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Walls(Arc<Mutex<BTreeMap<ProfileId, String>>>);

impl Walls {
    pub(crate) fn seen(&self, profile: &ProfileId, sentence: &str) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(profile.clone(), sentence.to_owned());
    }

    fn of(&self, profile: &ProfileId) -> String {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(profile).cloned().unwrap_or_default()
    }
}

impl StatusPort for Standing {
    fn status(&self) -> Status {
        let mut channels = self.left_out.clone();
        for (name, kind) in &self.channels {
            let (ok, text) = match self.board.of(name) {
                None => (true, "connecting".to_owned()),
                Some(Ok(())) => (true, "works".to_owned()),
                Some(Err(fault)) => (false, fault.text),
            };
            channels.push(ChannelStatus {
                name: name.to_string(),
                kind: kind.clone(),
                ok,
                text,
            });
        }
        let troubles = self.storage.troubles();
        channels.extend(troubles.into_iter().map(|(name, text)| ChannelStatus {
            name: name.to_owned(),
            kind: "storage".to_owned(),
            ok: false,
            text,
        }));
        Status {
            ready: self.ready.load(Ordering::Relaxed),
            // The first profile's is what the chat page shows.
            sandbox: self
                .profiles
                .first()
                .map(|profile| self.walls.of(&profile.id))
                .unwrap_or_default(),
            profiles: self
                .profiles
                .iter()
                .map(|profile| ProfileStatus {
                    walls: self.walls.of(&profile.id),
                    ..profile.clone()
                })
                .collect(),
            channels,
        }
    }

    fn accounts(&self) -> Vec<AccountHealth> {
        let built = self.channels.iter().map(|(name, _)| AccountHealth {
            account: name.clone(),
            up: self.board.of(name).is_some_and(|state| state.is_ok()),
        });
        let unbuilt = self.unbuilt.iter().map(|name| AccountHealth {
            account: name.clone(),
            up: false,
        });
        built.chain(unbuilt).collect()
    }

    fn degraded(&self) -> Option<String> {
        self.storage.degraded()
    }

    fn no_files(&self) -> Option<String> {
        self.storage.no_files()
    }

    fn let_go(&self) -> LetGo {
        self.let_go.counts()
    }
}

/// What is spent.
pub(crate) struct Coins(pub(crate) Arc<Purse>);

impl MoneyPort for Coins {
    fn money(&self) -> Vec<Money> {
        let accounts = self.0.accounts().into_iter();
        let money = accounts.map(|account| Money {
            profile: account.profile,
            limits: account.limits,
            day: account.day,
            month: account.month,
            routes: account.routes,
        });
        money.collect()
    }
}

/// What was put aside of what came in.
pub(crate) struct Inbox(pub(crate) Arc<dyn InboxStore>);

#[async_trait]
impl InboxPort for Inbox {
    async fn poisoned(&self) -> Result<u64, session::StoreError> {
        self.0.poisoned().await
    }
}
