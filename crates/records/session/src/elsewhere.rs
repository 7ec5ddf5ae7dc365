//! What a turn sends to other chats of its profile.

use outbox::Attachment;
use serde::{Deserialize, Serialize};
use waybill::ChatKey;

/// A message to another chat of the profile, on its way out with the turn's commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// There.
    pub to: ChatKey,
    /// Words, as markdown.
    pub text: String,
    /// Files that were captured for it.
    pub attachments: Vec<Attachment>,
}
