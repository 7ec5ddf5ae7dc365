//! How accounts fare: each change is told once, to the log and to the owner.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat::Fault;
use outbox::{Draft, Envelope, HealthSink, MessageKind, OutboxStore, Outlet, compose};
use session::{ConversationRow, VisibleLog};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use waybill::{
    AccountId, ChatKey, Clock, Conversation, Ids, MessageId, ProfileId, ProfileScope, Waybill,
};

/// The state of every account.
#[derive(Clone, Default)]
pub(crate) struct Board {
    states: Arc<Mutex<HashMap<AccountId, Result<(), Fault>>>>,
}

type Change = (AccountId, Result<(), Fault>);

impl Board {
    fn states(&self) -> MutexGuard<'_, HashMap<AccountId, Result<(), Fault>>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of an account; nothing before its first sign.
    pub(crate) fn of(&self, account: &AccountId) -> Option<Result<(), Fault>> {
        self.states().get(account).cloned()
    }

    /// A sink that hands on changes alone: another kind of trouble is a change, another wording is not.
    pub(crate) fn sink(&self) -> (HealthSink, mpsc::UnboundedReceiver<Change>) {
        let (sender, changes) = mpsc::unbounded_channel();
        let board = self.clone();
        let sink: HealthSink = Arc::new(move |account: &AccountId, state: Result<(), Fault>| {
            let mut states = board.states();
            let same = states
                .get(account)
                .is_some_and(|known| match (known, &state) {
                    (Ok(()), Ok(())) => true,
                    (Err(known), Err(fault)) => known.kind == fault.kind,
                    (Ok(()), Err(_)) | (Err(_), Ok(())) => false,
                });
            if same {
                return;
            }
            states.insert(account.clone(), state.clone());
            if sender.send((account.clone(), state)).is_err() {
                tracing::debug!(%account, "an account changed while the gateway stops");
            }
        });
        (sink, changes)
    }
}

/// Where the owner of a profile reads what can't be told elsewhere: a conversation of the web chat.
pub(crate) fn home_chat(web: &AccountId, profile: &ProfileId) -> Option<ChatKey> {
    let conversation = Conversation::new(format!("notices-{profile}")).ok()?;
    Some(ChatKey::new(web.clone(), conversation))
}

/// Tells the owner of changes.
pub(crate) struct Herald {
    pub(crate) install: String,
    pub(crate) web: AccountId,
    pub(crate) profiles: HashMap<AccountId, ProfileId>,
    pub(crate) outbox: Arc<dyn OutboxStore>,
    pub(crate) visible: Arc<dyn VisibleLog>,
    pub(crate) outlet: Arc<dyn Outlet>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
}

impl Herald {
    /// Makes the conversation in which the owner of each profile with an account reads notices.
    pub(crate) async fn prepare(&self) -> Result<(), outbox::StoreError> {
        for profile in self.profiles.values() {
            let Some(chat) = home_chat(&self.web, profile) else {
                continue;
            };
            let row = ConversationRow {
                conversation: chat.conversation,
                profile: profile.clone(),
                title: "Notices".to_owned(),
                touched_at: self.clock.now(),
            };
            self.visible.open(row).await?;
        }
        Ok(())
    }

    /// Tells until it is told to stop.
    pub(crate) async fn run(
        self,
        mut changes: mpsc::UnboundedReceiver<Change>,
        stop: CancellationToken,
    ) {
        let mut troubled: HashMap<AccountId, ()> = HashMap::new();
        loop {
            let (account, state) = tokio::select! {
                () = stop.cancelled() => return,
                change = changes.recv() => match change {
                    Some(change) => change,
                    None => return,
                },
            };
            match state {
                Ok(()) => {
                    if let Err(error) = self.outbox.open_account(&account).await {
                        tracing::error!(%account, %error, "the account's parts could not be let go");
                    }
                    if troubled.remove(&account).is_some() {
                        tracing::info!(%account, "the account works again");
                        self.tell(&account, format!("✓ The account `{account}` works again."))
                            .await;
                    } else {
                        tracing::info!(%account, "the account works");
                    }
                }
                Err(fault) => {
                    tracing::error!(%account, kind = fault.kind.name(), text = %fault.text, "the account is in trouble");
                    troubled.insert(account.clone(), ());
                    self.tell(
                        &account,
                        format!("⚠ The account `{account}` is in trouble: {}", fault.text),
                    )
                    .await;
                }
            }
        }
    }

    async fn tell(&self, account: &AccountId, sentence: String) {
        let Some(profile) = self.profiles.get(account) else {
            return;
        };
        let Some(chat) = home_chat(&self.web, profile) else {
            return;
        };
        let Some(descriptor) = self.outlet.descriptor(&self.web) else {
            return;
        };
        let waybill = Waybill::operator(&ProfileScope::enter(profile.clone()), chat);
        let id = MessageId::fresh(self.ids.as_ref());
        let now = self.clock.now();
        let envelope = Envelope {
            id,
            install: &self.install,
            waybill: &waybill,
            kind: MessageKind::Notice,
            source: &format!("account:{account}:{id}"),
            ordinal: 0,
            descriptor: &descriptor,
            now,
        };
        let notice = compose(
            envelope,
            Draft {
                notes: vec![sentence],
                ..Draft::default()
            },
        );
        match self.outbox.enqueue(notice.into_iter().collect(), now).await {
            Ok(claimed) => self.outlet.carry(claimed),
            Err(error) => {
                tracing::error!(%account, %error, "a notice to the owner could not be stored")
            }
        }
    }
}
