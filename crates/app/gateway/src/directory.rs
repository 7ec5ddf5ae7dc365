//! What intake has to know, from the settings and the web chat's own conversations.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use chat::SenderId;
use intake::Directory;
use policy::Rules;
use session::VisibleLog;
use settings::{Access, Settings};
use waybill::{AccountId, ChatKey, ProfileId};

/// Rules and routes.
pub(crate) struct Routes {
    settings: Arc<Settings>,
    rules: HashMap<AccountId, Rules>,
    web: AccountId,
    visible: Arc<dyn VisibleLog>,
    about: HashMap<ProfileId, String>,
}

impl Routes {
    pub(crate) fn new(
        settings: Arc<Settings>,
        web: AccountId,
        visible: Arc<dyn VisibleLog>,
        about: HashMap<ProfileId, String>,
    ) -> Self {
        let mut rules: HashMap<AccountId, Rules> = settings
            .channels
            .iter()
            .map(|(name, channel)| (name.clone(), read(&channel.access)))
            .collect();
        // Whoever holds the cookie is the owner; the page lets nobody else in.
        let owner = Rules {
            owner: [SenderId::new(chat_web::OWNER)].into(),
            ..Rules::default()
        };
        rules.insert(web.clone(), owner);
        Self {
            settings,
            rules,
            web,
            visible,
            about,
        }
    }
}

fn read(access: &Access) -> Rules {
    Rules {
        owner: access.owner.iter().map(SenderId::new).collect(),
        allow: access.allow.iter().map(SenderId::new).collect(),
        groups: access.groups.allow.iter().cloned().collect(),
        require_mention: access.groups.require_mention,
    }
}

#[async_trait]
impl Directory for Routes {
    fn rules(&self, account: &AccountId) -> Option<&Rules> {
        self.rules.get(account)
    }

    async fn route(&self, chat: &ChatKey) -> Option<ProfileId> {
        if chat.account != self.web {
            return self.settings.profile_for(chat).cloned();
        }
        match self.visible.conversation(&chat.conversation).await {
            Ok(row) => row.map(|row| row.profile),
            Err(error) => {
                tracing::error!(%error, "a web conversation could not be read");
                None
            }
        }
    }

    fn about(&self, profile: &ProfileId) -> String {
        self.about
            .get(profile)
            .cloned()
            .unwrap_or_else(|| "It is not configured.".to_owned())
    }
}
