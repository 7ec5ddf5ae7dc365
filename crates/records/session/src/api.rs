//! What the API keeps of requests and finds out about their answers.
//!
//! The answer itself is nowhere but in the outbox: what a program reads is what was delivered.

use async_trait::async_trait;
use chat::{Fault, IdempotencyKey, Op};
use model::Usage;
use outbox::PartState;
use sandbox::{ArtifactRef, ContentHash};
use waybill::{AccountId, ClientId, Conversation, ProfileId, Timestamp, TurnId};

use crate::{StoreError, TurnEnd};

/// A request with a key of its own, by which its sender asks again without asking twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedRequest {
    /// Whose.
    pub client: ClientId,
    /// BLAKE3 of the key that its sender gave it.
    pub key: [u8; 32],
    /// BLAKE3 of what it asks.
    pub asks: [u8; 32],
    /// Its id here.
    pub request: String,
    /// Where it is answered.
    pub conversation: Conversation,
}

/// What is known of such a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// It is new, and kept now.
    Fresh,
    /// The same was asked before, as this.
    Before {
        /// The id that it got then.
        request: String,
        /// Where it is answered.
        conversation: Conversation,
    },
    /// Something else was asked with it.
    Otherwise,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerPart {
    /// Its key.
    pub key: IdempotencyKey,
    /// What it shows.
    pub op: Op,
    /// Where it stands.
    pub state: PartState,
    /// Why it is not there, where it is at its end without having arrived.
    pub fault: Option<Fault>,
    /// Its words were dropped since.
    pub forgotten: bool,
}

/// Where a request stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// Nobody has looked at it yet, or it waits in its conversation's line.
    Waits,
    /// A turn works on it.
    Runs {
        /// Which.
        turn: TurnId,
    },
    /// It was not let in, or put aside.
    Refused {
        /// Why, for the owner.
        reason: String,
    },
    /// Its turn has ended.
    Ended(Box<TurnAnswer>),
}

/// What a turn came to.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnAnswer {
    /// The turn.
    pub turn: TurnId,
    /// How it ended.
    pub end: TurnEnd,
    /// Tokens used.
    pub usage: Usage,
    /// What it said, in order.
    pub parts: Vec<AnswerPart>,
    /// When it ended.
    pub at: Timestamp,
}

/// The API's view of the store.
#[async_trait]
pub trait AnswerStore: Send + Sync {
    /// Keeps a request's key; one from before `since` is forgotten.
    async fn know(
        &self,
        asked: KeyedRequest,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<Known, StoreError>;

    /// Where the event of this key stands; `None`: there is none.
    async fn progress(
        &self,
        account: &AccountId,
        event: &str,
    ) -> Result<Option<Progress>, StoreError>;

    /// A file that was sent in a conversation of this client, whose conversations begin with its name and a slash.
    async fn sent_file(
        &self,
        account: &AccountId,
        client: &ClientId,
        profile: &ProfileId,
        hash: &ContentHash,
    ) -> Result<Option<ArtifactRef>, StoreError>;
}
