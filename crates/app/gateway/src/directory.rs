//! What intake has to know, from the settings and the web chat's own conversations.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use chat::SenderId;
use intake::Directory;
use policy::Rules;
use session::{Busy, StoreError, VisibleLog};
use settings::{Access, Settings};
use waybill::{AccountId, ChatKey, ProfileId};

use crate::health::home_chat;

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

    fn busy(&self, account: &AccountId) -> Busy {
        match self
            .settings
            .channels
            .get(account)
            .map(|channel| channel.busy)
        {
            Some(settings::Busy::Steer) => Busy::Steer,
            Some(settings::Busy::Interrupt) => Busy::Interrupt,
            Some(settings::Busy::Queue) | None => Busy::Queue,
        }
    }

    async fn route(
        &self,
        chat: &ChatKey,
        former: &[ChatKey],
    ) -> Result<Option<ProfileId>, StoreError> {
        if chat.account != self.web {
            let mut ids = std::iter::once(chat).chain(former);
            let named = ids.find_map(|chat| self.settings.routed(chat));
            return Ok(named.or_else(|| self.settings.profile_for(chat)).cloned());
        }
        let row = self.visible.conversation(&chat.conversation).await?;
        Ok(row.map(|row| row.profile))
    }

    fn names(&self, chat: &ChatKey) -> bool {
        self.settings.names(chat)
    }

    async fn home(
        &self,
        account: &AccountId,
        chat: Option<&ChatKey>,
    ) -> Result<Option<(ProfileId, ChatKey)>, StoreError> {
        // On the page whoever writes is the owner, and reads it where it was written.
        if let Some(chat) = chat.filter(|chat| chat.account == self.web)
            && let Some(profile) = self.route(chat, &[]).await?
        {
            return Ok(Some((profile, chat.clone())));
        }
        let channel = self.settings.channels.get(account);
        let own = channel.map(|channel| &channel.profile);
        // What belongs to no account that is here is told where the owner reads at all.
        let profile = own.or_else(|| self.settings.profiles.keys().next());
        Ok(profile.and_then(|profile| Some((profile.clone(), home_chat(&self.web, profile)?))))
    }

    fn about(&self, profile: &ProfileId) -> String {
        self.about
            .get(profile)
            .cloned()
            .unwrap_or_else(|| "It is not configured.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use settings::{Environment, Home};
    use testkit::visible::MemoryVisible;
    use waybill::Conversation;

    use super::*;

    struct Bare;

    impl Environment for Bare {
        fn get(&self, _name: &str) -> Option<String> {
            None
        }
    }

    #[tokio::test]
    async fn a_store_that_fails_is_not_a_conversation_without_a_profile() {
        let folder = tempfile::tempdir().unwrap();
        let loaded = settings::read("", &Home::at(folder.path()).unwrap(), &Bare);
        let settings = Arc::new(loaded.settings().unwrap().clone());
        let web = AccountId::parse("web").unwrap();
        let visible = Arc::new(MemoryVisible::default());
        let routes = Routes::new(settings, web.clone(), visible.clone(), HashMap::new());
        let chat = ChatKey::new(web, Conversation::new("c1").unwrap());
        assert!(matches!(routes.route(&chat, &[]).await, Ok(None)));
        visible.break_down(true);
        assert!(routes.route(&chat, &[]).await.is_err());
    }

    #[tokio::test]
    async fn what_nobody_owns_is_told_to_the_first_profile() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[profiles.b]\nmodel = \"demo\"\n[profiles.a]\nmodel = \"demo\"\n";
        let loaded = settings::read(text, &Home::at(folder.path()).unwrap(), &Bare);
        let settings = Arc::new(loaded.settings().unwrap().clone());
        let first = settings.profiles.keys().next().cloned().unwrap();
        let web = AccountId::parse("web").unwrap();
        let visible = Arc::new(MemoryVisible::default());
        let routes = Routes::new(settings, web.clone(), visible, HashMap::new());
        let home = home_chat(&web, &first).unwrap();
        let told = Some((first, home));
        let gone = AccountId::parse("gone").unwrap();
        assert_eq!(routes.home(&gone, None).await.unwrap(), told);
        assert_eq!(routes.home(&web, None).await.unwrap(), told);
    }
}
