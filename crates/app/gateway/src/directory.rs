//! What intake has to know, from the settings and the web chat's own conversations.

use std::collections::HashMap;
use std::sync::Arc;

use agent::Purse;
use async_trait::async_trait;
use chat::SenderId;
use intake::{Directory, SkillCommand};
use policy::{KeyStore, Rules, Slash};
use session::{Busy, StoreError, VisibleLog};
use settings::{Access, Home, Settings};
use waybill::{AccountId, ChatKey, ProfileId};

use crate::health::home_chat;
use crate::knowledge;

/// Rules and routes.
pub(crate) struct Routes {
    settings: Arc<Settings>,
    rules: HashMap<AccountId, Rules>,
    web: AccountId,
    visible: Arc<dyn VisibleLog>,
    about: HashMap<ProfileId, String>,
    programs: Option<(AccountId, Arc<dyn KeyStore>)>,
    purse: Option<Arc<Purse>>,
    home: Option<Home>,
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
            programs: None,
            purse: None,
            home: None,
        }
    }

    /// With the home in which profiles' skills lie, for `/help`.
    pub(crate) fn with_skills_in(mut self, home: Home) -> Self {
        self.home = Some(home);
        self
    }

    /// With what is spent, for `/status`.
    pub(crate) fn with_purse(mut self, purse: Arc<Purse>) -> Self {
        self.purse = Some(purse);
        self
    }

    /// With the account of the API: whoever speaks there holds a key that was checked, and the key names the profile.
    pub(crate) fn with_programs(mut self, api: AccountId, keys: Arc<dyn KeyStore>) -> Self {
        let holder = Rules {
            allow: [SenderId::new(chat_api::HOLDER)].into(),
            slash: Slash::Word,
            ..Rules::default()
        };
        self.rules.insert(api.clone(), holder);
        self.programs = Some((api, keys));
        self
    }

    /// The profile of the key by which a conversation of the API is held; of a revoked one, none.
    async fn keyed(&self, chat: &ChatKey) -> Result<Option<ProfileId>, StoreError> {
        let Some((_, keys)) = self
            .programs
            .as_ref()
            .filter(|(api, _)| *api == chat.account)
        else {
            return Ok(None);
        };
        let Some(client) = chat_api::client_of(&chat.conversation) else {
            return Ok(None);
        };
        let key = keys.key_named(&client).await?;
        Ok(key
            .filter(|key| key.revoked_at.is_none())
            .map(|key| key.profile))
    }
}

pub(crate) fn read(access: &Access) -> Rules {
    Rules {
        owner: access.owner.iter().map(SenderId::new).collect(),
        allow: access.allow.iter().map(SenderId::new).collect(),
        groups: access.groups.allow.iter().cloned().collect(),
        require_mention: access.groups.require_mention,
        slash: Slash::Command,
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
        if let Some(profile) = self.keyed(chat).await? {
            return Ok(Some(profile));
        }
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
        // A program reads no notices: its profile's owner does.
        if let Some(chat) = chat
            && let Some(profile) = self.keyed(chat).await?
        {
            return Ok(home_chat(&self.web, &profile).map(|home| (profile, home)));
        }
        let channel = self.settings.channels.get(account);
        let own = channel.map(|channel| &channel.profile);
        // What belongs to no account that is here is told where the owner reads at all.
        let profile = own.or_else(|| self.settings.profiles.keys().next());
        Ok(profile.and_then(|profile| Some((profile.clone(), home_chat(&self.web, profile)?))))
    }

    async fn skills(&self, profile: &ProfileId) -> Vec<SkillCommand> {
        match &self.home {
            Some(home) => knowledge::commands(home, profile).await,
            None => Vec::new(),
        }
    }

    fn about(&self, profile: &ProfileId) -> String {
        let Some(about) = self.about.get(profile) else {
            return "It is not configured.".to_owned();
        };
        match &self.purse {
            Some(purse) => format!("{about} {}", purse.told(profile)),
            None => about.clone(),
        }
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
