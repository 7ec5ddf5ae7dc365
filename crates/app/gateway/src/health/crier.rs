//! Puts a word for the owner into the outbox: a notice in a conversation of the web chat.

use std::sync::Arc;

use outbox::{Draft, Envelope, MessageKind, OutboxStore, Outlet, StoreError, compose};
use session::{ConversationRow, VisibleLog};
use waybill::{AccountId, Clock, Ids, MessageId, ProfileId, ProfileScope, Waybill};

use super::home_chat;

/// A word to an owner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<'a> {
    /// What has this source already is not told again.
    pub(crate) source: &'a str,
    pub(crate) sentence: &'a str,
    /// Of words with this name that were not shown yet the newest alone is shown.
    pub(crate) replaces: Option<&'a str>,
}

/// Tells owners.
pub(crate) struct Crier {
    pub(crate) install: String,
    pub(crate) web: AccountId,
    /// The profile whose home is told what concerns no profile.
    pub(crate) first: Option<ProfileId>,
    pub(crate) outbox: Arc<dyn OutboxStore>,
    pub(crate) visible: Arc<dyn VisibleLog>,
    pub(crate) outlet: Arc<dyn Outlet>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
}

impl Crier {
    /// Makes the conversation in which the owner of a profile reads notices.
    pub(crate) async fn open(&self, profile: &ProfileId) -> Result<(), StoreError> {
        let Some(chat) = home_chat(&self.web, profile) else {
            return Ok(());
        };
        let row = ConversationRow {
            conversation: chat.conversation,
            profile: profile.clone(),
            title: "Notices".to_owned(),
            touched_at: self.clock.now(),
        };
        self.visible.open(row).await
    }

    /// Tells what concerns the whole gateway.
    pub(crate) async fn tell_owner(&self, source: &str, sentence: &str) -> Result<(), StoreError> {
        let Some(profile) = &self.first else {
            return Ok(());
        };
        self.open(profile).await?;
        let word = Word {
            source,
            sentence,
            replaces: None,
        };
        self.tell(profile, word).await
    }

    /// Tells the owner of a profile.
    pub(crate) async fn tell(&self, profile: &ProfileId, word: Word<'_>) -> Result<(), StoreError> {
        let (Some(chat), Some(descriptor)) = (
            home_chat(&self.web, profile),
            self.outlet.descriptor(&self.web),
        ) else {
            return Ok(());
        };
        let waybill = Waybill::operator(&ProfileScope::enter(profile.clone()), chat);
        let now = self.clock.now();
        let envelope = Envelope {
            id: MessageId::fresh(self.ids.as_ref()),
            install: &self.install,
            waybill: &waybill,
            kind: MessageKind::Notice,
            source: word.source,
            ordinal: 0,
            descriptor: &descriptor,
            now,
        };
        let mut notice = compose(
            envelope,
            Draft {
                notes: vec![word.sentence.to_owned()],
                ..Draft::default()
            },
        );
        if let Some(notice) = &mut notice {
            notice.replaces = word.replaces.map(str::to_owned);
        }
        let claimed = self
            .outbox
            .enqueue(notice.into_iter().collect(), now)
            .await?;
        self.outlet.carry(claimed);
        Ok(())
    }
}
