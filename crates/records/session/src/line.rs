//! Where admitted messages go: the line of turns of each conversation, as the rest of the house sees it.

use async_trait::async_trait;
use chat::Inbound;
use waybill::{SessionKey, SessionScope};

use crate::{Answered, Answering, Fill, Heard, InboxId, InboxRow, StoreError};

/// What a message does while a turn of its conversation runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Busy {
    /// It waits for its own turn.
    #[default]
    Queue,
    /// It joins the running turn with the next result of a tool; if there is none, it waits for its own turn.
    Steer,
    /// It stops the running turn; its own comes next.
    Interrupt,
}

/// When a message that is put in line came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// Just now.
    Now,
    /// Before this start; so often its handling was begun and did not come to an end.
    Before {
        /// As [`crate::InboxRow::taken`].
        taken: u32,
    },
}

/// A message that was admitted to a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// Its row.
    pub id: InboxId,
    /// The version that was read.
    pub version: u32,
    /// What it says.
    pub inbound: Inbound,
    /// Which conversation.
    pub scope: SessionScope,
    /// What it does if a turn runs.
    pub busy: Busy,
    /// When it came.
    pub came: Came,
}

impl Admitted {
    /// The row as it was read.
    #[must_use]
    pub fn heard(&self) -> Heard {
        Heard {
            id: self.id,
            version: self.version,
        }
    }

    /// The same message as its row reads now. If its chat has moved, so has its conversation.
    #[must_use]
    pub fn reread(self, row: InboxRow) -> Self {
        let inbound = row.inbound.unwrap_or(self.inbound);
        let scope = row.session.unwrap_or_else(|| {
            let key = SessionKey::Chat(inbound.chat.clone());
            self.scope.profile_scope().session(key, self.scope.id())
        });
        Self {
            version: row.version,
            inbound,
            scope,
            ..self
        }
    }
}

/// What a conversation's line is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineStatus {
    /// Whether a turn runs.
    pub running: bool,
    /// Messages that wait behind it.
    pub waiting: usize,
}

/// Where a message stands in its conversation's line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Its turn begins at once; the beginning writes the admission down, too.
    Next,
    /// Others are before it.
    Waits,
}

/// The lines of turns. Nothing here waits, but for [`Self::fill`].
#[async_trait]
pub trait TurnLine: Send + Sync {
    /// Puts a message at the end of its conversation's line, and says where that is.
    fn enqueue(&self, admitted: Admitted) -> Turn;

    /// Stops the running turn of a conversation; `false` if none runs.
    fn stop(&self, scope: &SessionScope) -> bool;

    /// What the line is doing.
    fn status(&self, scope: &SessionScope) -> LineStatus;

    /// Gives an answer to the question that it is for. A question takes one answer, of one whom it asks.
    fn answer(&self, answering: Answering) -> Answered;

    /// Everything that an earlier run left is in line now. What may have ended that run is not begun before.
    fn caught_up(&self);

    /// What fills a conversation's window; `None` if its profile is not configured.
    ///
    /// # Errors
    /// [`StoreError`] if the conversation can't be read.
    async fn fill(&self, scope: &SessionScope) -> Result<Option<Fill>, StoreError>;
}
