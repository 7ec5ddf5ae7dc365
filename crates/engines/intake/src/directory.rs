//! What intake has to know of the configuration.

use async_trait::async_trait;
use policy::Rules;
use session::StoreError;
use waybill::{AccountId, ChatKey, ProfileId};

/// Who may talk on an account, and which profile answers in a chat.
#[async_trait]
pub trait Directory: Send + Sync {
    /// The account's rules; none for an account that is not configured.
    fn rules(&self, account: &AccountId) -> Option<&Rules>;

    /// The profile that answers in a chat; none if no route names one.
    ///
    /// # Errors
    /// [`StoreError`] if that can't be read now; the event is looked at again later.
    async fn route(&self, chat: &ChatKey) -> Result<Option<ProfileId>, StoreError>;

    /// A line about a profile for `/status`: its model and sandbox.
    fn about(&self, profile: &ProfileId) -> String;
}
