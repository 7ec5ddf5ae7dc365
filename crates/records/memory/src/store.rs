//! Where notebooks lie.

use async_trait::async_trait;
use chat::SenderId;
use waybill::{AccountId, Timestamp};

use crate::{Change, Former, Notebook, Refused};

/// Whose notebook.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Whose {
    /// The profile's own: what everybody who talks with it may hear.
    Profile,
    /// A person's, by the platform's immutable id: nobody else's turn reads it.
    Person {
        /// The login that hears the person.
        account: AccountId,
        /// The person.
        sender: SenderId,
    },
}

impl Whose {
    /// Most characters of a person's notebook: some 500 tokens.
    pub const PERSON: usize = 2_000;

    /// Most characters that may be written into it: some 1,000 tokens for a profile's, half of that for a person's.
    #[must_use]
    pub fn most(&self) -> usize {
        match self {
            Self::Profile => 4_000,
            Self::Person { .. } => Self::PERSON,
        }
    }
}

/// Why a notebook was not read or not changed. The text is for the model, and through it for the person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The change can't be made.
    #[error("{refused}")]
    Refused {
        /// Why.
        refused: Refused,
        /// As the notebook is.
        notebook: Notebook,
    },
    /// The disk.
    #[error("what is remembered can't be used: {0}")]
    Disk(String),
}

/// The notebooks of one profile.
#[async_trait]
pub trait NoteStore: Send + Sync {
    /// A notebook; an empty one where there is none.
    ///
    /// # Errors
    /// [`NoteError::Disk`].
    async fn read(&self, whose: &Whose) -> Result<Notebook, NoteError>;

    /// Makes a change, one after the other, each whole or not at all; durable when it returns. What stands in the notebook no
    /// longer is in the archive before it is gone.
    ///
    /// # Errors
    /// [`NoteError`].
    async fn change(
        &self,
        whose: &Whose,
        changes: Vec<Change>,
        at: Timestamp,
    ) -> Result<Notebook, NoteError>;

    /// What stood in a notebook and holds every word of the query, the latest first, at most `most`.
    ///
    /// # Errors
    /// [`NoteError::Disk`].
    async fn former(
        &self,
        whose: &Whose,
        query: &str,
        most: usize,
    ) -> Result<Vec<Former>, NoteError>;
}
