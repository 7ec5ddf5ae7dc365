//! What goes when its time is over: the order of the chores, and the store that does them in small steps.
//!
//! Nothing here decides by itself: the moments come from the settings and the clock, and what is open stays whatever its age.

use std::collections::BTreeSet;

use async_trait::async_trait;
use waybill::{Conversation, Timestamp};

use crate::StoreError;

/// One kind of thing that goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Chore {
    /// What sent parts showed; they stay, as [`outbox::forget`] leaves them.
    PartWords,
    /// Messages that are done, with parts, attempts and deaths.
    Messages,
    /// What handled and ignored events said; they stay with their keys.
    EventWords,
    /// Events, whole.
    Events,
    /// Turns and transcripts of conversations in which nothing happened.
    Transcripts,
    /// The same of the web chat, as people see it.
    WebChats,
}

impl Chore {
    /// All, in the order in which they are done: what was said goes before the row that said it.
    pub const ALL: [Self; 6] = [
        Self::PartWords,
        Self::Messages,
        Self::EventWords,
        Self::Events,
        Self::Transcripts,
        Self::WebChats,
    ];

    /// Its name in the log and in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PartWords => "part_words",
            Self::Messages => "messages",
            Self::EventWords => "event_words",
            Self::Events => "events",
            Self::Transcripts => "transcripts",
            Self::WebChats => "web_chats",
        }
    }
}

/// What happened before these moments may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cutoffs {
    /// For what sent parts showed, and what handled events said.
    pub words: Timestamp,
    /// For messages that are done.
    pub sent: Timestamp,
    /// For messages with a death that the owner did nothing about.
    pub dead: Timestamp,
    /// For events with their keys.
    pub events: Timestamp,
    /// For what ignored events said.
    pub ignored: Timestamp,
    /// For conversations; `None` keeps them for ever.
    pub conversations: Option<Timestamp>,
    /// Conversations of the web chat that stay, even empty: notices must find them.
    pub homes: BTreeSet<Conversation>,
}

/// What one step of a chore did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Step {
    /// Rows that were changed or deleted.
    pub rows: u64,
    /// Where the next step begins; `None`: everything was looked at.
    pub next: Option<i64>,
}

/// What a pass over the captured bytes found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Collected {
    /// Files that were removed.
    pub removed: u64,
    /// Their bytes.
    pub freed: u64,
    /// Files that stay.
    pub kept: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Folders and files with which the disk failed; the log names them, and the next pass tries again.
    pub failed: u64,
}

/// What became of the database's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shrunk {
    /// Pages given back to the disk.
    pub pages: u64,
    /// Whether there are more to give back.
    pub more: bool,
}

/// The store, as seen by what tidies it. Each step is one small transaction, so that nobody waits for it, and a crash at any
/// point leaves what the next walk finds again.
#[async_trait]
pub trait RetentionStore: Send + Sync {
    /// Does one step of a chore, over rows after `after` (0 begins a walk). What is open stays: parts that are not at their
    /// end with all of their message, running turns, events that wait.
    async fn tidy(&self, chore: Chore, cutoffs: &Cutoffs, after: i64) -> Result<Step, StoreError>;

    /// Removes captured bytes that no row names and that were written before `before`. Bytes that were captured or opened in
    /// this process in the last hour stay in any case: whoever has them in hand may be about to write the row that names them.
    async fn collect(&self, before: Timestamp) -> Result<Collected, StoreError>;

    /// Gives some free pages back to the disk, and cuts the log where it has grown.
    async fn shrink(&self) -> Result<Shrunk, StoreError>;
}
