//! Finding again what was said in earlier conversations.

use async_trait::async_trait;
use waybill::{ProfileId, SessionId, SessionKey, Timestamp, TurnId};

/// Where may be looked. There is no search over profiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Within {
    /// In everything that people said to a profile, and it to them: for its owner alone.
    Profile(ProfileId),
    /// In one chat of a profile, all stretches of it: for whoever shares a chat.
    Chat(ProfileId, SessionKey),
}

impl Within {
    /// The profile.
    #[must_use]
    pub fn profile(&self) -> &ProfileId {
        match self {
            Self::Profile(profile) | Self::Chat(profile, _) => profile,
        }
    }
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// A person.
    Person,
    /// The agent.
    Agent,
}

/// A message of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Its number, by which one can read on around it.
    pub id: i64,
    /// The conversation.
    pub key: SessionKey,
    /// The stretch of it.
    pub session: SessionId,
    /// Who said it.
    pub said: Said,
    /// What was said, whole.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recalled {
    /// The best first, one for each stretch of a conversation.
    pub passages: Vec<Passage>,
    /// Messages that were not looked at: the index does not have them yet.
    pub behind: u64,
}

/// Why nothing was looked up. The text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecallError {
    /// Nothing in the query can be searched for.
    #[error("there is no word in the query to search for")]
    NoWords,
    /// There is no such message where this conversation may look.
    #[error("there is no message #{0} that can be read from here")]
    NoPassage(i64),
    /// The index can't be used now; it is made anew by itself.
    #[error("earlier conversations can't be searched just now: {0}; try again in a minute")]
    Away(String),
}

/// Earlier conversations. Runs of jobs and delegated tasks are no conversations and are never found.
#[async_trait]
pub trait Recall: Send + Sync {
    /// Messages that hold the words of the query; quoted words must stand together. What the turn `but` said and heard is left
    /// out. At most `most`.
    ///
    /// # Errors
    /// [`RecallError`].
    async fn search(
        &self,
        within: &Within,
        but: TurnId,
        query: &str,
        most: usize,
    ) -> Result<Recalled, RecallError>;

    /// A message with up to `span` before and after it in its stretch, in order.
    ///
    /// # Errors
    /// [`RecallError`].
    async fn around(
        &self,
        within: &Within,
        id: i64,
        span: usize,
    ) -> Result<Vec<Passage>, RecallError>;
}
