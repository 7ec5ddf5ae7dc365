//! What profiles remember, what they can read up, and to whom they may send.

use std::sync::Arc;

use agent::Knowledge;
use async_trait::async_trait;
use intake::SkillCommand;
use profile_files::{Notes, SkillFolder};
use session::{Contact, ContactStore as _, SessionStore as _, StoreError, VisibleLog as _};
use settings::{Home, Settings};
use skills::Shelf as _;
use store_sqlite::Store;
use waybill::{AccountId, ProfileId};

use crate::doctor::{Check, Verdict};

/// Chats of one profile that are looked at.
const MOST_CHATS: usize = 200;

/// A profile's own folders.
pub(crate) fn of(home: &Home, profile: &ProfileId) -> Knowledge {
    Knowledge {
        notes: Arc::new(Notes::at(home.profile(profile).join("memory"))),
        skills: Arc::new(shelf(home, profile)),
    }
}

fn shelf(home: &Home, profile: &ProfileId) -> SkillFolder {
    SkillFolder::at(home.profile(profile).join("skills"))
}

/// What of the skills can't be used, each with what it is called on the page.
pub(crate) async fn broken(home: &Home, settings: &Settings) -> Vec<(String, String)> {
    let mut told = Vec::new();
    for profile in settings.profiles.keys() {
        match shelf(home, profile).all().await {
            Ok(shelved) => {
                for broken in shelved.broken {
                    tracing::warn!(%profile, skill = broken.folder, fault = %broken.fault, "a skill can't be used");
                    told.push((
                        format!("skill {} of {profile}", broken.folder),
                        broken.fault.to_string(),
                    ));
                }
            }
            Err(error) => {
                tracing::error!(%profile, %error, "the skills can't be read");
                told.push((format!("skills of {profile}"), error.to_string()));
            }
        }
    }
    told
}

/// The skills of a profile as commands.
pub(crate) async fn commands(home: &Home, profile: &ProfileId) -> Vec<SkillCommand> {
    let shelved = match shelf(home, profile).all().await {
        Ok(shelved) => shelved,
        Err(error) => {
            tracing::error!(%profile, %error, "the skills can't be read");
            return Vec::new();
        }
    };
    let taken = |name: &str| policy::find(&format!("/{name}")).is_some();
    let skills = shelved.skills.into_iter();
    skills
        .map(|skill| SkillCommand {
            command: skills::command(&skill.name, taken),
            description: skill.description,
        })
        .collect()
}

/// Looks at a profile's skills, where it has any.
pub(crate) async fn examine(home: &Home, profile: &ProfileId) -> Option<Check> {
    let shelved = match shelf(home, profile).all().await {
        Ok(shelved) => shelved,
        Err(error) => return Some(Check::bad("skills", error.to_string())),
    };
    let (works, broken) = (shelved.skills.len(), shelved.broken.len());
    if works + broken + shelved.left_out == 0 {
        return None;
    }
    let mut text = format!("{works} can be used");
    for one in &shelved.broken {
        text.push_str(&format!("; {one}"));
    }
    if shelved.left_out > 0 {
        text.push_str(&format!(
            "; {} folders were not looked at: there are too many",
            shelved.left_out
        ));
    }
    let verdict = if broken + shelved.left_out == 0 {
        Verdict::Good
    } else {
        Verdict::Warning
    };
    Some(Check::new("skills", verdict, text))
}

/// Chats that a profile may send to: those in which people talk with it now.
pub(crate) struct Chats {
    pub(crate) store: Store,
    pub(crate) settings: Arc<Settings>,
    /// The web chat's account.
    pub(crate) web: AccountId,
}

impl Chats {
    /// Whether the chat is the profile's by a route that holds. Programs are no chats: nobody reads there.
    async fn holds(&self, profile: &ProfileId, contact: &Contact) -> Result<bool, StoreError> {
        let chat = &contact.chat;
        if chat.account == self.web {
            let row = self.store.conversation(&chat.conversation).await?;
            return Ok(row.is_some_and(|row| row.profile == *profile));
        }
        if !self.settings.channels.contains_key(&chat.account) {
            return Ok(false);
        }
        let former = self.store.former(chat).await?;
        let mut ids = std::iter::once(chat).chain(&former);
        let named = ids.find_map(|chat| self.settings.routed(chat));
        Ok(named.or_else(|| self.settings.profile_for(chat)) == Some(profile))
    }
}

#[async_trait]
impl agent::Contacts for Chats {
    async fn of(&self, profile: &ProfileId) -> Result<Vec<Contact>, StoreError> {
        let mut contacts = Vec::new();
        for contact in self.store.contacts(profile, MOST_CHATS).await? {
            if self.holds(profile, &contact).await? {
                contacts.push(contact);
            }
        }
        Ok(contacts)
    }
}
