//! What people see in a chat that we show ourselves: the web chat's own "platform".
//!
//! On other channels the platform keeps what is visible; here we do. Each entry has the idempotency key of the part that
//! made it, so that a repeat is refused and nothing shows twice.

use async_trait::async_trait;
use chat::{IdempotencyKey, Op, Receipt};
use sandbox::ArtifactRef;
use serde::{Deserialize, Serialize};
use waybill::{Conversation, ProfileId, Timestamp};

use crate::StoreError;

/// Who an entry is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VisibleAuthor {
    /// The person.
    Person,
    /// The agent, or the gateway itself.
    Agent,
}

/// What an entry shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "an entry is moved a few times; a box would lengthen every match on it"
)]
pub enum VisibleContent {
    /// What the person wrote, with files.
    Said {
        /// Plain text.
        text: String,
        /// Files.
        files: Vec<ArtifactRef>,
    },
    /// A delivered part.
    Part {
        /// What it shows.
        op: Op,
        /// Whether a mark says that it may be a repeat.
        may_be_repeat: bool,
    },
}

/// An entry to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVisible {
    /// Where.
    pub conversation: Conversation,
    /// Who.
    pub author: VisibleAuthor,
    /// What.
    pub content: VisibleContent,
    /// The key that a repeat of the same entry has too.
    pub key: IdempotencyKey,
    /// When.
    pub at: Timestamp,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visible {
    /// Its place; grows in order.
    pub id: i64,
    /// Who.
    pub author: VisibleAuthor,
    /// What.
    pub content: VisibleContent,
    /// When.
    pub at: Timestamp,
}

/// A conversation of the web chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationRow {
    /// Its id.
    pub conversation: Conversation,
    /// The profile that answers here; fixed when it is made.
    pub profile: ProfileId,
    /// A line to know it by: the first words.
    pub title: String,
    /// When something last happened.
    pub touched_at: Timestamp,
}

/// What is visible in the web chat, at rest.
#[async_trait]
pub trait VisibleLog: Send + Sync {
    /// Makes a conversation; one that is there already stays as it is.
    async fn open(&self, row: ConversationRow) -> Result<(), StoreError>;

    /// Finds a conversation.
    async fn conversation(&self, id: &Conversation) -> Result<Option<ConversationRow>, StoreError>;

    /// All conversations, the latest first, at most `most`.
    async fn conversations(&self, most: usize) -> Result<Vec<ConversationRow>, StoreError>;

    /// Adds an entry and touches its conversation, giving it a title if it had none. `Err(receipt)` inside means: an entry
    /// with this key is there already, as that one.
    async fn add(&self, entry: NewVisible) -> Result<Result<Visible, Receipt>, StoreError>;

    /// Entries after `after` (0 for all), oldest first, the last `most` of them.
    async fn entries(
        &self,
        conversation: &Conversation,
        after: i64,
        most: usize,
    ) -> Result<Vec<Visible>, StoreError>;
}
