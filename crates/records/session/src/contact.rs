//! Chats that a profile knows.

use async_trait::async_trait;
use waybill::{ChatKey, ProfileId, Timestamp};

use crate::StoreError;

/// A chat in which people talked with a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// Where.
    pub chat: ChatKey,
    /// Who wrote there last, or what the chat is called; data of whoever chose it, never used to decide.
    pub name: Option<String>,
    /// When its stretch that runs began.
    pub since: Timestamp,
}

/// Chats at rest.
#[async_trait]
pub trait ContactStore: Send + Sync {
    /// Chats of a profile with a stretch that runs, the latest first, at most `most`.
    async fn contacts(&self, profile: &ProfileId, most: usize) -> Result<Vec<Contact>, StoreError>;
}
