//! Who people are, for the agent's guard: the same lists that let them in.

use std::collections::HashMap;

use chat::SenderId;
use policy::{Rules, Standing};
use settings::Settings;
use waybill::AccountId;

use crate::directory::read;

/// The lists of every account.
pub(crate) struct Known {
    rules: HashMap<AccountId, Rules>,
    web: AccountId,
    api: AccountId,
}

impl Known {
    pub(crate) fn new(settings: &Settings, web: AccountId, api: AccountId) -> Self {
        let channels = settings.channels.iter();
        Self {
            rules: channels
                .map(|(name, channel)| (name.clone(), read(&channel.access)))
                .collect(),
            web,
            api,
        }
    }
}

impl agent::People for Known {
    fn standing(&self, account: &AccountId, sender: &SenderId) -> Standing {
        if *account == self.api {
            return Standing::Program;
        }
        if *account == self.web {
            return if sender.as_str() == chat_web::OWNER {
                Standing::Owner
            } else {
                Standing::Stranger
            };
        }
        match self.rules.get(account) {
            Some(rules) if rules.owner.contains(sender) => Standing::Owner,
            Some(rules) if rules.allow.contains(sender) => Standing::Allowed,
            // Whoever speaks as a group that was let in is somebody of it.
            Some(rules) if rules.groups.contains(sender.as_str()) => Standing::Allowed,
            Some(_) | None => Standing::Stranger,
        }
    }

    fn owners(&self, account: &AccountId) -> Vec<SenderId> {
        if *account == self.web {
            return vec![SenderId::new(chat_web::OWNER)];
        }
        self.rules
            .get(account)
            .map(|rules| rules.owner.iter().cloned().collect())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use agent::People as _;
    use settings::{Environment, Home};

    use super::*;

    struct Tokens;

    impl Environment for Tokens {
        fn get(&self, name: &str) -> Option<String> {
            // Two accounts can't be the same bot.
            Some(format!("{}:x", name.len()))
        }
    }

    #[test]
    fn an_owner_of_one_account_is_nobody_on_another() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[profiles.p]\nmodel = \"demo\"\n\
                    [channels.a]\nkind = \"telegram\"\nprofile = \"p\"\ntoken = \"env:T\"\nowner = [1]\nallow = [2]\n\
                    [channels.b]\nkind = \"telegram\"\nprofile = \"p\"\ntoken = \"env:OTHER\"\nowner = [3]\n";
        let loaded = settings::read(text, &Home::at(folder.path()).unwrap(), &Tokens);
        let name = |name: &str| AccountId::parse(name).unwrap();
        let known = Known::new(loaded.settings().unwrap(), name("web"), name("api"));
        for (account, sender, is) in [
            ("a", "1", Standing::Owner),
            ("a", "2", Standing::Allowed),
            ("a", "3", Standing::Stranger),
            ("b", "1", Standing::Stranger),
            ("gone", "1", Standing::Stranger),
            ("web", "owner", Standing::Owner),
            ("web", "1", Standing::Stranger),
            ("api", "1", Standing::Program),
        ] {
            let sender = SenderId::new(sender);
            assert_eq!(
                known.standing(&name(account), &sender),
                is,
                "{account} {sender:?}"
            );
        }
        assert_eq!(known.owners(&name("b")), [SenderId::new("3")]);
        assert_eq!(known.owners(&name("api")), []);
    }
}
