//! Where admitted messages go: the line of turns of each conversation, as the rest of the house sees it.

use chat::Inbound;
use waybill::SessionScope;

use crate::InboxId;

/// A message that was admitted to a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// Its row.
    pub id: InboxId,
    /// What it says.
    pub inbound: Inbound,
    /// Which conversation.
    pub scope: SessionScope,
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

/// The lines of turns. Nothing here waits.
pub trait TurnLine: Send + Sync {
    /// Puts a message at the end of its conversation's line, and says where that is.
    fn enqueue(&self, admitted: Admitted) -> Turn;

    /// Stops the running turn of a conversation; `false` if none runs.
    fn stop(&self, scope: &SessionScope) -> bool;

    /// What the line is doing.
    fn status(&self, scope: &SessionScope) -> LineStatus;
}
