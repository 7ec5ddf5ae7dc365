//! Tells the owner how accounts fare: soon of trouble, late of its end, and seldom of what comes and goes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use outbox::OutboxStore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use waybill::{AccountId, ChatKey, Conversation, Ids, ProfileId};

use super::board::{Change, Changes, State};
use super::crier::{Crier, Word};

/// Between two notices of an account's trouble.
const BETWEEN: Duration = Duration::from_secs(5 * 60);
/// How long an account must work before that is told.
const STABLE: Duration = Duration::from_secs(60);

/// Where the owner of a profile reads what can't be told elsewhere: a conversation of the web chat.
pub(crate) fn home_chat(web: &AccountId, profile: &ProfileId) -> Option<ChatKey> {
    let conversation = Conversation::new(format!("notices-{profile}")).ok()?;
    Some(ChatKey::new(web.clone(), conversation))
}

/// Tells the owner of changes.
pub(crate) struct Herald {
    /// Each account's own profile: its owner is told.
    pub(crate) profiles: HashMap<AccountId, ProfileId>,
    /// Every profile: each may have something to be told.
    pub(crate) homes: BTreeSet<ProfileId>,
    pub(crate) outbox: Arc<dyn OutboxStore>,
    pub(crate) crier: Arc<Crier>,
    pub(crate) ids: Arc<dyn Ids>,
}

/// How an account fares, and what its owner believes.
struct Noted {
    state: State,
    since: Instant,
    /// The kind of trouble that was told last, until its end was told.
    believed: Option<&'static str>,
    trouble_told_at: Option<Instant>,
}

impl Noted {
    fn new(state: State, now: Instant) -> Self {
        Self {
            state,
            since: now,
            believed: None,
            trouble_told_at: None,
        }
    }

    /// When the owner has to be told; never while what is believed is true.
    fn due(&self) -> Option<Instant> {
        match &self.state {
            Ok(()) => self.believed.map(|_trouble| self.since + STABLE),
            Err(fault) if self.believed == Some(fault.kind.name()) => None,
            Err(_) => Some(
                self.trouble_told_at
                    .map_or(self.since, |at| (at + BETWEEN).max(self.since)),
            ),
        }
    }

    /// What the owner is told now, and believes from now on.
    fn tell(&mut self, account: &AccountId, now: Instant) -> String {
        match &self.state {
            Ok(()) => {
                self.believed = None;
                format!("✓ The account `{account}` works again.")
            }
            Err(fault) => {
                self.believed = Some(fault.kind.name());
                self.trouble_told_at = Some(now);
                format!("⚠ The account `{account}` is in trouble: {}", fault.text)
            }
        }
    }
}

/// How the accounts fare.
#[derive(Default)]
struct Ledger(HashMap<AccountId, Noted>);

impl Ledger {
    fn note(&mut self, account: &AccountId, state: State, now: Instant) {
        match &state {
            Err(fault) => {
                tracing::error!(%account, kind = fault.kind.name(), text = %fault.text, "the account is in trouble");
            }
            Ok(())
                if self
                    .0
                    .get(account)
                    .is_some_and(|noted| noted.state.is_err()) =>
            {
                tracing::info!(%account, "the account works again");
            }
            Ok(()) => tracing::info!(%account, "the account works"),
        }
        match self.0.get_mut(account) {
            Some(noted) => {
                noted.state = state;
                noted.since = now;
            }
            None => {
                self.0.insert(account.clone(), Noted::new(state, now));
            }
        }
    }

    fn next_due(&self) -> Option<Instant> {
        self.0.values().filter_map(Noted::due).min()
    }

    /// What is to be told now.
    fn due(&mut self, now: Instant) -> Vec<(AccountId, String)> {
        self.0
            .iter_mut()
            .filter(|(_, noted)| noted.due().is_some_and(|due| due <= now))
            .map(|(account, noted)| (account.clone(), noted.tell(account, now)))
            .collect()
    }
}

impl Herald {
    /// Makes the conversations in which owners read notices.
    pub(crate) async fn prepare(&self) -> Result<(), outbox::StoreError> {
        for profile in &self.homes {
            self.crier.open(profile).await?;
        }
        Ok(())
    }

    /// Tells until it is told to stop.
    pub(crate) async fn run(self, mut changes: Changes, stop: CancellationToken) {
        let mut ledger = Ledger::default();
        loop {
            let due = ledger.next_due();
            let until_due = tokio::time::sleep_until(due.unwrap_or_else(Instant::now));
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                change = changes.recv() => match change {
                    Some(change) => self.changed(&mut ledger, change).await,
                    None => return,
                },
                () = until_due, if due.is_some() => {}
            }
            for (account, sentence) in ledger.due(Instant::now()) {
                self.tell(&account, sentence).await;
            }
        }
    }

    async fn changed(&self, ledger: &mut Ledger, change: Change) {
        let account = change.account;
        if change.opens
            && let Err(error) = self.outbox.open_account(&account).await
        {
            tracing::error!(%account, %error, "the account's parts could not be let go");
        }
        if let Some(state) = change.state {
            ledger.note(&account, state, Instant::now());
        }
    }

    async fn tell(&self, account: &AccountId, sentence: String) {
        let Some(profile) = self.profiles.get(account) else {
            return;
        };
        let name = format!("account:{account}");
        let word = Word {
            source: &format!("{name}:{}", self.ids.uuid().simple()),
            sentence: &sentence,
            replaces: Some(&name),
        };
        if let Err(error) = self.crier.tell(profile, word).await {
            tracing::error!(%account, %error, "a notice to the owner could not be stored");
        }
    }
}
