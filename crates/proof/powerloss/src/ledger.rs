//! Everything that was acknowledged up to a moment.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use model::Message;
use outbox::NewMessage;
use sandbox::ArtifactId;
use session::InboxId;
use waybill::{AccountId, MessageId, SessionId, SessionScope, TurnId};

use crate::fact::{End, Fact};

/// What must be there.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    pub(crate) blobs: HashSet<ArtifactId>,
    pub(crate) messages: BTreeMap<MessageId, NewMessage>,
    pub(crate) attempts: BTreeSet<(MessageId, u32, u32)>,
    pub(crate) ends: BTreeMap<(MessageId, u32, u32), End>,
    pub(crate) events: BTreeMap<InboxId, Event>,
    pub(crate) cursors: BTreeMap<AccountId, u64>,
    pub(crate) sessions: Vec<SessionScope>,
    pub(crate) turns: BTreeMap<TurnId, Turn>,
    pub(crate) transcripts: HashMap<SessionId, Vec<Message>>,
}

/// An event, and what was decided on it.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) account: AccountId,
    pub(crate) key: String,
    pub(crate) admitted: Option<SessionScope>,
}

/// A turn, and how far it came.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) inbox: Vec<InboxId>,
    pub(crate) promised: Vec<ArtifactId>,
    /// Messages of an end that was begun.
    pub(crate) asked: Option<Vec<MessageId>>,
    pub(crate) ended: bool,
}

impl Ledger {
    /// Writes a fact down.
    pub fn note(&mut self, fact: Fact) {
        match fact {
            Fact::Blob(id) => {
                self.blobs.insert(id);
            }
            Fact::Message(message) => {
                self.messages.insert(message.id, *message);
            }
            Fact::Attempt {
                message,
                part,
                attempt,
            } => {
                self.attempts.insert((message, part, attempt));
            }
            Fact::Settled {
                message,
                part,
                attempt,
                end,
            } => {
                self.ends.insert((message, part, attempt), end);
            }
            Fact::Event { account, key, id } => {
                let event = Event {
                    account,
                    key,
                    admitted: None,
                };
                self.events.insert(id, event);
            }
            Fact::Admitted { id, session } => {
                if let Some(event) = self.events.get_mut(&id) {
                    event.admitted = Some(session);
                }
            }
            Fact::Cursor { account, value } => {
                self.cursors.insert(account, value);
            }
            Fact::Session(scope) => self.sessions.push(scope),
            Fact::Began { turn, inbox, .. } => {
                let begun = Turn {
                    inbox,
                    promised: Vec::new(),
                    asked: None,
                    ended: false,
                };
                self.turns.insert(turn, begun);
            }
            Fact::Said { session, messages } => {
                self.transcripts
                    .entry(session)
                    .or_default()
                    .extend(messages);
            }
            Fact::Promised { turn, files } => {
                if let Some(turn) = self.turns.get_mut(&turn) {
                    turn.promised = files;
                }
            }
            Fact::Asked { turn, messages } => {
                if let Some(turn) = self.turns.get_mut(&turn) {
                    turn.asked = Some(messages);
                }
            }
            Fact::Ended { turn } => {
                if let Some(turn) = self.turns.get_mut(&turn) {
                    turn.ended = true;
                }
            }
        }
    }
}
