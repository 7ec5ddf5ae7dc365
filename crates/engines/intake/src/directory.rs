//! What intake has to know of the configuration.

use async_trait::async_trait;
use policy::Rules;
use session::{Busy, StoreError};
use waybill::{AccountId, ChatKey, ProfileId};

/// A skill, as a person calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillCommand {
    /// The command, without the slash.
    pub command: String,
    /// What it is for.
    pub description: String,
}

/// Who may talk on an account, and which profile answers in a chat.
#[async_trait]
pub trait Directory: Send + Sync {
    /// The account's rules; none for an account that is not configured.
    fn rules(&self, account: &AccountId) -> Option<&Rules>;

    /// What a message of the account does while a turn runs.
    fn busy(&self, account: &AccountId) -> Busy;

    /// The profile that answers in a chat; none if no route names one. What is said of an id that the chat had before holds.
    ///
    /// # Errors
    /// [`StoreError`] if that can't be read now; the event is looked at again later.
    async fn route(
        &self,
        chat: &ChatKey,
        former: &[ChatKey],
    ) -> Result<Option<ProfileId>, StoreError>;

    /// Whether the configuration names the conversation by its id.
    fn names(&self, chat: &ChatKey) -> bool;

    /// Where an account's owner reads of what went wrong there, and the profile that tells it; none if there is no profile at all.
    /// `chat` is where it went wrong, if that is known.
    ///
    /// # Errors
    /// [`StoreError`] if that can't be read now.
    async fn home(
        &self,
        account: &AccountId,
        chat: Option<&ChatKey>,
    ) -> Result<Option<(ProfileId, ChatKey)>, StoreError>;

    /// The skills of a profile, each with its command, sorted; empty where there are none.
    async fn skills(&self, _profile: &ProfileId) -> Vec<SkillCommand> {
        Vec::new()
    }

    /// A line about a profile for `/status`: its model and sandbox.
    fn about(&self, profile: &ProfileId) -> String;
}
